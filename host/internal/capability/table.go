package capability

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/hostio"
)

// Config is what a [Table] is made of. All but the grants may be left out.
type Config struct {
	Grants []Grant
	Grace  Grace
	Limits Limits

	// Stderr gets what child processes write to their stderr. It may be slow:
	// it then misses some, and is told how much. It must not block for ever,
	// for then Close reports it.
	Stderr io.Writer
}

// Table holds what one connection has open. It opens under the grants of the
// connection alone, keeps to its limits and closes everything at the end. Its
// methods may be called from any goroutine.
type Table struct {
	grants []Grant
	grace  Grace
	limits Limits
	stderr *tail
	teed   sync.WaitGroup // the goroutine that follows stderr, if any

	force chan struct{} // closed when no grace is left
	empty chan struct{} // closed when the table is closed and nothing is left

	mu      sync.Mutex
	closed  bool
	forced  bool
	opens   allowance
	tenants map[tenant]struct{}
	served  int // tenants that are HTTP exchanges

	// processes has the last process of each grant. A live one stands in the
	// way of another; one that was closed has to be gone before the next one
	// starts.
	processes map[string]*seat

	// clients has the connections of each HTTP grant. The map is fixed.
	clients map[string]*client
	crew    *crew        // carries the exchanges
	held    atomic.Int64 // bytes of their bodies
}

// NewTable returns a table without handles. It has to be closed.
func NewTable(c Config) *Table {
	limits := c.Limits.withDefaults()
	t := &Table{
		grants:  slices.Clone(c.Grants),
		grace:   c.Grace.withDefaults(),
		limits:  limits,
		stderr:  newTail(),
		force:   make(chan struct{}),
		empty:   make(chan struct{}),
		opens:   allowance{burst: limits.Burst, refill: limits.Refill},
		tenants: map[tenant]struct{}{},

		processes: map[string]*seat{},
		clients:   map[string]*client{},
		crew:      newCrew(),
	}
	for _, g := range t.grants {
		if o, ok := g.To.(*Origin); ok {
			t.clients[g.Name] = newClient(o, &t.limits)
		}
	}
	if c.Stderr != nil {
		t.teed.Go(func() { t.stderr.follow(c.Stderr) })
	}
	return t
}

// Open opens what the grant of that kind and of the request's name leads to. It does not block:
// forks, dials and lookups happen elsewhere, and their outcome reaches sink as
// Opened or Error. An open that is refused at once returns no Stream but a
// status for the guest and an error for the user, a *[Denial] where no grant
// allows it; sink hears nothing then.
//
// Of the flags [abi.Essential] is the caller's business and is ignored here.
func (t *Table) Open(kind abi.OpenKind, r *abi.OpenRequest, sink hostio.Sink) (hostio.Stream, abi.Status, error) {
	if !slices.Contains(kinds, kind) {
		return nil, abi.Unavailable, fmt.Errorf("open %s %q: this host cannot open that", kind, r.Grant)
	}
	g, ok := t.find(kind, r.Grant)
	if !ok {
		return nil, abi.Denied, &Denial{Kind: kind, Name: r.Grant, Have: t.grants}
	}
	who, status, err := g.To.hold(t, g, r, sink)
	if err == nil {
		status, err = t.admit(who)
	}
	if err != nil {
		return nil, status, fmt.Errorf("open %s %q: %w", kind, r.Grant, err)
	}
	who.start()
	return who, abi.OK, nil
}

func (t *Table) find(kind abi.OpenKind, name string) (Grant, bool) {
	for _, g := range t.grants {
		if g.Name == name && g.To.Kind() == kind {
			return g, true
		}
	}
	return Grant{}, false
}

// admit gives a tenant its place, if the limits allow it.
func (t *Table) admit(who tenant) (abi.Status, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return abi.Closed, fmt.Errorf("the connection is closed")
	}
	s := who.at()
	last := t.processes[s.grant.Name]
	isProcess := s.grant.To.Kind() == abi.OpenProcess
	if isProcess && last != nil && !last.hasEnded() {
		return abi.LimitReached, fmt.Errorf("its process is still running, and a grant has one at a time")
	}
	if err := t.room(s.grant.To.Kind()); err != nil {
		return abi.LimitReached, err
	}
	t.tenants[who] = struct{}{}
	if isProcess {
		s.after, t.processes[s.grant.Name] = last, s
	}
	return abi.OK, nil
}

// room counts one more of a kind, unless that is one too many. Exchanges are not
// rated: they are what a connection over HTTP does all day.
func (t *Table) room(kind abi.OpenKind) error {
	if kind == abi.OpenHTTP {
		if t.served >= t.limits.Exchanges {
			return fmt.Errorf("%d exchanges are under way, and there may be no more", t.served)
		}
		t.served++
		return nil
	}
	if open := len(t.tenants) - t.served; open >= t.limits.Handles {
		return fmt.Errorf("%d handles are open, and there may be no more", open)
	}
	if !t.opens.take(time.Now()) {
		return fmt.Errorf("too many opens: one each %s is allowed after the first %d",
			t.limits.Refill, t.limits.Burst)
	}
	return nil
}

// remove takes out a tenant of which nothing is left.
func (t *Table) remove(who tenant) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.tenants, who)
	s := who.at()
	switch s.grant.To.Kind() {
	case abi.OpenHTTP:
		t.served--
	case abi.OpenProcess:
		close(s.gone)
		if t.processes[s.grant.Name] == s {
			delete(t.processes, s.grant.Name)
		}
	}
	t.settle()
}

// settle closes empty once nothing is left of a closed table.
func (t *Table) settle() {
	if t.closed && len(t.tenants) == 0 && !isClosed(t.empty) {
		t.stderr.close()
		close(t.empty)
	}
}

// Stderr returns the last 64 KiB of what child processes wrote to their stderr.
// It is complete when a sink hears Exit.
func (t *Table) Stderr() []byte { return t.stderr.bytes() }

// Close ends everything that is open and returns when no goroutine, descriptor
// or child of the table is left. Each process gets its grace; when ctx ends
// first, what still runs is killed at once. A second Close waits like the
// first. Close does not take longer than the graces together, with the default
// nine seconds; if something is left even then (a Data that does not return, a
// process that the system cannot kill), the error says what.
func (t *Table) Close(ctx context.Context) error {
	t.endAll()
	orderly, cancel := context.WithTimeout(ctx, t.grace.Stdin+t.grace.Term)
	defer cancel()
	done := t.ended()
	select {
	case <-done:
		return nil
	case <-orderly.Done():
	}
	t.hurry()
	select {
	case <-done:
		return nil
	case <-time.After(t.grace.Kill):
		return t.leftover()
	}
}

// endAll asks everything to end, and lets nothing in any more.
func (t *Table) endAll() {
	t.mu.Lock()
	t.closed = true
	all := slices.Collect(maps.Keys(t.tenants))
	t.settle()
	t.mu.Unlock()
	for _, who := range all {
		who.end()
	}
}

// ended returns a channel that is closed when nothing is left.
func (t *Table) ended() <-chan struct{} {
	done := make(chan struct{})
	go func() {
		<-t.empty
		t.teed.Wait()
		t.crew.close()
		for _, c := range t.clients {
			c.close()
		}
		close(done)
	}()
	return done
}

// hurry ends all graces: what still runs is killed now.
func (t *Table) hurry() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.forced {
		t.forced = true
		close(t.force)
	}
}

// leftover says what did not end, for the one who waits for it.
func (t *Table) leftover() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var names []string
	for who := range t.tenants {
		g := who.at().grant
		names = append(names, fmt.Sprintf("%s %q", g.To.Kind(), g.Name))
	}
	if names == nil {
		return fmt.Errorf("close: the writer for stderr does not return")
	}
	slices.Sort(names)
	return fmt.Errorf("close: still not over: %s", strings.Join(names, ", "))
}
