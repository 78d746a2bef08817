package guest

import (
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/hostio"
)

// handle is one open handle of a guest. The guest knows it by a number, which names no
// other handle after this one was closed: see [abi.MakeHandle].
type handle struct {
	stream        hostio.Stream
	kind          abi.OpenKind
	generation    uint32
	exchange      uint32
	message       uint32        // its exchange, if the guest opened it while it handled the message of that exchange; else 0
	queued        int           // bytes written that the system has not taken; updated by writes and flushes
	callerBytes   int           // the part of queued that belongs to messages of callers
	status        int           // of the HTTP response; 0 before it has come
	wait          time.Duration // that the response asks for
	length        int64         // the length of its body as the server gave it
	essential     bool          // its end is the end of the connection
	backpressured bool          // queued is above the high-water mark
	unsent        bool          // bytes were written since the last flush
}
