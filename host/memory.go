package host

import "github.com/wharf-mcp/wharf/host/internal/connect"

// Stream makes a byte stream to a server that is part of the program, like one end
// of a [net.Pipe]. It is called each time that the server is connected, also after
// it was lost, perhaps by several goroutines, and returns when ctx ends; the stream
// may outlive ctx. The host reads and writes at the same time and closes the
// stream, which ends both. Where it has a CloseWrite, as those of net do, a
// transport can end its own side alone.
type Stream = connect.Stream
