package capability

import (
	"context"
	"io"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/hostio"
)

// Init makes s the slot of the handle that o describes.
func (s *Slot) Init(o Opening) {
	s.Events.sink, s.table, s.grant = o.sink, o.table, o.grant
	s.Context, s.Cancel = context.WithCancelCause(context.Background())
	if o.grant.To.Kind() == abi.OpenProcess {
		s.gone = make(chan struct{})
	}
}

// AsSlot returns s. A table calls it to find the slot of a handle.
func (s *Slot) AsSlot() *Slot { return s }

// Ended reports whether the handle must end, or has ended.
func (s *Slot) Ended() bool { return s.Context.Err() != nil }

// End is described at [Handle].
func (s *Slot) End() {
	s.Events.muted.Store(true)
	s.Cancel(nil)
}

// AwaitTurn waits until the previous process under the same grant is gone, and reports whether this
// one is still wanted. It waits even if it is not wanted, because the next process waits for this
// one only.
func (s *Slot) AwaitTurn() (wanted bool) {
	if s.after != nil {
		<-s.after.gone
		s.after = nil
	}
	return !s.Ended()
}

// Remove removes the handle from its table. It must be the last call of a handle.
func (s *Slot) Remove() {
	t := s.table
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.handles, s)
	switch s.grant.To.Kind() {
	case abi.OpenHTTP:
		t.served--
	case abi.OpenProcess:
		close(s.gone)
		if t.processes[s.grant.Name] == s {
			delete(t.processes, s.grant.Name)
		}
	}
	t.finish()
}

// Limits returns the limits of the table, with defaults filled in.
func (s *Slot) Limits() *Limits { return &s.table.limits }

// Grace returns the graces of the table, with defaults filled in.
func (s *Slot) Grace() *Grace { return &s.table.grace }

// Forced is closed when the graces are over: the handle must end at once.
func (s *Slot) Forced() <-chan struct{} { return s.table.force }

// Stderr returns the writer for the stderr of a child process. It never blocks.
func (s *Slot) Stderr() io.Writer { return s.table.stderr }

// Sink returns the sink, which may have more methods than a [hostio.Sink].
func (s *Slot) Sink() hostio.Sink { return s.Events.sink }

// Requested tells the table whether a request of the handle got an answer, of any status. A request
// that the guest ended before its answer counts only while others have no answer either.
func (s *Slot) Requested(answered bool) {
	if unanswered := &s.table.unanswered; answered {
		unanswered.Store(0)
	} else if !s.Ended() || unanswered.Load() > 0 {
		unanswered.Add(1)
	}
}

// Reached tells the table that a connection came as far as r.
func (s *Slot) Reached(r Reach) {
	for reach := &s.table.reach; ; {
		if had := reach.Load(); had >= int32(r) || reach.CompareAndSwap(had, int32(r)) {
			return
		}
	}
}

// Reach returns how far a connection of the table came.
func (s *Slot) Reach() Reach { return s.table.Reach() }

// Run starts j on a goroutine of the table, and does not wait for it.
func (s *Slot) Run(j Job) { s.table.workers.run(j) }

// HoldBody counts n more bytes of a request body, and reports whether the table's bodies are still
// within [Limits.Bodies].
func (s *Slot) HoldBody(n int) (fits bool) {
	s.held.Add(int64(n))
	return s.table.held.Add(int64(n)) <= int64(s.table.limits.Bodies)
}

// ReleaseBody subtracts everything that HoldBody counted. It may be called during HoldBody, and any
// number of times.
func (s *Slot) ReleaseBody() { s.table.held.Add(-s.held.Swap(0)) }
