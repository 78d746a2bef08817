package capability

import (
	"context"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/hostio"
)

// tenant is what an open gave and its table has a place for: a handle, which
// carries bytes both ways, or an exchange.
type tenant interface {
	hostio.Stream

	// start is called once, when the tenant has its place.
	start()

	// end mutes the tenant and asks it to quit. Unlike Close, anyone may call
	// it, and more than once.
	end()

	at() *seat
}

// seat is the place of a tenant in its table: the voice that its sink hears,
// and the word that it has to end.
type seat struct {
	voice
	table  *Table
	grant  Grant
	quit   context.Context         // ends when the tenant has to, or has ended
	cancel context.CancelCauseFunc // ends quit
	after  *seat                   // has to be gone before this one starts; nil for none
	gone   chan struct{}           // closed when nothing is left of a process; nil elsewhere
}

func (s *seat) init(t *Table, g Grant, sink hostio.Sink) {
	s.sink, s.table, s.grant = sink, t, g
	s.quit, s.cancel = context.WithCancelCause(context.Background())
	if g.To.Kind() == abi.OpenProcess {
		s.gone = make(chan struct{})
	}
}

func (s *seat) at() *seat { return s }

func (s *seat) hasEnded() bool { return s.quit.Err() != nil }

// end is described at tenant.
func (s *seat) end() {
	s.muted.Store(true)
	s.cancel(nil)
}
