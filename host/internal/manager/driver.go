package manager

import (
	"context"
	"sync"
	"time"
)

// Conn is one connection, as long as it lasts. It is a pointer, or something else
// that can be compared.
type Conn interface {
	// Done is closed when the connection has ended, whoever ended it.
	Done() <-chan struct{}

	// Err says why it ended; it is nil until Done is closed.
	Err() error

	// Close ends the connection and returns when nothing of it is left. It is
	// called once for each connection, also after that has ended by itself.
	Close() error
}

// DialFunc makes a connection. ctx lasts as long as that is wanted; when it ends
// before there is one, the dial gives up. It leaves nothing behind where it
// returns an error. It is never called again before its last
// call has returned and the connection that came of it is closed.
type DialFunc func(ctx context.Context) (Conn, error)

// Config is what a driver needs to know of a server.
type Config struct {
	Name string
	Dial DialFunc

	// Classify says what a dial failed for; nil takes everything for
	// [Unreachable], which is tried again.
	Classify func(error) Reason

	Disabled bool // until Enable
	Policy   Policy
}

// Driver keeps the connection to one server. It has a goroutine while there is a
// dial or a connection, and a timer while it waits for the next dial. All methods
// may be called from any goroutine, also from within calls of Dial and of a Conn;
// only Close waits for those.
type Driver struct {
	id    uint64
	fleet *Fleet
	name  string

	classify func(error) Reason

	mu      sync.Mutex
	machine *Machine
	dial    DialFunc
	conn    Conn               // nil unless the machine knows it as up
	pass    *pass              // of the dial under way, or the last one
	quit    context.CancelFunc // drops the dial or the connection
	timer   *time.Timer        // nil before the first wait
	round   *round             // nil while nobody waits
	err     error              // what closing the last connection said
	ended   chan struct{}      // closed when nothing is left
}

// round is what all callers that wait at the same time wait for.
type round struct {
	done chan struct{}
	conn Conn // set before done is closed, or err is
	err  error
}

func newDriver(f *Fleet, c Config) *Driver {
	d := &Driver{fleet: f, name: c.Name, dial: c.Dial, classify: c.Classify, ended: make(chan struct{})}
	if d.classify == nil {
		d.classify = func(error) Reason { return Unreachable }
	}
	d.machine = NewMachine(time.Now(), c.Policy, f.random)
	if c.Disabled {
		d.machine.Disable(time.Now())
	}
	d.id = f.board.add(c.Name, d.machine.Status())
	return d
}

// Name returns the name of the server.
func (d *Driver) Name() string { return d.name }

// Status returns how it stands with the server.
func (d *Driver) Status() Status {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.machine.Status()
}

// Snapshot returns what the board shows of the server, and after it was taken off
// only how it stands with it.
func (d *Driver) Snapshot() Snapshot {
	if s, ok := d.fleet.board.snapshot(d.id); ok {
		return s
	}
	return Snapshot{ID: d.id, Name: d.name, Status: d.Status()}
}

// Start has the server connected and kept, and waits for nothing.
func (d *Driver) Start() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.run(d.machine.Want(time.Now()))
}

// Acquire returns the connection, and waits for it where one is being made or
// will be soon. Otherwise its error is a [*Refusal], at once. It never waits
// longer than ctx lasts; the error is then the cause of that. A caller that
// leaves does not end the dial.
//
// The connection belongs to the driver: a caller uses it and does not close it.
// It may end at any time, before the caller has it too.
func (d *Driver) Acquire(ctx context.Context) (Conn, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	c, r := d.join()
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

// join returns the live connection, or the round that waits for one. That the
// connection has ended may be seen here before its own goroutine sees it.
func (d *Driver) join() (Conn, *round) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c := d.conn; c != nil {
		if !over(c) {
			return c, nil
		}
		d.run(d.machine.Lost(time.Now(), c.Err()))
	}
	if d.round == nil {
		d.round = &round{done: make(chan struct{})}
	}
	r := d.round
	d.run(d.machine.Want(time.Now()))
	if d.pass != nil {
		d.fleet.gate.hasten(d.pass)
	}
	return nil, r
}

func over(c Conn) bool {
	select {
	case <-c.Done():
		return true
	default:
		return false
	}
}

// Lost says that c is of no use any more, although it may not have ended. It is
// closed, and another one made. A connection that is not the current one is none
// of its business.
func (d *Driver) Lost(c Conn, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c != nil && d.conn == c {
		d.run(d.machine.Lost(time.Now(), err))
	}
}

// Forgotten says that the server no longer knows the session of c. It is closed,
// and another one made at once, as often as that happens: each time a call is made.
func (d *Driver) Forgotten(c Conn, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c != nil && d.conn == c {
		d.run(d.machine.Forgotten(time.Now(), err))
	}
}

// AuthRequired says that the server refuses requests until a person signs in. If
// there is a connection, it stays, and Acquire returns it.
func (d *Driver) AuthRequired(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.run(d.machine.AuthRequired(time.Now(), err))
}

// SignedIn says that a person has signed in.
func (d *Driver) SignedIn() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.run(d.machine.SignedIn(time.Now()))
}

// Disable drops the connection and refuses to make another, until Enable.
func (d *Driver) Disable() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.run(d.machine.Disable(time.Now()))
}

// Enable undoes Disable.
func (d *Driver) Enable() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.run(d.machine.Enable(time.Now()))
}

// Reload has the next dial made with dial, or as before where dial is nil. What
// there is of a connection goes away first; what failed before is forgiven. Those
// who wait in Acquire wait for the new connection.
func (d *Driver) Reload(dial DialFunc) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if dial != nil {
		d.dial = dial
	}
	d.run(d.machine.Change(time.Now()))
}

// Report changes what the board shows of the server. change runs at once, and
// calls nothing of this package.
func (d *Driver) Report(change func(*Facts)) { d.fleet.board.report(d.id, change) }

// Close ends the dial or the connection, and with an error those who wait. It
// returns when nothing is left, with the error of closing the last connection.
// It may be called more than once. Whoever calls it from within Dial or Conn
// waits for ever.
func (d *Driver) Close() error {
	d.mu.Lock()
	d.run(d.machine.Close(time.Now()))
	d.mu.Unlock()
	<-d.ended
	return d.err
}

// run does what the machine asks for. The caller holds d.mu, and none of it waits.
func (d *Driver) run(effects []Effect) {
	for _, e := range effects {
		switch e.Do {
		case Dial:
			d.begin()
		case DialAt:
			d.arm(e.At)
		case Drop:
			d.conn = nil
			d.quit()
		case Refuse:
			d.settle(nil, e.Err)
		case Announce:
			d.fleet.board.post(d.id, d.machine.Status())
		case End:
			close(d.ended)
		}
	}
}

// arm has the machine ticked at a time, or not at all. A tick that was under way
// already does no harm.
func (d *Driver) arm(at time.Time) {
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	if !at.IsZero() {
		d.timer = time.AfterFunc(time.Until(at), d.tick)
	}
}

func (d *Driver) tick() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.run(d.machine.Tick(time.Now()))
}

// settle ends the round.
func (d *Driver) settle(c Conn, err error) {
	if r := d.round; r != nil {
		r.conn, r.err, d.round = c, err, nil
		close(r.done)
	}
}

// begin starts the life of a connection.
func (d *Driver) begin() {
	ctx, quit := context.WithCancel(context.Background())
	d.quit, d.err = quit, nil
	d.pass = &pass{urgent: d.round != nil, retry: d.machine.Status().Attempt > 1}
	d.fleet.gate.join(d.pass)
	go d.live(ctx, d.dial, d.pass)
}

// live is the life of a connection, from the dial until nothing is left of it.
// Drop ends ctx; everything else follows from that. A dial takes several times the
// stack that waiting does, and Go keeps what a stack has grown to, so another
// goroutine does the waiting.
func (d *Driver) live(ctx context.Context, dial DialFunc, p *pass) {
	c, err := d.knock(ctx, dial, p)
	if err != nil {
		d.failed(ctx, err)
		return
	}
	go d.keep(ctx, c)
}

// keep is live from when there is a connection.
func (d *Driver) keep(ctx context.Context, c Conn) {
	if d.connected(ctx, c) {
		select {
		case <-c.Done():
			d.Lost(c, c.Err())
		case <-ctx.Done():
		}
	}
	d.gone(c.Close())
}

// knock dials when it is this server's turn.
func (d *Driver) knock(ctx context.Context, dial DialFunc, p *pass) (Conn, error) {
	defer d.fleet.gate.leave(p)
	if err := p.wait(ctx); err != nil {
		return nil, err
	}
	return dial(ctx)
}

// failed tells the machine of a dial that made no connection. Whether that was
// given up is known under the mutex only.
func (d *Driver) failed(ctx context.Context, err error) {
	why := d.classify(err)
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	if ctx.Err() != nil {
		d.run(d.machine.Gone(now))
		return
	}
	d.quit()
	d.run(d.machine.ConnectFailed(now, why, err))
}

// connected reports whether anybody still wants c.
func (d *Driver) connected(ctx context.Context, c Conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if ctx.Err() != nil {
		return false
	}
	d.conn = c
	d.run(d.machine.Connected(time.Now()))
	d.settle(c, nil)
	return true
}

func (d *Driver) gone(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.err = err
	d.run(d.machine.Gone(time.Now()))
}
