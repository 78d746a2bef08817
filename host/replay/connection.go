package replay

import (
	"crypto/rand"
	"errors"
	"slices"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/guest"
	"github.com/wharf-mcp/wharf/host/internal/jsonl"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
)

// Connection records one connection. It serves as the clock, the randomness and the observer of
// the guest, and belongs to one goroutine at a time, as the guest does. It never blocks. A nil
// Connection records nothing, but cannot be a clock.
type Connection struct {
	queue   *jsonl.Writer[line]
	number  int
	began   time.Time
	opening *opening // until the first event
	events  int
	step    *step  // the current event
	source  source // taken since the last event
	cut     bool   // nothing more is recorded
}

var _ guest.Observer = (*Connection)(nil)

// Now is the clock of the guest. It starts at the time of the system and is monotonic from then
// on, so that its readings are enough to replay both clocks of a guest.
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
		c.add(line{kind: kindConnection, at: c.began, opening: o}, 512+len(o.random)+8*len(o.clock))
	}
	c.events++
	c.step = &step{
		number: c.events, at: time.Since(c.began),
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

// Return ends the event and records it as a whole.
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
	if weight := s.weight(); weight <= stepCap {
		c.add(line{kind: kindEvent, step: s}, weight)
	} else {
		c.add(line{kind: kindCut, why: "an event is larger than a recording takes"}, 0)
	}
}

// Ended records that the guest is gone, and why; nil means that the host closed it.
func (c *Connection) Ended(err error) {
	switch {
	case c == nil || c.cut:
	case err == nil:
		c.add(line{kind: kindEnded, why: "closed"}, 0)
	default:
		c.add(line{kind: kindEnded, why: err.Error()}, 0)
	}
}

const (
	queueCap = 64 << 20 // bytes that wait to be written
	stepCap  = 32 << 20 // bytes of one event and everything that belongs to it
)

// add passes a line of that weight in bytes to the writer, and never waits for the file. If
// there is no room, add passes a cut instead, after which the connection has no more lines.
func (c *Connection) add(o line, weight int) {
	if b := c.queue.Acquire(); b != nil {
		defer c.queue.Release()
		if b.Weight+weight > queueCap {
			o = line{kind: kindCut, why: "events came faster than they could be written"}
		}
		o.connection = c.number
		b.Entries = append(b.Entries, o)
		b.Weight += weight
	} else {
		o.kind = kindCut // the recorder is closed
	}
	if o.kind == kindCut {
		c.cut, c.step, c.source = true, nil, source{}
	}
}
