package manager

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wharf-mcp/wharf/host/status"
)

// Driver keeps the connection to one server. It has a goroutine during a dial and while a
// connection ends, and a timer while it waits for the next dial or watches the connection. All
// methods may be called from any goroutine, also from within calls of Dial and of a Conn; only
// Close waits for those.
type Driver struct {
	id      uint64
	manager *Manager
	name    string

	classify func(error) status.Reason
	pulse    func() Pulse

	current atomic.Pointer[Conn] // the connection for callers; nil for none. Written under mu

	mu          sync.Mutex
	machine     *Machine
	dial        DialFunc
	latest      *dialedConn   // of the present dial or connection, or else of the last one
	last        Conn          // the previous connection, for the next dial; nil for none
	open        bool          // last was not closed
	timer       *time.Timer   // nil before the first wait
	acquisition *acquisition  // nil while no caller waits
	err         error         // from closing the last connection
	ended       chan struct{} // closed when nothing is left

	asking sync.WaitGroup // for a sign of life
}

// acquisition is shared by all callers that wait at the same time.
type acquisition struct {
	done chan struct{}
	conn Conn // conn or err is set before done is closed
	err  error
}

func newDriver(f *Manager, c Config) *Driver {
	d := &Driver{manager: f, name: c.Name, dial: c.Dial, classify: c.Classify, pulse: c.Pulse, ended: make(chan struct{})}
	if d.pulse == nil {
		d.pulse = func() Pulse { return Pulse{} }
	}
	d.machine = NewMachine(time.Now(), c.Policy, f.random)
	if c.Disabled {
		d.machine.Disable(time.Now())
	}
	d.id = f.registry.add(c.Name, d.machine.Status())
	return d
}

// Status returns what the registry shows of the server. After the server was removed, it returns
// the machine's status, with the id and the name.
func (d *Driver) Status() status.Status {
	if s, ok := d.manager.registry.status(d.id); ok {
		return s
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.machine.Status()
	s.ID, s.Name = d.id, d.name
	return s
}

// Start connects the server and keeps it connected. It waits for nothing.
func (d *Driver) Start() { d.tell(d.machine.Want) }

// Rest ends the connection of a server that is not used, once the calls in flight have ended. The next
// Start or Acquire makes another; [Driver.Await] does not. It waits for nothing.
func (d *Driver) Rest() { d.tell(d.machine.Rest) }

// tell passes an event to the machine, and takes the actions that it returns.
func (d *Driver) tell(event func(now time.Time) []Effect) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.run(event(time.Now()))
}

// Acquire returns the connection. If one is being made or soon will be, Acquire waits for it.
// Otherwise its error is a [*UnavailableError], at once. When ctx ends, the error is the cause of
// that, and the dial goes on.
//
// The connection belongs to the driver: a caller uses it and does not close it. It may end at
// any time, even before the caller gets it.
func (d *Driver) Acquire(ctx context.Context) (Conn, error) { return d.acquire(ctx, false) }

// Await is Acquire, but where the server rests it waits until another caller needs it.
func (d *Driver) Await(ctx context.Context) (Conn, error) { return d.acquire(ctx, true) }

func (d *Driver) acquire(ctx context.Context, await bool) (Conn, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if c := d.Current(); c != nil && !hasEnded(c) && !c.Forgotten() {
		return c, nil
	}
	c, r := d.join(await)
	if c != nil {
		return c, nil
	}
	select {
	case <-r.done:
		return r.conn, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Current returns the connection for callers, or nil. The connection may have ended.
func (d *Driver) Current() Conn {
	if c := d.current.Load(); c != nil {
		return *c
	}
	return nil
}

// errForgotten says why a connection is of no use although it has not ended.
var errForgotten = errors.New("the server has forgotten the session")

// join returns the connection, or the acquisition that waits for one. join may see that the
// connection has ended before the connection's own goroutine does.
func (d *Driver) join(await bool) (Conn, *acquisition) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c := d.Current(); c != nil {
		switch {
		case hasEnded(c):
			d.run(d.machine.Lost(time.Now(), c.Err()))
		case c.Forgotten():
			d.run(d.machine.Forgotten(time.Now(), errForgotten))
		default:
			return c, nil
		}
	}
	if d.acquisition == nil {
		d.acquisition = &acquisition{done: make(chan struct{})}
	}
	r := d.acquisition
	if await && d.machine.Status().Reason == status.Idle {
		return nil, r
	}
	d.run(d.machine.Want(time.Now()))
	if d.latest != nil {
		d.manager.dials.prioritise(d.latest.ticket)
	}
	return nil, r
}

func hasEnded(c Conn) bool {
	select {
	case <-c.Done():
		return true
	default:
		return false
	}
}

// AuthRequired says that the server refuses requests until a person signs in. If
// there is a connection, it stays, and Acquire returns it.
func (d *Driver) AuthRequired(err error) {
	d.tell(func(now time.Time) []Effect { return d.machine.AuthRequired(now, err) })
}

// SignedIn says that a person has signed in.
func (d *Driver) SignedIn() { d.tell(d.machine.SignedIn) }

// SetPolicy sets another policy. It also watches the connection as [Config.Pulse] now says.
func (d *Driver) SetPolicy(policy Policy) {
	d.tell(func(now time.Time) []Effect { return d.machine.SetPolicy(now, policy, d.pulse()) })
}

// Disable drops the connection and refuses to make another, until Enable.
func (d *Driver) Disable() { d.tell(d.machine.Disable) }

// Enable undoes Disable.
func (d *Driver) Enable() { d.tell(d.machine.Enable) }

// Change says that the server is another from now on: the next dial makes a new connection, and
// earlier failures are forgotten. Callers that wait in Acquire wait for the new connection. Change
// does not wait.
func (d *Driver) Change(c Change) {
	d.tell(func(now time.Time) []Effect { return d.machine.Change(now, c) })
}

// Report changes the fields from Era on in what the registry shows of the server. The driver sets
// the others. change runs at once, and must call nothing of this package.
func (d *Driver) Report(change func(*status.Status)) { d.manager.registry.report(d.id, change) }

// Close ends the dial or the connection, and Acquire returns an error to callers that wait. Close
// returns when nothing is left, with the error of closing the last connection. It may be called
// more than once. If called from within Dial or a method of Conn, it waits for ever.
func (d *Driver) Close() error {
	d.tell(d.machine.Close)
	<-d.ended
	return d.err
}

// run takes the actions that the machine returned, and does not wait. The caller holds d.mu.
func (d *Driver) run(effects []Effect) {
	for _, e := range effects {
		switch e.Do {
		case Dial:
			d.startDial(e.Inherit)
		case TickAt:
			d.arm(e.At)
		case Drop:
			d.signalDrop(e.How)
		case Refuse:
			d.settle(nil, e.Err)
		case Announce:
			d.manager.registry.post(d.id, d.machine.Status())
		case Ask:
			dc, c := d.latest, d.Current()
			d.asking.Go(func() { d.ask(dc, c, e.Within) })
		case End:
			close(d.ended)
		}
	}
}

// arm sets the timer to tick the machine at a time, or stops it if at is zero. A tick that is under
// way already does no harm.
func (d *Driver) arm(at time.Time) {
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	if !at.IsZero() {
		d.timer = time.AfterFunc(time.Until(at), d.tick)
	}
}

// tick tells the machine the time. The timer calls it.
func (d *Driver) tick() {
	d.mu.Lock()
	defer d.mu.Unlock()
	var heard time.Time
	if c := d.Current(); c != nil {
		heard = c.Heard()
	}
	d.run(d.machine.Tick(time.Now(), heard))
}

// settle ends the acquisition, if there is one, with a connection or an error.
func (d *Driver) settle(c Conn, err error) {
	if r := d.acquisition; r != nil {
		r.conn, r.err, d.acquisition = c, err, nil
		close(r.done)
	}
}
