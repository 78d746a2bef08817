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
	grants  []Grant
	openers []Opener // one for each grant
	grace   Grace
	limits  Limits
	stderr  *Tail
	teed    sync.WaitGroup // the goroutine that follows stderr, if any

	force chan struct{} // closed when no grace is left
	empty chan struct{} // closed when the table is closed and nothing is left

	mu      sync.Mutex
	closed  bool
	forced  bool
	opens   rateLimiter
	handles map[*Slot]Handle
	served  int // handles that are HTTP exchanges

	// unanswered is how many requests in a row had no answer. It begins with one: the
	// server has not answered yet.
	unanswered atomic.Int64

	// processes has the last process of each grant. A live one stands in the
	// way of another; one that was closed has to be gone before the next one
	// starts.
	processes map[string]*Slot

	workers *workerPool  // runs the HTTP exchanges
	held    atomic.Int64 // bytes of their request bodies
}

// NewTable returns a table without handles. It has to be closed.
func NewTable(c Config) *Table {
	limits := c.Limits.withDefaults()
	t := &Table{
		grants:  slices.Clone(c.Grants),
		grace:   c.Grace.withDefaults(),
		limits:  limits,
		stderr:  NewTail(),
		force:   make(chan struct{}),
		empty:   make(chan struct{}),
		opens:   rateLimiter{burst: limits.Burst, refill: limits.Refill},
		handles: map[*Slot]Handle{},

		processes: map[string]*Slot{},
		workers:   newWorkerPool(),
	}
	t.unanswered.Store(1)
	for _, g := range t.grants {
		t.openers = append(t.openers, g.To.Opener(&t.limits))
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

// admit gives a handle its place, if the limits allow it.
func (t *Table) admit(h Handle) (abi.Status, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return abi.Closed, fmt.Errorf("the connection is closed")
	}
	s := h.AsSlot()
	last := t.processes[s.grant.Name]
	isProcess := s.grant.To.Kind() == abi.OpenProcess
	if isProcess && last != nil && !last.Ended() {
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

// room counts one more of a kind, unless that is one too many. Exchanges are not rated
// while the server answers: they are what a connection over HTTP does all day. Without
// an answer each costs a dial and a handshake, and may be made up for that.
func (t *Table) room(kind abi.OpenKind) error {
	if kind == abi.OpenHTTP {
		if t.served >= t.limits.Exchanges {
			return fmt.Errorf("%d exchanges are under way, and there may be no more", t.served)
		}
		if n := t.unanswered.Load(); n > int64(t.limits.Burst) && !t.opens.allow(time.Now()) {
			return fmt.Errorf("the last %d requests had no answer: one each %s is allowed until the server answers", n, t.limits.Refill)
		}
		t.served++
		return nil
	}
	if open := len(t.handles) - t.served; open >= t.limits.Handles {
		return fmt.Errorf("%d handles are open, and there may be no more", open)
	}
	if !t.opens.allow(time.Now()) {
		return fmt.Errorf("too many opens: one each %s is allowed after the first %d",
			t.limits.Refill, t.limits.Burst)
	}
	return nil
}

// remove takes out a handle of which nothing is left.
func (t *Table) remove(s *Slot) {
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

// finish closes empty once nothing is left of a closed table.
func (t *Table) finish() {
	if t.closed && len(t.handles) == 0 && !isClosed(t.empty) {
		t.stderr.Close()
		close(t.empty)
	}
}

// Usage is what a table spends at a moment, of what [Limits] bound.
type Usage struct {
	Handles     int   // that are open or still closing, HTTP exchanges among them
	Exchanges   int   // the HTTP exchanges among them
	Bodies      int64 // bytes of request bodies
	IdleWorkers int   // goroutines that wait for an exchange
}

// Usage returns what the table spends now.
func (t *Table) Usage() Usage {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Usage{len(t.handles), t.served, t.held.Load(), len(t.workers.idle)}
}

// Stderr returns the last 64 KiB of what child processes wrote to their stderr.
// It is complete when a sink hears Exit.
func (t *Table) Stderr() []byte { return t.stderr.Bytes() }

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
	t.forceEnd()
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
	all := slices.Collect(maps.Values(t.handles))
	t.finish()
	t.mu.Unlock()
	for _, h := range all {
		h.End()
	}
}

// ended returns a channel that is closed when nothing is left.
func (t *Table) ended() <-chan struct{} {
	done := make(chan struct{})
	go func() {
		<-t.empty
		t.teed.Wait()
		t.workers.close()
		for _, o := range t.openers {
			o.Close()
		}
		close(done)
	}()
	return done
}

// forceEnd ends all graces: what still runs is killed now.
func (t *Table) forceEnd() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.forced {
		t.forced = true
		close(t.force)
	}
}

// leftover is the error that names what did not end.
func (t *Table) leftover() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var names []string
	for s := range t.handles {
		names = append(names, fmt.Sprintf("%s %q", s.grant.To.Kind(), s.grant.Name))
	}
	if names == nil {
		return fmt.Errorf("close: the writer for stderr does not return")
	}
	slices.Sort(names)
	return fmt.Errorf("close: still not over: %s", strings.Join(names, ", "))
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
