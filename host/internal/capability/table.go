package capability

import (
	"context"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/hostio"
)

// Config configures a [Table]. Only the grants are required.
type Config struct {
	Grants []Grant
	Grace  Grace
	Limits Limits

	// Now is the clock for the rate of opens; nil means the system's.
	Now func() time.Time

	// Stderr gets what child processes write to their stderr. A writer that is too slow misses some
	// bytes, and gets a line that says how many. If it blocks for ever, Close reports that.
	Stderr io.Writer
}

// Table holds what one connection has open. It opens only what the grants of the
// connection allow, keeps its limits and closes everything at the end. Its methods may be
// called from any goroutine.
type Table struct {
	grants  []Grant
	openers []Opener // one for each grant
	grace   Grace
	limits  Limits
	now     func() time.Time
	stderr  *Tail
	teed    sync.WaitGroup // the goroutine that follows stderr, if any
	freed   sync.Once      // the openers are closed

	force chan struct{} // closed when no grace is left
	empty chan struct{} // closed when the table is closed and nothing is left

	mu      sync.Mutex
	closed  bool
	over    bool // empty is closed
	forced  bool // force is closed
	opens   rateLimiter
	handles map[*Slot]Handle
	served  int // handles that are HTTP exchanges

	// unanswered is how many requests in a row had no answer. It begins with one: the
	// server has not answered yet.
	unanswered atomic.Int64

	reach atomic.Int32 // a [Reach]

	// processes has the last process of each grant. A grant has one live process at a time: a
	// closed process has to be gone before the next one starts.
	processes map[string]*Slot

	workers *workerPool  // runs the HTTP exchanges
	held    atomic.Int64 // bytes of their request bodies
}

// Grant is one thing that a connection may open, under a name that its guest
// knows. The same name may be granted once for each kind.
type Grant struct {
	Name string
	To   Target
}

// Target is what a grant leads to. The packages below this one have the kinds of target:
// stream, process and httpclient.
type Target interface {
	// Kind returns the kind of open that the target answers.
	Kind() abi.OpenKind

	// Opener returns the opener of the target for one table. It is called once for each table and
	// grant, and must start nothing. limits have their defaults filled in.
	Opener(limits *Limits) Opener
}

// Opener makes the handles of one grant in one table.
type Opener interface {
	// Open makes the handle that a request asks for, and starts nothing: see
	// [Handle.Start]. It checks all of the request except its grant, and does not
	// block. An error has a status for the guest.
	Open(o Opening, r *abi.OpenRequest) (Handle, abi.Status, error)

	// Close frees what the opener keeps between handles. It is called once, when no handle is left.
	Close()
}

// Handle is the result of an open, which a table keeps until the handle has ended: a stream of
// bytes both ways, or an HTTP exchange. Every Handle embeds a [Slot].
type Handle interface {
	hostio.Stream

	// Start is called once, when the handle has its place in the table.
	Start()

	// End mutes the handle and asks it to quit. Unlike Close, any goroutine may call
	// it, and more than once.
	End()

	// AsSlot returns the slot that the handle embeds.
	AsSlot() *Slot
}

// Opening is what an [Opener] gets to make a [Handle]: [Slot.Init] takes it.
type Opening struct {
	table *Table
	grant Grant
	sink  hostio.Sink
}

// Slot is the place of a handle in its table. A handle embeds one, begins it with
// Init and ends it with Remove.
type Slot struct {
	Events  Emitter                 // passes events to the sink of the handle
	Context context.Context         // ends when the handle has to end, or has ended
	Cancel  context.CancelCauseFunc // ends Context

	table *Table
	grant Grant
	after *Slot         // has to be gone before this one starts; nil for none
	gone  chan struct{} // closed when nothing is left of a process; nil for other kinds
	held  atomic.Int64  // bytes of a request body that the table counts for this handle
}

// NewTable returns a table without handles. It has to be closed.
func NewTable(c Config) *Table {
	limits := c.Limits.withDefaults()
	t := &Table{
		grants:  slices.Clone(c.Grants),
		grace:   c.Grace.withDefaults(),
		limits:  limits,
		now:     c.Now,
		stderr:  NewTail(),
		force:   make(chan struct{}),
		empty:   make(chan struct{}),
		opens:   rateLimiter{burst: limits.Burst, refill: limits.Refill},
		handles: map[*Slot]Handle{},

		processes: map[string]*Slot{},
		workers:   newWorkerPool(),
	}
	t.unanswered.Store(1)
	if t.now == nil {
		t.now = time.Now
	}
	for _, g := range t.grants {
		t.openers = append(t.openers, g.To.Opener(&t.limits))
	}
	if c.Stderr != nil {
		t.teed.Go(func() { t.stderr.follow(c.Stderr) })
	}
	return t
}

// Usage is how much a table uses, at one moment, of the things that [Limits] bound.
type Usage struct {
	Handles     int   // handles that are open or still closing, HTTP exchanges among them
	Exchanges   int   // the HTTP exchanges among them
	Bodies      int64 // bytes of request bodies
	IdleWorkers int   // goroutines that wait for an exchange
}

// Usage returns what the table uses now.
func (t *Table) Usage() Usage {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Usage{len(t.handles), t.served, t.held.Load(), len(t.workers.idle)}
}

// Reach is how far the connections of a table to their server came.
type Reach int32

// In this order.
const (
	NotReached Reach = iota
	Connected        // a connection was made
	Ready            // it can carry a request: its TLS handshake is done, if it has one
)

// Reach returns how far a connection of an HTTP grant came, since the table was made.
func (t *Table) Reach() Reach { return Reach(t.reach.Load()) }

// Stderr returns the last 64 KiB of what child processes wrote to their stderr.
// It is complete when a sink hears Exit.
func (t *Table) Stderr() []byte { return t.stderr.Bytes() }

// StderrSince returns the result of Stderr in two pieces. written is an earlier result of
// StderrWritten: before has the bytes that were written up to that moment, and since the later
// ones.
func (t *Table) StderrSince(written int64) (before, since []byte) { return t.stderr.Since(written) }

// StderrWritten returns how many bytes child processes have written to their stderr so far.
func (t *Table) StderrWritten() int64 { return t.stderr.Written() }
