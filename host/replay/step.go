package replay

import (
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/guest"
)

// source holds the input that a guest took besides its events: clock readings, in nanoseconds
// since 1970, and random bytes.
type source struct {
	clock  []int64
	random []byte
}

// opening is the beginning of a connection.
type opening struct {
	server string
	plugin string
	sha256 string
	abi    string
	source // taken while the guest was started
}

// step is one event, with the host calls that the guest made in it and how it ended.
type step struct {
	number      int // from 1, in its connection
	at          time.Duration
	kind        abi.Kind
	handle, arg uint32
	content
	source
	calls  []call
	result int32
	trap   string // why the guest did not return, or ""
	lied   bool   // the guest was stopped in a host call
}

// content holds bytes in the form in which the file has them.
type content struct {
	bytes  []byte
	size   int  // bytes of the original
	masked bool // some are overwritten
	hidden bool // the bytes were dropped and are nil
}

// call is a host call that was answered.
type call struct {
	op     abi.Call
	args   [5]uint32 // as the guest passed them, and 0 for a pointer
	result int32
	content
}

// params returns the arguments of c, as many as its function has.
func (c *call) params() []uint32 { return c.args[:c.op.Params()] }

// describes reports whether c is the answer to DESCRIBE.
func (c *call) describes() bool {
	return c.op == abi.CallReport && abi.What(c.args[0]) == abi.ReportManifest
}

// newCall returns a copy of a call of a guest.
func newCall(op abi.Call, args []uint32, carried []byte, result int32) call {
	c := call{op: op, result: result}
	copy(c.args[:], args)
	if at := guest.PointerArg(op); at >= 0 {
		c.args[at] = 0
	}
	if carried != nil {
		c.bytes = append(make([]byte, 0, len(carried)), carried...)
	}
	c.size = len(carried)
	return c
}

// sealed reports whether the guest may not see the payload.
func (s *step) sealed() bool { return s.kind == abi.EventOpened && s.arg&abi.Sealed != 0 }

// last reports whether this is the last event of its handle.
func (s *step) last() bool {
	switch s.kind {
	case abi.EventEnd, abi.EventError:
		return true
	case abi.EventHead:
		return s.arg&abi.HeadLast != 0
	}
	return s.kind == abi.EventData && s.arg&abi.Last != 0
}

// carries reports whether a call passes bytes to the host.
func carries(op abi.Call) bool { return guest.PointerArg(op) >= 0 && op != abi.CallTake }

// reads reports whether a call only reads the payload.
func reads(op abi.Call) bool { return op == abi.CallTake || op == abi.CallScan }

// weight returns roughly how many bytes of memory a step takes.
func (s *step) weight() int {
	n := 256 + len(s.bytes) + len(s.random) + 8*len(s.clock)
	for i := range s.calls {
		n += 96 + len(s.calls[i].bytes)
	}
	return n
}
