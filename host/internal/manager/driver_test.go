package manager

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wharf-mcp/wharf/host/status"
)

const (
	ms = time.Millisecond
	s  = time.Second
)

func TestLazy(t *testing.T) {
	withManager(t, func(t *testing.T, f *Manager) {
		k := newFakeServer(t)
		d := f.add(t, k)
		time.Sleep(time.Hour)
		k.wantTimes()
		wantAcquire(t, d, 0, "")
		wantAcquire(t, d, 0, "")
		k.wantTimes(time.Hour)
	})
}

// TestRest has a server rest: a caller that awaits it starts nothing, and one that needs it does, for
// both.
func TestRest(t *testing.T) {
	withManager(t, func(t *testing.T, f *Manager) {
		k := newFakeServer(t)
		d := f.add(t, k)
		wantAcquire(t, d, 0, "")
		d.Rest()
		time.Sleep(time.Hour)
		wantState(t, d, status.Disconnected, status.Idle)
		awaited := make(chan error, 1)
		go func() {
			_, err := d.Await(t.Context())
			awaited <- err
		}()
		time.Sleep(time.Hour)
		k.wantTimes(0)
		wantAcquire(t, d, 0, "")
		if err := <-awaited; err != nil {
			t.Error(err)
		}
		k.wantTimes(0, 2*time.Hour)
		d.Rest()
		d.Start() // before the connection has ended
		wantAcquire(t, d, 0, "")
	})
}

func TestShared(t *testing.T) {
	withManager(t, func(t *testing.T, f *Manager) {
		k := newFakeServer(t)
		k.answer = func(context.Context, int) error { time.Sleep(20 * s); return nil }
		d := f.add(t, k)
		d.Start()
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() { wantAcquire(t, d, 20*s, "") })
		}
		if got, after := acquire(d, s); got != context.DeadlineExceeded.Error() || after != s {
			t.Errorf("one that leaves early: %q after %v", got, after)
		}
		wg.Wait()
		k.wantTimes(0)
	})
}

func TestFirstFailureIsToldAtOnce(t *testing.T) {
	withManager(t, func(t *testing.T, f *Manager) {
		k := newFakeServer(t)
		var dial context.Context
		k.answer = func(ctx context.Context, _ int) error { dial = ctx; return errDown }
		d := f.add(t, k)
		wantAcquire(t, d, 0, "connection refused")
		if dial.Err() == nil {
			t.Error("the context of a dial that failed goes on")
		}
		wantState(t, d, status.Connecting, status.Unreachable)
		wantAcquire(t, d, 500*ms, "connection refused")
		k.wantTimes(0, 500*ms)
	})
}

// TestRestart has callers wait while a server that was well restarts.
func TestRestart(t *testing.T) {
	withManager(t, func(t *testing.T, f *Manager) {
		k := newFakeServer(t)
		k.answer = func(_ context.Context, n int) error {
			if n == 1 || n == 2 {
				return errDown
			}
			return nil
		}
		d := f.add(t, k)
		wantAcquire(t, d, 0, "")
		time.Sleep(2 * time.Minute)
		k.last().exit(errGone)
		wantAcquire(t, d, 3*s, "") // at once, after 1 s and after 2 s
		k.wantTimes(0, 120*s, 121*s, 123*s)
		time.Sleep(time.Minute)
		k.last().exit(errGone)
		time.Sleep(s)
		wantState(t, d, status.Connected, status.Ready)
		k.wantTimes(0, 120*s, 121*s, 123*s, 183*s+500*ms)
	})
}

// TestCrashLoop has a server start well and fall over at once, for an hour.
func TestCrashLoop(t *testing.T) {
	withManager(t, func(t *testing.T, f *Manager) {
		k := newFakeServer(t)
		k.answer = func(context.Context, int) error {
			time.AfterFunc(ms, func() { k.last().exit(errGone) })
			return nil
		}
		d := f.add(t, k)
		d.Start()
		time.Sleep(10 * s)
		wantState(t, d, status.Failed, status.FailsOften)
		wantAcquire(t, d, 0, "the server failed 5 times in 1m0s; it is tried again in 58s; the last failure: exit code 1")
		time.Sleep(time.Hour)
		if n := len(k.times()); n != 5+3+10 { // after 1, 3, 7, 12, 17 … minutes
			t.Errorf("started %d times in an hour: %v", n, k.times())
		}
	})
}

func TestBreakerMends(t *testing.T) {
	withManager(t, func(t *testing.T, f *Manager) {
		k := newFakeServer(t)
		k.answer = func(_ context.Context, n int) error {
			if n < 5 {
				return errDown
			}
			return nil
		}
		d := f.add(t, k)
		d.Start()
		time.Sleep(8 * s)
		wantState(t, d, status.Failed, status.FailsOften)
		time.Sleep(time.Minute)
		wantState(t, d, status.Connected, status.Ready)
		wantAcquire(t, d, 0, "")
		k.wantTimes(0, 500*ms, 1500*ms, 3500*ms, 7500*ms, 67500*ms)
	})
}

func TestSignIn(t *testing.T) {
	withManager(t, func(t *testing.T, f *Manager) {
		k := newFakeServer(t)
		signedIn := false
		k.answer = func(context.Context, int) error {
			if !signedIn {
				return errWho
			}
			return nil
		}
		d := f.add(t, k)
		wantAcquire(t, d, 0, "401")
		wantAcquire(t, d, 0, "401")
		wantState(t, d, status.AuthRequired, status.SignIn)
		time.Sleep(s)
		k.wantTimes(0)
		signedIn = true
		d.SignedIn()
		wantAcquire(t, d, 0, "")
		d.AuthRequired(errWho)
		wantState(t, d, status.AuthRequired, status.SignIn)
		wantAcquire(t, d, 0, "") // what it is for may need no sign-in
		d.SignedIn()
		wantState(t, d, status.Connected, status.Ready)
		k.wantTimes(0, s)
	})
}

// TestSignedInMeanwhile has the person sign in while a dial is on its way that
// will be refused for the lack of it.
func TestSignedInMeanwhile(t *testing.T) {
	withManager(t, func(t *testing.T, f *Manager) {
		k := newFakeServer(t)
		k.answer = func(_ context.Context, n int) error {
			time.Sleep(s)
			if n == 0 {
				return errWho
			}
			return nil
		}
		d := f.add(t, k)
		time.AfterFunc(500*ms, d.SignedIn)
		wantAcquire(t, d, 2*s, "")
	})
}

func TestChange(t *testing.T) {
	withManager(t, func(t *testing.T, f *Manager) {
		old, next := newFakeServer(t), newFakeServer(t)
		old.answer = func(context.Context, int) error { return errBad }
		d, server := f.moving(t, old)
		wantAcquire(t, d, 0, "no such setting")
		time.Sleep(time.Hour)
		wantAcquire(t, d, 0, "no such setting")
		old.wantTimes(0)
		wantState(t, d, status.Failed, status.BadConfig)
		server.Store(next)
		d.Change(Change{})
		wantAcquire(t, d, 0, "")
		d.Change(Change{})
		wantAcquire(t, d, 0, "")
		next.wantTimes(time.Hour, time.Hour)
	})
}

// TestChangeMidway replaces a dial that hangs; who waits gets what comes of the
// new one, which begins when the old one is gone.
func TestChangeMidway(t *testing.T) {
	withManager(t, func(t *testing.T, f *Manager) {
		old, next := newFakeServer(t), newFakeServer(t)
		old.answer = func(ctx context.Context, n int) error {
			defer time.Sleep(3 * s)
			return hang(ctx, n)
		}
		d, server := f.moving(t, old)
		time.AfterFunc(s, func() { server.Store(next); d.Change(Change{}) })
		wantAcquire(t, d, 4*s, "")
		next.wantTimes(4 * s)
	})
}

// TestChangeTooLate replaces a dial that minds no context and makes a connection,
// which no caller may get any more.
func TestChangeTooLate(t *testing.T) {
	withManager(t, func(t *testing.T, f *Manager) {
		old, next := newFakeServer(t), newFakeServer(t)
		old.answer = func(context.Context, int) error { time.Sleep(3 * s); return nil }
		old.slow = s
		d, server := f.moving(t, old)
		time.AfterFunc(s, func() { server.Store(next); d.Change(Change{}) })
		wantAcquire(t, d, 4*s, "")
		if c, _ := d.Acquire(t.Context()); c != next.last() || !old.last().closed {
			t.Error("acquired the connection of before")
		}
	})
}

func TestDisabled(t *testing.T) {
	withManager(t, func(t *testing.T, f *Manager) {
		k := newFakeServer(t)
		d, err := f.Add(Config{Name: "files", Classify: classify, Dial: k.dial, Disabled: true})
		if err != nil {
			t.Fatal(err)
		}
		wantAcquire(t, d, 0, "the server is disabled")
		wantState(t, d, status.Disabled, status.TurnedOff)
		d.Enable()
		wantState(t, d, status.Disconnected, status.NotStarted)
		wantAcquire(t, d, 0, "")
		d.Disable()
		wantAcquire(t, d, 0, "the server is disabled")
		synctest.Wait()
		if k.alive != 0 {
			t.Error("disabled, and it is still connected")
		}
		time.Sleep(time.Hour)
		d.Enable()
		synctest.Wait()
		wantState(t, d, status.Connected, status.Ready)
	})
}

// TestEndedUnseen acquires a connection that has ended an instant before.
func TestEndedUnseen(t *testing.T) {
	withManager(t, func(t *testing.T, f *Manager) {
		k := newFakeServer(t)
		k.slow = 2 * s
		d := f.add(t, k)
		for range 3 {
			wantAcquire(t, d, 0, "")
			time.Sleep(time.Hour)
			k.last().exit(errGone)
			wantAcquire(t, d, 2*s, "") // as soon as the old one is gone
			if hasEnded(k.last()) {
				t.Error("acquired what has ended")
			}
		}
	})
}

// TestForgotten has a server forget the session of a connection: the next dial takes it
// over, one after the other until one has made another handshake on it.
func TestForgotten(t *testing.T) {
	withManager(t, func(t *testing.T, f *Manager) {
		k := newFakeServer(t)
		k.answer = func(_ context.Context, n int) error {
			if n == 1 {
				return errDown
			}
			return nil
		}
		d := f.add(t, k)
		wantAcquire(t, d, 0, "")
		first := k.last()
		time.Sleep(time.Minute)
		first.forgot.Store(true)
		wantAcquire(t, d, 500*ms, "")
		wantState(t, d, status.Connected, status.Ready)
		if second := k.last(); second.after != Conn(first) || !first.taken || first.closed || !first.retired.Load() {
			t.Errorf("the second was dialled after %v; the first was taken over: %v, closed: %v", second.after, first.taken, first.closed)
		}
		if got := d.Status().Err; got == nil || got.Error() != "connection refused" {
			t.Error(got)
		}
		k.wantTimes(0, time.Minute, time.Minute+500*ms)
	})
}

// TestKeptIsClosed has the driver keep a connection for a dial that does not come about:
// it is closed with the server, or when that is disabled, or another.
func TestKeptIsClosed(t *testing.T) {
	for name, end := range map[string]func(*Driver){
		"closed":                       func(d *Driver) { d.Close() },
		"disabled":                     (*Driver).Disable,
		"another":                      func(d *Driver) { d.Change(Change{}) },
		"with another plugin":          func(d *Driver) { d.Change(Change{SameEntry: true}) },
		"another, and disabled":        func(d *Driver) { d.Change(Change{Disabled: true}) },
		"while it is dialled, closed":  func(d *Driver) { time.Sleep(500 * ms); synctest.Wait(); d.Close() },
		"while it is dialled, another": func(d *Driver) { time.Sleep(500 * ms); synctest.Wait(); d.Change(Change{}) },
	} {
		withManager(t, func(t *testing.T, f *Manager) {
			k := newFakeServer(t)
			k.answer = func(ctx context.Context, n int) error {
				switch n {
				case 1:
					return errDown
				case 2:
					return hang(ctx, n)
				}
				return nil
			}
			d := f.add(t, k)
			wantAcquire(t, d, 0, "")
			first := k.last()
			first.forgot.Store(true)
			acquire(d, 0)
			go acquire(d, 100*ms)
			time.Sleep(200 * ms)
			wantState(t, d, status.Reconnecting, status.Unreachable)
			end(d)
			time.Sleep(s)
			synctest.Wait()
			if !first.closed || first.left {
				t.Errorf("%s: closed %v, left %v", name, first.closed, first.left)
			}
			for _, c := range k.conns[1:] {
				if c.after != nil {
					t.Errorf("%s: a dial after it was given what it left", name)
				}
			}
		})
	}
}

// TestInherit tells which dials may go on with what the connection before has left, and
// how that was ended.
func TestInherit(t *testing.T) {
	for name, tt := range map[string]struct {
		end    func(d *Driver, c *conn)
		drains time.Duration
		left   bool
		after  bool
	}{
		"lost":                      {func(_ *Driver, c *conn) { c.exit(errGone) }, 0, false, true},
		"another plugin":            {func(d *Driver, _ *conn) { d.Change(Change{SameEntry: true}) }, 3 * s, true, true},
		"another entry":             {func(d *Driver, _ *conn) { d.Change(Change{}) }, 3 * s, false, false},
		"disabled":                  {func(d *Driver, _ *conn) { d.Disable(); d.Enable() }, 0, false, false},
		"lost, then another plugin": {func(d *Driver, c *conn) { c.exit(errGone); synctest.Wait(); d.Change(Change{SameEntry: true}) }, 0, false, true},
		"lost, then another entry":  {func(d *Driver, c *conn) { c.exit(errGone); synctest.Wait(); d.Change(Change{}) }, 0, false, false},
		"both, first the plugin":    {func(d *Driver, _ *conn) { d.Change(Change{SameEntry: true}); time.Sleep(s); d.Change(Change{}) }, 3 * s, false, false},
		"both, first the entry":     {func(d *Driver, _ *conn) { d.Change(Change{}); time.Sleep(s); d.Change(Change{SameEntry: true}) }, 3 * s, false, false},
		"disabled while it drains":  {func(d *Driver, _ *conn) { d.Change(Change{}); time.Sleep(s); d.Disable(); d.Enable() }, s, false, false},
		"switched off while it does": {func(d *Driver, _ *conn) {
			d.Change(Change{})
			time.Sleep(s)
			d.Change(Change{Disabled: true})
			d.Enable()
		}, s, false, false},
	} {
		withManager(t, func(t *testing.T, f *Manager) {
			k := newFakeServer(t)
			k.busy = 3 * s
			d := f.add(t, k)
			wantAcquire(t, d, 0, "")
			time.Sleep(time.Minute)
			first := k.last()
			tt.end(d, first)
			if _, err := acquireWithin(d, time.Minute); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			second := k.last()
			if !first.closed || !first.retired.Load() || first.left != tt.left || first.drained != tt.drains {
				t.Errorf("%s: closed %v, left %v, drained for %v", name, first.closed, first.left, first.drained)
			}
			if (second.after != nil) != tt.after || tt.after && second.after != Conn(first) {
				t.Errorf("%s: the next was dialled after %v", name, second.after)
			}
		})
	}
}

// TestDrainIsBounded has calls go on for ever over a connection that makes room for
// another, and a server closed meanwhile.
func TestDrainIsBounded(t *testing.T) {
	withManager(t, func(t *testing.T, f *Manager) {
		k := newFakeServer(t)
		k.busy = time.Hour
		d := f.add(t, k)
		wantAcquire(t, d, 0, "")
		d.Change(Change{})
		wantAcquire(t, d, DrainTime, "")
		d.Change(Change{SameEntry: true})
		time.AfterFunc(s, func() { d.Close() })
		wantAcquire(t, d, s, "the server is closed")
		synctest.Wait()
		if c := k.last(); c.drained != s || !c.closed || c.left {
			t.Errorf("drained for %v, closed %v, left %v", c.drained, c.closed, c.left)
		}
	})
}

func TestCloseMidway(t *testing.T) {
	withManager(t, func(t *testing.T, f *Manager) {
		k := newFakeServer(t)
		k.answer = hang
		d := f.add(t, k)
		time.AfterFunc(s, func() {
			for range 3 {
				go d.Close()
			}
			if err := d.Close(); err != nil || k.alive != 0 {
				t.Errorf("closed with %v, and %d alive", err, k.alive)
			}
		})
		wantAcquire(t, d, s, "the server is closed")
		wantAcquire(t, d, 0, "the server is closed")
		d.Start()
		d.Change(Change{})
		d.Enable()
		time.Sleep(time.Hour)
		k.wantTimes(0)
		wantState(t, d, status.Disconnected, status.Closed)
	})
}

// TestCloseAsItConnects has a dial that minds no context come back with a
// connection when it is not wanted any more.
func TestCloseAsItConnects(t *testing.T) {
	withManager(t, func(t *testing.T, f *Manager) {
		k := newFakeServer(t)
		k.answer = func(context.Context, int) error { time.Sleep(3 * s); return nil }
		k.close = errors.New("it had to be killed")
		d := f.add(t, k)
		d.Start()
		synctest.Wait()
		start := time.Now()
		for range 2 {
			if err := d.Close(); !errors.Is(err, k.close) || k.alive != 0 {
				t.Errorf("closed with %v, and %d alive", err, k.alive)
			}
		}
		if got := time.Since(start); got != 3*s {
			t.Errorf("close took %v", got)
		}
	})
}

// TestCloseWhileItWaits leaves no timer.
func TestCloseWhileItWaits(t *testing.T) {
	withManager(t, func(t *testing.T, f *Manager) {
		k := newFakeServer(t)
		k.answer = down
		d := f.add(t, k)
		wantAcquire(t, d, 0, "connection refused")
		synctest.Wait()
		timer := d.timer
		if err := d.Close(); err != nil || d.timer != nil || timer.Stop() {
			t.Errorf("closed with %v, and a timer", err)
		}
	})
}

func TestEndedContext(t *testing.T) {
	withManager(t, func(t *testing.T, f *Manager) {
		k := newFakeServer(t)
		d := f.add(t, k)
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errBad)
		if _, err := d.Acquire(ctx); !errors.Is(err, errBad) {
			t.Error(err)
		}
		synctest.Wait()
		k.wantTimes()
	})
}

func TestAcquireAllocatesNothing(t *testing.T) {
	f := New()
	defer f.Close()
	d := f.add(t, newFakeServer(t))
	ctx := t.Context()
	n := testing.AllocsPerRun(100, func() {
		if _, err := d.Acquire(ctx); err != nil {
			t.Error(err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations for a connection that stands", n)
	}
}

func BenchmarkAcquire(b *testing.B) {
	f := New()
	defer f.Close()
	d, err := f.Add(Config{Name: "files", Classify: classify, Dial: func(context.Context, Conn) (Conn, error) {
		k := &fakeServer{}
		k.alive = 1
		return &conn{fakeServer: k, done: make(chan struct{})}, nil
	}})
	if err != nil {
		b.Fatal(err)
	}
	ctx := b.Context()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			d.Acquire(ctx)
		}
	})
}

// A connection that is not used is asked for a sign of life, and one that gives none
// twice is lost and made again. No call, no answer and no message puts that off for good.
func TestSignsOfLife(t *testing.T) {
	withManager(t, func(t *testing.T, f *Manager) {
		k := newFakeServer(t)
		k.pulse = testPulse
		d := f.add(t, k)
		wantAcquire(t, d, 0, "")
		time.Sleep(150 * time.Second)
		synctest.Wait()
		k.wantPings(60*time.Second, 120*time.Second)

		last := time.Now()
		k.heard.Store(&last)
		time.Sleep(50 * time.Second) // at 200 s; it was heard at 150 s
		synctest.Wait()
		k.wantPings(60*time.Second, 120*time.Second)

		k.mu.Lock()
		k.ping = func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }
		k.mu.Unlock()
		time.Sleep(30*time.Second - time.Nanosecond) // asked at 210 s and 220 s
		synctest.Wait()
		wantState(t, d, status.Connected, status.Ready)
		k.wantPings(60*time.Second, 120*time.Second, 210*time.Second, 220*time.Second)
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		wantState(t, d, status.Reconnecting, status.Lost)
		if err := d.Status().Err; err == nil || err.Error() != "no sign of life for 1m20s" || !k.last().closed {
			t.Errorf("lost with %v", err)
		}
		k.mu.Lock()
		k.ping = nil
		k.mu.Unlock()
		time.Sleep(time.Second)
		synctest.Wait()
		wantState(t, d, status.Connected, status.Ready)
		k.wantTimes(0, 230*time.Second+500*time.Millisecond)
	})
}

// A server that no one watches is never asked, nor is one that waits for a sign-in, and a
// question ends with its connection.
func TestNotWatched(t *testing.T) {
	withManager(t, func(t *testing.T, f *Manager) {
		k := newFakeServer(t)
		d := f.add(t, k)
		wantAcquire(t, d, 0, "")
		time.Sleep(time.Hour)
		synctest.Wait()
		k.wantPings()

		k.pulse = testPulse
		d.Change(Change{})
		synctest.Wait()
		d.AuthRequired(errWho)
		time.Sleep(time.Hour)
		synctest.Wait()
		k.wantPings()

		k.mu.Lock()
		k.ping = func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }
		k.mu.Unlock()
		d.SignedIn()
		time.Sleep(65 * time.Second)
		synctest.Wait()
		if got := len(k.pinged()); got != 1 {
			t.Errorf("%d questions; want 1", got)
		}
		d.Disable()
		synctest.Wait()
		wantState(t, d, status.Disabled, status.TurnedOff)
	})
}

// A server whose session ended while no one called gets another at once.
func TestForgottenIsFoundOut(t *testing.T) {
	withManager(t, func(t *testing.T, f *Manager) {
		k := newFakeServer(t)
		k.pulse = testPulse
		d := f.add(t, k)
		wantAcquire(t, d, 0, "")
		k.last().forgot.Store(true)
		time.Sleep(time.Minute)
		synctest.Wait()
		wantState(t, d, status.Connected, status.Ready)
		k.wantTimes(0, time.Minute)
	})
}
