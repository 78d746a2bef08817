package guest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
)

// Caller is a guest during a host call. Only the function that answers the call uses it, and only
// until the answer.
type Caller interface {
	// Memory returns a view of size bytes at ptr, or false if they are not all inside the memory.
	// The view is valid until the call is answered.
	Memory(ptr, size uint32) ([]byte, bool)

	// Charge takes fuel for work that comes next. If there is not enough fuel, it does not return.
	Charge(units int64)

	// Trap ends the guest. It does not return.
	Trap(err error)
}

// Executor runs a guest: as native code in this process, or in a process of its own. The owner of
// the instance makes all calls, except those of the [Callbacks].
type Executor interface {
	Caller

	// Run passes an event to the guest, and returns when the guest has handled it. If the guest
	// does not return, Run returns an error, and the guest never runs again. The error is a
	// [*wasm.Trap] if the guest itself was the cause.
	Run(budget int64, e Event) (result int32, err error)

	Used() int64   // the fuel of the last event, prices of host calls included
	Pages() uint32 // of the guest's memory, 64 KiB each
	Rest() error   // frees what the next event can make again
	Close() error
}

// Event is an event as an executor gets it.
type Event struct {
	Kind        abi.Kind
	Handle, Arg uint32
	Size        uint32
	Payload     []byte // Size bytes, valid during the event; nil if sealed
}

// Program is a plugin that runs outside of this process.
type Program interface {
	// Start runs the plugin up to its first event. It returns early when ctx is done, but what it
	// has started goes on.
	Start(ctx context.Context, b Callbacks) (Executor, error)
}

// Callbacks are what the executor of a guest in another process calls in this one. The goroutine
// that starts or runs the guest calls them, except Lost.
type Callbacks struct {
	MemoryPages uint32
	Stderr      io.Writer        // gets the standard error of the guest
	Now         func() time.Time // the guest's clock; nil = the real one
	Random      io.Reader        // the guest's randomness; nil = the real one

	// Answer answers a host call of m. It charges and traps through m.
	Answer func(m Executor, c abi.Call, args []uint32) (result int32)

	// Observed hears of a take or a scan, which are answered where the guest is; nil
	// = not wanted.
	Observed func(c abi.Call, args []uint32, result int32)

	// Lost says that the guest is gone, and not by Close. It is called once, on a
	// goroutine of its own.
	Lost func(err error)
}

// local is a guest in this process.
type local struct {
	*wasm.Instance
	event *wasm.Func
}

// Run implements [Executor].
func (l *local) Run(budget int64, e Event) (int32, error) {
	result, err := l.event.Call(budget, uint32(e.Kind), e.Handle, e.Arg, e.Size)
	return int32(result), err
}

// Bytes returns n bytes at ptr in the memory of a guest, and charges for them. A range outside the
// memory ends the guest.
func Bytes(m Caller, ptr, n uint32) []byte {
	b, ok := m.Memory(ptr, n)
	if !ok {
		m.Trap(fmt.Errorf("a pointer outside its memory: %d bytes at %d", n, ptr))
	}
	m.Charge(int64(n))
	return b
}

// Payload is the payload of an event, which a guest may read while the event runs.
type Payload []byte

// Take answers the host call take.
func (p Payload) Take(m Caller, from, ptr, most uint32) int32 {
	off := min(uint64(from), uint64(len(p)))
	n := min(uint64(most), uint64(len(p))-off)
	copy(Bytes(m, ptr, uint32(n)), p[off:off+n])
	return int32(n)
}

// Scan answers the host call scan.
func (p Payload) Scan(m Caller, from, needles uint32) int32 {
	if uint64(from) >= uint64(len(p)) {
		return -1
	}
	at, looked := scan(p[from:], needles)
	m.Charge(int64(looked))
	if at < 0 {
		return -1
	}
	return int32(from) + int32(at)
}

// scanStep is how many bytes are searched for one needle before the next needle. A guest pays only
// up to the first match, so the search must not go much farther.
const scanStep = 4 << 10

// scan returns the index of the first packed needle in p, or -1, and the number of bytes of p that
// it has read.
func scan(p []byte, needles uint32) (at, looked int) {
	c := [4]byte{byte(needles), byte(needles >> 8), byte(needles >> 16), byte(needles >> 24)}
	if c[1] == c[0] && c[2] == c[0] && c[3] == c[0] {
		if at = bytes.IndexByte(p, c[0]); at < 0 {
			return -1, len(p)
		}
		return at, at
	}
	for step := range slices.Chunk(p, scanStep) {
		begin := looked
		looked, at = looked+len(step), -1
		for n, needle := range c {
			if n > 0 && needle == c[n-1] {
				continue
			}
			if k := bytes.IndexByte(step, needle); k >= 0 {
				at, step = k, step[:k] // an earlier match can only be before this one
			}
		}
		if at >= 0 {
			return begin + at, looked
		}
	}
	return -1, looked
}
