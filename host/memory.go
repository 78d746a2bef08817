package host

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/host/internal/capability"
	"github.com/wharf-mcp/wharf/host/internal/capability/stream"
	"github.com/wharf-mcp/wharf/host/internal/hosterr"
)

// Stream makes a byte stream to a server that is part of the program, like one end
// of a [net.Pipe]. It is called each time that the server is connected, also after
// it was lost, perhaps by several goroutines, and returns when ctx ends; the stream
// may outlive ctx. The host reads and writes at the same time and closes the
// stream, which ends both. Where it has a CloseWrite, as those of net do, a
// transport can end its own side alone.
type Stream = func(ctx context.Context) (io.ReadWriteCloser, error)

// inside is what the address of a stream within the program begins with.
const inside = "memory:"

// stream returns what the address of an entry leads to.
func (h *Host) stream(s Server, a *account) (capability.Target, error) {
	if name, ok := strings.CutPrefix(s.Address, inside); ok {
		return h.within(s, name)
	}
	to, err := stream.ParseAddress(s.Address)
	if err != nil {
		return nil, hosterr.Configf("address: %w", err)
	}
	to.TLS = secure(s)
	return sealed(s, to, a), nil
}

// within returns the stream of that name, which the program has to have. Nobody
// signs in on it: whoever made it knows who reads it.
func (h *Host) within(s Server, name string) (capability.Target, error) {
	dial, ok := h.config.Streams[name]
	if !ok {
		have := "it has none"
		if names := slices.Sorted(maps.Keys(h.config.Streams)); len(names) > 0 {
			have = "it has " + strings.Join(names, ", ")
		}
		return nil, &hosterr.Error{
			Kind: ErrConfig,
			Err:  fmt.Errorf("address %q: this program has no such stream (%s)", s.Address, have),
			Hint: "a memory address is for programs that embed a server and name it in host.Config.Streams",
		}
	}
	if s.Auth.Blob {
		return nil, hosterr.Configf("auth.blob: nobody signs in on %s, which is within this program; leave it out", s.Address)
	}
	return stream.Memory{Name: name, Dial: dial}, nil
}
