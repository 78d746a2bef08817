package manager

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wharf-mcp/wharf/host/status"
)

// TestHungServers starts a hundred servers that never answer, and then asks for
// one that does.
func TestHungServers(t *testing.T) {
	withManager(t, func(t *testing.T, f *Manager) {
		var hung []*fakeServer
		for range 100 {
			k := newFakeServer(t)
			k.answer = hang
			hung = append(hung, k)
			f.add(t, k).Start()
		}
		quick := f.add(t, newFakeServer(t))
		synctest.Wait()
		wantAcquire(t, quick, burst, "")
		time.Sleep(time.Minute)
		var times []time.Duration
		for _, k := range hung {
			times = append(times, k.times()...)
		}
		slices.Sort(times)
		if len(times) != 100 || times[15] != 0 || times[16] != burst || times[99] > 100/parallel*burst {
			t.Errorf("dialled at %v", times)
		}
	})
}

// TestRequestedFirst has a server that a call waits for overtake those that were
// started before it, whether it is started by the call or not.
func TestRequestedFirst(t *testing.T) {
	for _, started := range []bool{false, true} {
		withManager(t, func(t *testing.T, f *Manager) {
			var mu sync.Mutex
			var order []string
			var atOnce, most int
			add := func(name string) *Driver {
				d, err := f.Add(Config{Name: name, Classify: classify, Dial: func(ctx context.Context, _ Conn) (Conn, error) {
					mu.Lock()
					order = append(order, name)
					atOnce++
					most = max(most, atOnce)
					mu.Unlock()
					time.Sleep(s)
					mu.Lock()
					atOnce--
					mu.Unlock()
					return newFakeServer(t).dial(ctx, nil)
				}})
				if err != nil {
					t.Fatal(err)
				}
				return d
			}
			for i := range 50 {
				add(fmt.Sprint(i)).Start()
			}
			wanted := add("wanted")
			if started {
				wanted.Start()
			}
			synctest.Wait()
			wantAcquire(t, wanted, 2*s, "")
			mu.Lock()
			defer mu.Unlock()
			if at := slices.Index(order, "wanted"); at < parallel || at >= 2*parallel {
				t.Errorf("dialled as number %d", at)
			}
			if most != parallel {
				t.Errorf("%d dials at a time", most)
			}
		})
	}
}

// TestRetryOfACaller has a call wait for the next step of a backoff, and when its
// time has come, many servers that no call waits for are at the limiter.
func TestRetryOfACaller(t *testing.T) {
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
		time.Sleep(time.Minute)
		k.last().exit(errGone)
		time.AfterFunc(ms, func() {
			for range 100 {
				hung := newFakeServer(t)
				hung.answer = hang
				f.add(t, hung).Start()
			}
		})
		wantAcquire(t, d, burst+ms, "")
	})
}

// TestGate has passes overtake each other.
func TestGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g dialLimiter
		passes := make([]ticket, parallel)
		for i := range passes {
			g.join(&passes[i])
		}
		retry, fresh, second, urgent := &ticket{retry: true}, &ticket{}, &ticket{}, &ticket{urgent: true}
		for i, p := range []*ticket{retry, fresh, second, urgent} {
			g.join(p)
			defer g.leave(p)
			if g.inside != parallel || len(g.queue) != i+1 {
				t.Errorf("%d inside, %d wait", g.inside, len(g.queue))
			}
		}
		for i, want := range []*ticket{urgent, fresh, second, retry} {
			if want.burst != nil {
				t.Errorf("number %d was let in too early", i)
			}
			g.leave(&passes[i])
			g.leave(&passes[i])
			if want.burst == nil {
				t.Errorf("number %d was not let in", i)
			}
		}
		ended, cancel := context.WithCancelCause(t.Context())
		cancel(errBad)
		for range 100 {
			if err := fresh.wait(ended); !errors.Is(err, errBad) {
				t.Fatal(err)
			}
		}
		for i := range passes {
			g.leave(&passes[i])
		}
	})
}

// TestRetriesTogether has a hundred servers fall over all the time, which may
// start twenty a minute, while one that has never failed and one that is wanted
// start at once.
func TestRetriesTogether(t *testing.T) {
	withManager(t, func(t *testing.T, f *Manager) {
		var docks []*fakeServer
		var wanted *Driver
		for range 100 {
			k := newFakeServer(t)
			k.answer = down
			docks = append(docks, k)
			wanted = f.add(t, k)
			wanted.Start()
		}
		time.Sleep(30 * s)
		wantAcquire(t, f.add(t, newFakeServer(t)), 0, "")
		wantAcquire(t, wanted, 0, "connection refused")
		time.Sleep(time.Hour)
		var times []time.Duration
		for _, k := range docks {
			times = append(times, k.times()[1:]...)
		}
		slices.Sort(times)
		for i := range len(times) - maxRetries - 1 { // the one that was wanted is one more
			if window := times[i+maxRetries+1] - times[i]; window < retryWindow {
				t.Fatalf("%d retries in %v, from %v", maxRetries+2, window, times[i])
			}
		}
		if len(times) < 60*maxRetries {
			t.Errorf("%d retries in an hour", len(times))
		}
	})
}

func TestFleetClose(t *testing.T) {
	withManager(t, func(t *testing.T, f *Manager) {
		news := f.Registry().Subscribe()
		kinds := map[string]func(context.Context, int) error{"well": nil, "hangs": hang, "down": down}
		for name, answer := range kinds {
			k := newFakeServer(t)
			k.answer, k.slow = answer, s
			if name == "well" {
				k.close = errors.New("it had to be killed")
			}
			d, err := f.Add(Config{Name: name, Classify: classify, Dial: k.dial})
			if err != nil {
				t.Fatal(err)
			}
			d.Start()
		}
		synctest.Wait()
		start := time.Now()
		if err := f.Close(); err == nil || err.Error() != "it had to be killed" || time.Since(start) != s {
			t.Errorf("closed in %v with %v", time.Since(start), err)
		}
		if err := f.Close(); err == nil {
			t.Error("the second close says something else")
		}
		if _, err := f.Add(Config{}); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
		for range kinds {
			if n, err := news.Next(t.Context()); err != nil || n.State != status.Disconnected || n.Reason != status.Closed {
				t.Error(n, err)
			}
		}
		if _, err := news.Next(t.Context()); !errors.Is(err, ErrRegistryClosed) {
			t.Error(err)
		}
	})
}

func TestRemove(t *testing.T) {
	withManager(t, func(t *testing.T, f *Manager) {
		k := newFakeServer(t)
		d := f.add(t, k)
		wantAcquire(t, d, 0, "")
		d.Report(func(f *status.Status) { f.Tools = 3 })
		if all := f.Registry().Statuses(); len(all) != 1 || all[0].State != status.Connected || all[0].Tools != 3 {
			t.Errorf("%+v", all)
		}
		if err := f.Remove(d); err != nil || k.alive != 0 || len(f.Registry().Statuses()) != 0 {
			t.Errorf("removed with %v; %d alive", err, k.alive)
		}
		d.Report(func(f *status.Status) { f.Tools = 4 })
		wantAcquire(t, d, 0, "the server is closed")
	})
}

// TestHistory reads every change, in order, from before the start.
func TestHistory(t *testing.T) {
	withManager(t, func(t *testing.T, f *Manager) {
		news := f.Registry().Subscribe()
		var states []status.State
		go func() {
			for n, err := news.Next(t.Context()); err == nil; n, err = news.Next(t.Context()) {
				states = append(states, n.State)
			}
		}()
		k := newFakeServer(t)
		k.answer = func(context.Context, int) error { time.Sleep(s); return nil }
		k.slow = s
		d := f.add(t, k)
		synctest.Wait()
		wantAcquire(t, d, s, "")
		synctest.Wait()
		k.last().exit(errGone)
		time.Sleep(10 * s)
		f.Close()
		synctest.Wait()
		want := []status.State{status.Disconnected, status.Connecting, status.Connected, status.Reconnecting, status.Reconnecting, status.Connected, status.Closing, status.Disconnected}
		if !slices.Equal(states, want) {
			t.Errorf("%v; want %v", states, want)
		}
	})
}

// TestStorm lets everything happen to ten servers at once, from many goroutines:
// no server is ever two, every Acquire ends, and at the end nothing is left.
func TestStorm(t *testing.T) {
	for seed := range uint64(6) {
		withManager(t, func(t *testing.T, f *Manager) {
			f.random = rand.Float64
			var acquired atomic.Int32
			var wg sync.WaitGroup
			f.Registry().Subscribe() // which is never read
			for i := range uint64(10) {
				k := newFakeServer(t)
				k.answer = unreliable(seed, i)
				d := f.add(t, k)
				for j := range uint64(8) {
					wg.Go(func() { use(d, k, rand.New(rand.NewPCG(seed<<8|i, j)), &acquired) })
				}
			}
			time.Sleep(10 * time.Minute)
			f.Close()
			wg.Wait()
			if acquired.Load() == 0 {
				t.Error("no call ever had a connection")
			}
			if len(f.dials.queue) != 0 || f.dials.inside != 0 || f.dials.timer != nil {
				t.Errorf("%d wait, %d are inside, and a timer: %v", len(f.dials.queue), f.dials.inside, f.dials.timer != nil)
			}
			for d := range f.drivers {
				if d.timer != nil || d.acquisition != nil || d.Current() != nil || d.open {
					t.Errorf("left: timer %v, round %v, connection %v", d.timer, d.acquisition, d.Current())
				}
			}
		})
	}
}

// unreliable returns what the dials of a server come to that is rarely the same twice.
func unreliable(seed, server uint64) func(context.Context, int) error {
	return func(ctx context.Context, n int) error {
		random := rand.New(rand.NewPCG(seed, server<<16|uint64(n)))
		select {
		case <-time.After(time.Duration(random.Int64N(int64(3 * s)))):
		case <-ctx.Done():
			return ctx.Err()
		}
		return []error{nil, nil, nil, nil, nil, nil, errDown, errDown, errWho, errBad}[random.IntN(10)]
	}
}

// use does something to a server again and again, until that is closed.
func use(d *Driver, k *fakeServer, random *rand.Rand, acquired *atomic.Int32) {
	for {
		time.Sleep(time.Duration(random.Int64N(int64(10 * s))))
		switch random.IntN(16) {
		case 0:
			d.Change(Change{SameEntry: random.IntN(2) == 0, Disabled: random.IntN(4) == 0})
		case 1:
			d.Disable()
		case 2, 3:
			d.Enable()
		case 4:
			d.SignedIn()
		case 5:
			d.AuthRequired(errWho)
		case 6:
			d.Report(func(f *status.Status) { f.Tools++ })
		default:
			c, err := acquireWithin(d, time.Duration(random.Int64N(int64(30*s))))
			var r *UnavailableError
			switch {
			case errors.As(err, &r) && r.Reason == status.Closed:
				return
			case err != nil:
			case random.IntN(3) == 0:
				c.(*conn).forgot.Store(true)
			case random.IntN(3) == 0:
				c.(*conn).exit(errGone)
			}
			if err == nil {
				acquired.Add(1)
			}
		}
	}
}
