package replay

import (
	"crypto/rand"
	"errors"
	"slices"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
)

// Take records one connection: it is the clock, the randomness and the observer of
// its guest, and like the guest belongs to one goroutine at a time. It never waits.
// A nil Take records nothing, but cannot be a clock.
type Take struct {
	queue      *queue
	connection int
	began      time.Time
	opening    *opening // until the first event
	number     int      // of events
	step       *step    // the event under way
	source     source   // that no line tells of yet
	cut        bool     // nothing more is recorded
}

// Now is the clock of the guest: it begins as that of the system, and nobody sets
// it. So its readings are enough to run both clocks of a guest again.
func (t *Take) Now() time.Time {
	now := t.began.Add(time.Since(t.began)).Round(0)
	if !t.cut {
		t.source.clock = append(t.source.clock, now.UnixNano())
	}
	return now
}

// Read is the randomness of the guest.
func (t *Take) Read(p []byte) (int, error) {
	n, err := rand.Read(p)
	if !t.cut {
		t.source.random = append(t.source.random, p[:n]...)
	}
	return n, err
}

// Event begins an event, and copies its payload.
func (t *Take) Event(kind abi.Kind, handle, arg, size uint32, payload []byte) {
	if t.cut {
		return
	}
	if o := t.opening; o != nil {
		o.source, t.source, t.opening = t.source, source{}, nil
		t.add(note{connection: t.connection, opening: o}, 512+len(o.random)+8*len(o.clock))
	}
	t.number++
	t.step = &step{
		connection: t.connection, number: t.number, at: time.Since(t.began),
		kind: kind, handle: handle, arg: arg,
		content: content{bytes: slices.Clone(payload), size: int(size)},
	}
}

// Call is a host call of the event, and copies what the guest passed.
func (t *Take) Call(op abi.Call, args []uint32, carried []byte, result int32) {
	if !t.cut {
		t.step.calls = append(t.step.calls, newCall(op, args, carried, result))
	}
}

// Return ends the event, which is recorded as a whole.
func (t *Take) Return(result int32, err error) {
	if t.cut {
		return
	}
	s := t.step
	s.source, s.result = t.source, result
	if err != nil {
		trap := (*wasm.Trap)(nil)
		s.trap, s.lied = err.Error(), errors.As(err, &trap) && trap.Kind == wasm.TrapHost
	}
	t.step, t.source = nil, source{}
	weight := s.weight()
	if weight > stepCap {
		t.add(note{connection: t.connection, cut: "an event is larger than a recording takes"}, 0)
		return
	}
	t.add(note{connection: t.connection, step: s}, weight)
}

// Ended says that the guest is gone, and why.
func (t *Take) Ended(err error) {
	switch {
	case t == nil || t.cut:
	case err == nil:
		t.add(note{connection: t.connection, ended: "closed"}, 0)
	default:
		t.add(note{connection: t.connection, ended: err.Error()}, 0)
	}
}

// add leaves a note for the writer. Behind a cut there are none.
func (t *Take) add(n note, weight int) {
	if !t.queue.add(n, weight) || n.cut != "" {
		t.cut, t.step, t.source = true, nil, source{}
	}
}
