package guest

import (
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
	queued        int   // bytes written that the system has not taken, as of the last flush and after
	callerBytes   int   // of them, those that callers answer for
	status        int   // of the HTTP response, once there is one
	length        int64 // what its body is said to be long
	essential     bool  // its end is the end of the connection
	backpressured bool  // more is queued than the high-water mark
	unsent        bool  // written to since the last flush
}
