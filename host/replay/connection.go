package replay

import (
	"crypto/rand"
	"errors"
	"slices"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/guest"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
)

// Connection records one connection. It is the clock, the randomness and the observer of
// the guest, and like the guest belongs to one goroutine at a time. It never blocks. A
// nil Connection records nothing, but cannot be a clock.
type Connection struct {
	queue   *queue
	number  int
	began   time.Time
	opening *opening // until the first event
	events  int
	step    *step  // the current event
	source  source // taken since the last event
	cut     bool   // nothing more is recorded
}

var _ guest.Observer = (*Connection)(nil)

// Now is the clock of the guest. It begins with the system's clock and is monotonic from
// then on, so that its readings are enough to replay both clocks of a guest.
func (c *Connection) Now() time.Time {
	now := c.began.Add(time.Since(c.began)).Round(0)
	if !c.cut {
		c.source.clock = append(c.source.clock, now.UnixNano())
	}
	return now
}

// Read is the randomness of the guest.
func (c *Connection) Read(p []byte) (int, error) {
	n, err := rand.Read(p)
	if !c.cut {
		c.source.random = append(c.source.random, p[:n]...)
	}
	return n, err
}

// Event begins an event, and copies its payload.
func (c *Connection) Event(kind abi.Kind, handle, arg, size uint32, payload []byte) {
	if c.cut {
		return
	}
	if o := c.opening; o != nil {
		o.source, c.source, c.opening = c.source, source{}, nil
		c.add(entry{opening: o}, 512+len(o.random)+8*len(o.clock))
	}
	c.events++
	c.step = &step{
		connection: c.number, number: c.events, at: time.Since(c.began),
		kind: kind, handle: handle, arg: arg,
		content: content{bytes: slices.Clone(payload), size: int(size)},
	}
}

// Call adds a host call to the event, and copies what the guest passed.
func (c *Connection) Call(op abi.Call, args []uint32, carried []byte, result int32) {
	if !c.cut {
		c.step.calls = append(c.step.calls, newCall(op, args, carried, result))
	}
}

// Return ends the event, which is recorded as a whole.
func (c *Connection) Return(result int32, err error) {
	if c.cut {
		return
	}
	s := c.step
	s.source, s.result = c.source, result
	if err != nil {
		trap := (*wasm.Trap)(nil)
		s.trap, s.lied = err.Error(), errors.As(err, &trap) && trap.Kind == wasm.TrapHost
	}
	c.step, c.source = nil, source{}
	weight := s.weight()
	if weight > stepCap {
		c.add(entry{cut: "an event is larger than a recording takes"}, 0)
		return
	}
	c.add(entry{step: s}, weight)
}

// Ended records that the guest is gone, and why; nil means that the host closed it.
func (c *Connection) Ended(err error) {
	switch {
	case c == nil || c.cut:
	case err == nil:
		c.add(entry{ended: "closed"}, 0)
	default:
		c.add(entry{ended: err.Error()}, 0)
	}
}

// add leaves an entry for the writer. After a cut there are no more.
func (c *Connection) add(e entry, weight int) {
	e.connection = c.number
	if !c.queue.add(e, weight) || e.cut != "" {
		c.cut, c.step, c.source = true, nil, source{}
	}
}
