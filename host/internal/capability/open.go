package capability

import (
	"fmt"
	"slices"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/hostio"
)

// Open opens the target of the grant with this kind and the request's name. It does not block:
// other goroutines fork, dial and look up, and sink gets the outcome as Opened or Error. If the
// open is refused at once, Open returns no Stream, a status for the guest and an error for the
// user, which is a *[Denial] if no grant allows it; sink then gets no call.
//
// Open ignores the flag [abi.Essential], which is for the caller.
func (t *Table) Open(kind abi.OpenKind, r *abi.OpenRequest, sink hostio.Sink) (hostio.Stream, abi.Status, error) {
	if _, ok := kinds[kind]; !ok {
		return nil, abi.Unavailable, fmt.Errorf("open %s %q: this host cannot open that", kind, r.Grant)
	}
	n := slices.IndexFunc(t.grants, func(g Grant) bool { return g.Name == r.Grant && g.To.Kind() == kind })
	if n < 0 {
		return nil, abi.Denied, &Denial{Kind: kind, Name: r.Grant, Have: t.grants}
	}
	h, status, err := t.openers[n].Open(Opening{t, t.grants[n], sink}, r)
	if err == nil {
		status, err = t.admit(h)
	}
	if err != nil {
		return nil, status, fmt.Errorf("open %s %q: %w", kind, r.Grant, err)
	}
	h.Start()
	return h, abi.OK, nil
}

// admit adds a handle to the table, if the limits allow it.
func (t *Table) admit(h Handle) (abi.Status, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return abi.Closed, fmt.Errorf("the connection is closed")
	}
	s := h.AsSlot()
	last := t.processes[s.grant.Name]
	isProcess := s.grant.To.Kind() == abi.OpenProcess
	if isProcess && last != nil && last.Context.Err() == nil {
		return abi.LimitReached, fmt.Errorf("its process is still running, and a grant has one at a time")
	}
	if err := t.room(s.grant.To.Kind()); err != nil {
		return abi.LimitReached, err
	}
	t.handles[s] = h
	if isProcess {
		s.after, t.processes[s.grant.Name] = last, s
	}
	return abi.OK, nil
}

// room counts one more handle of a kind, if the limits allow it. The rate of exchanges is not
// limited while the server answers, because a connection over HTTP makes them all day. Without an
// answer each costs a dial and a handshake, and a hostile guest may open them for that.
func (t *Table) room(kind abi.OpenKind) error {
	if kind == abi.OpenHTTP {
		if t.served >= t.limits.Exchanges {
			return fmt.Errorf("%d exchanges are under way, and there may be no more", t.served)
		}
		if n := t.unanswered.Load(); n > int64(t.limits.Burst) && !t.opens.allow(t.now()) {
			return fmt.Errorf("the last %d requests had no answer: one each %s is allowed until the server answers", n, t.limits.Refill)
		}
		t.served++
		return nil
	}
	if open := len(t.handles) - t.served; open >= t.limits.Handles {
		return fmt.Errorf("%d handles are open, and there may be no more", open)
	}
	if !t.opens.allow(t.now()) {
		return fmt.Errorf("too many opens: one each %s is allowed after the first %d",
			t.limits.Refill, t.limits.Burst)
	}
	return nil
}
