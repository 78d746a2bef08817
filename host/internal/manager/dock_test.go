package manager

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// dock is a server that a driver may dial, and counts what it does.
type dock struct {
	t     *testing.T
	start time.Time

	// answer is what the n-th dial comes to, from 0. nil is a connection at once.
	answer func(ctx context.Context, n int) error

	slow time.Duration // what closing a connection takes

	mu    sync.Mutex
	alive int // dials and connections
	dials []time.Duration
	conns []*conn
	close error
}

// conn is one connection to a dock.
type conn struct {
	dock   *dock
	done   chan struct{}
	err    error
	end    sync.Once
	closed bool
}

func (c *conn) Done() <-chan struct{} { return c.done }
func (c *conn) Err() error            { return c.err }

// exit ends the connection from the other side.
func (c *conn) exit(err error) {
	c.end.Do(func() {
		c.err = err
		close(c.done)
	})
}

func (c *conn) Close() error {
	c.exit(errors.New("closed"))
	time.Sleep(c.dock.slow)
	c.dock.mu.Lock()
	defer c.dock.mu.Unlock()
	if c.closed {
		c.dock.t.Error("a connection was closed twice")
	}
	c.closed = true
	c.dock.alive--
	return c.dock.close
}

func newDock(t *testing.T) *dock { return &dock{t: t, start: time.Now()} }

// dial is a DialFunc. It fails the test where there would be two of anything.
func (k *dock) dial(ctx context.Context) (Conn, error) {
	k.mu.Lock()
	n := len(k.dials)
	k.dials = append(k.dials, time.Since(k.start))
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
		k.alive--
		return nil, err
	}
	c := &conn{dock: k, done: make(chan struct{})}
	k.conns = append(k.conns, c)
	return c, nil
}

// last returns the newest connection.
func (k *dock) last() *conn {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.conns[len(k.conns)-1]
}

// times returns when it was dialled.
func (k *dock) times() []time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.dials)
}

func (k *dock) wantTimes(want ...time.Duration) {
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
func classify(err error) Reason {
	switch {
	case errors.Is(err, errWho):
		return SignIn
	case errors.Is(err, errBad):
		return BadConfig
	}
	return Unreachable
}

var errBad = errors.New("no such setting")

// afloat runs a test with a fleet that spreads no waits, and closes it at the end.
func afloat(t *testing.T, test func(t *testing.T, f *Fleet)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := NewFleet()
		f.random = middle
		defer f.Close()
		test(t, f)
	})
}

func (f *Fleet) add(t *testing.T, k *dock) *Driver {
	t.Helper()
	d, err := f.Add(Config{Name: "files", Dial: k.dial, Classify: classify})
	if err != nil {
		t.Fatal(err)
	}
	return d
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

func wantState(t *testing.T, d *Driver, s State, why Reason) {
	t.Helper()
	if got := d.Status(); got.State != s || got.Reason != why {
		t.Errorf("%v(%v); want %v(%v)", got.State, got.Reason, s, why)
	}
}
