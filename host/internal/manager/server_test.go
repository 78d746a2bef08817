package manager

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wharf-mcp/wharf/host/status"
)

// fakeServer is a server that a driver may dial, and counts what it does.
type fakeServer struct {
	t     *testing.T
	start time.Time

	// answer is what the n-th dial comes to, from 0. nil is a connection at once.
	answer func(ctx context.Context, n int) error

	// pulse is how its connections are watched; heard is when they were last heard of.
	pulse Pulse
	heard atomic.Pointer[time.Time]
	ping  func(ctx context.Context) error // nil answers at once

	slow time.Duration // what closing a connection takes
	busy time.Duration // what calls in flight take

	mu    sync.Mutex
	alive int // dials and connections
	dials []time.Duration
	pings []time.Duration
	conns []*conn
	close error
}

// conn is one connection to a fakeServer.
type conn struct {
	fakeServer *fakeServer
	after      Conn // what its dial was given
	done       chan struct{}
	err        error
	end        sync.Once
	forgot     atomic.Bool
	retired    atomic.Bool
	drained    time.Duration // how long Drain took; 0 where it was not called
	closed     bool
	left       bool // by Close
	taken      bool // by the next connection
}

func (c *conn) Done() <-chan struct{} { return c.done }
func (c *conn) Err() error            { return c.err }

func (c *conn) AfterEnd(f func()) (stop func() bool) {
	stopped := make(chan struct{})
	go func() {
		select {
		case <-c.done:
			f()
		case <-stopped:
		}
	}()
	return func() bool { close(stopped); return true }
}

// exit ends the connection from the other side.
func (c *conn) exit(err error) {
	c.end.Do(func() {
		c.err = err
		close(c.done)
	})
}

func (c *conn) Forgotten() bool { return c.forgot.Load() && !hasEnded(c) }
func (c *conn) Retire()         { c.retired.Store(true) }

func (c *conn) Heard() time.Time {
	if at := c.fakeServer.heard.Load(); at != nil {
		return *at
	}
	return time.Time{}
}

// Ping counts, and answers as the fakeServer does.
func (c *conn) Ping(ctx context.Context) error {
	c.fakeServer.mu.Lock()
	c.fakeServer.pings = append(c.fakeServer.pings, time.Since(c.fakeServer.start))
	ping := c.fakeServer.ping
	c.fakeServer.mu.Unlock()
	if ping == nil {
		return nil
	}
	return ping(ctx)
}

// Drain has calls in flight for as long as the fakeServer says.
func (c *conn) Drain(ctx context.Context) {
	start := time.Now()
	select {
	case <-ctx.Done():
	case <-time.After(c.fakeServer.busy):
	}
	c.drained = time.Since(start)
}

func (c *conn) Close(leave bool) error {
	c.exit(errors.New("closed"))
	time.Sleep(c.fakeServer.slow)
	c.fakeServer.mu.Lock()
	defer c.fakeServer.mu.Unlock()
	if c.closed {
		c.fakeServer.t.Error("a connection was closed twice")
	}
	c.closed, c.left = true, leave
	if !c.taken {
		c.fakeServer.alive--
	}
	return c.fakeServer.close
}

func newFakeServer(t *testing.T) *fakeServer { return &fakeServer{t: t, start: time.Now()} }

// dial is a DialFunc. It fails the test where there would be two of anything. A
// connection that is still open is taken over.
func (k *fakeServer) dial(ctx context.Context, after Conn) (Conn, error) {
	before, _ := after.(*conn)
	k.mu.Lock()
	n := len(k.dials)
	k.dials = append(k.dials, time.Since(k.start))
	took := before != nil && before.Forgotten()
	if took {
		k.alive--
	}
	if k.alive++; k.alive > 1 {
		k.t.Errorf("dial %d, and %d of them are alive", n, k.alive)
	}
	k.mu.Unlock()
	var err error
	if k.answer != nil {
		err = k.answer(ctx, n)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil {
		if !took {
			k.alive--
		}
		return nil, err
	}
	if took {
		before.taken = true
	}
	c := &conn{fakeServer: k, after: after, done: make(chan struct{})}
	k.conns = append(k.conns, c)
	return c, nil
}

// last returns the newest connection.
func (k *fakeServer) last() *conn {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.conns[len(k.conns)-1]
}

// times returns when it was dialled.
func (k *fakeServer) times() []time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.dials)
}

func (k *fakeServer) wantTimes(want ...time.Duration) {
	k.t.Helper()
	if got := k.times(); !slices.Equal(got, want) {
		k.t.Errorf("dialled at %v; want %v", got, want)
	}
}

// hang is an answer that never comes.
func hang(ctx context.Context, _ int) error {
	<-ctx.Done()
	return ctx.Err()
}

func down(context.Context, int) error { return errDown }

// classify is a Config.Classify for the errors of these tests.
func classify(err error) status.Reason {
	switch {
	case errors.Is(err, errWho):
		return status.SignIn
	case errors.Is(err, errBad):
		return status.BadConfig
	}
	return status.Unreachable
}

var errBad = errors.New("no such setting")

// withManager runs a test with a manager that spreads no waits, and closes it at the end.
func withManager(t *testing.T, test func(t *testing.T, f *Manager)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := New()
		f.random = middle
		defer f.Close()
		test(t, f)
	})
}

func (m *Manager) add(t *testing.T, k *fakeServer) *Driver {
	t.Helper()
	d, err := m.Add(Config{Name: "files", Dial: k.dial, Classify: classify, Pulse: func() Pulse { return k.pulse }})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// moving adds a server that may be another at each dial.
func (m *Manager) moving(t *testing.T, first *fakeServer) (*Driver, *atomic.Pointer[fakeServer]) {
	t.Helper()
	var now atomic.Pointer[fakeServer]
	now.Store(first)
	dial := func(ctx context.Context, after Conn) (Conn, error) { return now.Load().dial(ctx, after) }
	d, err := m.Add(Config{Name: "files", Dial: dial, Classify: classify})
	if err != nil {
		t.Fatal(err)
	}
	return d, &now
}

// acquire acquires within a time and returns the error in words, and how long it
// took.
func acquire(d *Driver, patience time.Duration) (string, time.Duration) {
	start := time.Now()
	c, err := acquireWithin(d, patience)
	switch {
	case err != nil:
		return err.Error(), time.Since(start)
	case c == nil:
		return "nothing", time.Since(start)
	}
	return "", time.Since(start)
}

func acquireWithin(d *Driver, patience time.Duration) (Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return d.Acquire(ctx)
}

// wantAcquire acquires, which has to take a time and end in an error, or in "".
func wantAcquire(t *testing.T, d *Driver, took time.Duration, want string) {
	t.Helper()
	if got, after := acquire(d, time.Hour); got != want || after != took {
		t.Errorf("acquired after %v with %q; want %v and %q", after, got, took, want)
	}
}

func wantState(t *testing.T, d *Driver, s status.State, why status.Reason) {
	t.Helper()
	if got := d.Status(); got.State != s || got.Reason != why {
		t.Errorf("%v(%v); want %v(%v)", got.State, got.Reason, s, why)
	}
}

// pinged returns when signs of life were asked for.
func (k *fakeServer) pinged() []time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.pings)
}

func (k *fakeServer) wantPings(want ...time.Duration) {
	k.t.Helper()
	if got := k.pinged(); !slices.Equal(got, want) {
		k.t.Errorf("asked at %v; want %v", got, want)
	}
}
