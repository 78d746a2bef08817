package rpc

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wharf-mcp/wharf/abi"
)

// inline is I/O of a test: it hangs until it is stopped, unless run says what it
// does instead.
type inline struct {
	run     func()
	stopped chan struct{}
	runs    atomic.Int32
	stops   atomic.Int32
}

func newInline(run func()) *inline { return &inline{run: run, stopped: make(chan struct{})} }

func (e *inline) Run() {
	e.runs.Add(1)
	if e.run != nil {
		e.run()
		return
	}
	<-e.stopped
}

func (e *inline) Stop() {
	if e.stops.Add(1) == 1 {
		close(e.stopped)
	}
}

func (e *inline) want(t *testing.T, runs, stops int32) {
	t.Helper()
	if r, s := e.runs.Load(), e.stops.Load(); r != runs || s != stops {
		t.Errorf("it was run %d times and stopped %d times, expected %d and %d", r, s, runs, stops)
	}
}

// carries is a link that has callers carry what their messages leave to do.
type carries struct {
	peer    *Peer
	inline  *inline
	then    func(ctx context.Context) error // at the end of Send
	refused bool                            // no caller took it
	left    []uint32
}

func newCarries(c Config, run func(*carries)) *carries {
	l := &carries{}
	c.Link = l
	l.peer = NewPeer(c)
	l.inline = newInline(nil)
	if run != nil {
		l.inline.run = func() { run(l) }
	}
	return l
}

func (l *carries) Send(ctx context.Context, m *Message) error {
	defer m.Free()
	if !m.Urgent() {
		l.refused = !l.peer.OfferInline(m.Exchange(), l.inline)
	}
	if l.then != nil {
		return l.then(ctx)
	}
	return nil
}

func (l *carries) Cancel(exchange uint32) bool {
	l.left = append(l.left, exchange)
	return true
}

func (l *carries) answer() abi.Verdict {
	return l.peer.Deliver(1, fmt.Append(nil, `{"jsonrpc":"2.0","id":1,"result":1}`), false)
}

func TestACallerCarriesItsErrand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newCarries(Config{Timeout: time.Second}, func(l *carries) {
			time.Sleep(time.Second / 2)
			if l.peer.OfferInline(1, newInline(nil)) {
				t.Error("a second inline was taken while the first one runs")
			}
			l.answer()
		})
		defer l.peer.Close(nil)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if result, err := l.peer.Call(ctx, &Call{}, nil); string(result) != "1" || err != nil {
			t.Errorf("%s, %v", result, err)
		}
		l.inline.want(t, 1, 0)
		if l.peer.OfferInline(1, newInline(nil)) {
			t.Error("an inline was taken after the call")
		}
	})
}

// TestErrandsFollowEachOther: what is left when Run returns is for others to do,
// and may lead to more I/O.
func TestErrandsFollowEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newCarries(Config{Timeout: time.Second}, func(*carries) {})
		defer l.peer.Close(nil)
		second := newInline(func() { l.answer() })
		go func() {
			synctest.Wait()
			if !l.peer.OfferInline(1, second) {
				t.Error("no caller takes a second one")
			}
		}()
		if result, err := l.peer.Call(t.Context(), &Call{}, nil); string(result) != "1" || err != nil {
			t.Errorf("%s, %v", result, err)
		}
		l.inline.want(t, 1, 0)
		second.want(t, 1, 0)
	})
}

// TestACallerLeavesItsInlineIO: whatever ends a call ends the wait for the I/O
// that hangs, at that moment.
func TestACallerLeavesItsInlineIO(t *testing.T) {
	for name, tt := range map[string]struct {
		config Config
		end    func(*Peer, context.CancelFunc)
		want   error
	}{
		"timeout": {Config{Timeout: 2 * time.Second}, nil, ErrTimeout},
		"caller":  {Config{}, func(_ *Peer, cancel context.CancelFunc) { cancel() }, context.Canceled},
		"close":   {Config{}, func(p *Peer, _ context.CancelFunc) { p.Close(nil) }, ErrClosed},
		"failed":  {Config{}, func(p *Peer, _ context.CancelFunc) { p.Failed(1, errBroken) }, errBroken},
		"done":    {Config{}, func(p *Peer, _ context.CancelFunc) { p.Done(1) }, ErrNoResponse},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newCarries(tt.config, nil)
				defer l.peer.Close(nil)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if tt.end != nil {
					time.AfterFunc(2*time.Second, func() { tt.end(l.peer, cancel) })
				}
				start := time.Now()
				if _, err := l.peer.Call(ctx, &Call{}, nil); !errors.Is(err, tt.want) {
					t.Errorf("got %v, want %v", err, tt.want)
				}
				if took := time.Since(start); took != 2*time.Second {
					t.Errorf("it took %v", took)
				}
				l.inline.want(t, 1, 1)
				if told := len(l.left) == 1; told != (name == "timeout" || name == "caller") {
					t.Errorf("the link was told of %v", l.left)
				}
			})
		})
	}
}

// TestAnErrandIsNeverLost: one that was taken is run, also if its call ends
// before its caller comes to it.
func TestAnErrandIsNeverLost(t *testing.T) {
	for name, then := range map[string]func(*carries) error{
		"refused":  func(*carries) error { return errBroken },
		"too late": func(*carries) error { time.Sleep(2 * time.Second); return nil },
		"answered": func(l *carries) error { l.answer(); return errBroken },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newCarries(Config{Timeout: time.Second}, nil)
				defer l.peer.Close(nil)
				l.then = func(context.Context) error { return then(l) }
				if _, err := l.peer.Call(t.Context(), &Call{}, nil); err == nil {
					t.Error("the call has an answer")
				}
				if l.inline.runs.Load() != 1 || l.inline.stops.Load() == 0 {
					l.inline.want(t, 1, 1)
				}
			})
		})
	}
}

// TestACallerThatHasGone: a context that was done before the I/O begins.
func TestACallerThatHasGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newCarries(Config{}, nil)
		defer l.peer.Close(nil)
		ctx, cancel := context.WithCancel(t.Context())
		l.then = func(context.Context) error { cancel(); return nil }
		if _, err := l.peer.Call(ctx, &Call{}, nil); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		l.inline.want(t, 1, 1)
	})
}

func TestInlineIONeedsACaller(t *testing.T) {
	l := newCarries(Config{}, nil)
	defer l.peer.Close(nil)
	if err := l.peer.Notify(t.Context(), "notifications/initialized", nil); err != nil || !l.refused {
		t.Errorf("%v; refused: %v", err, l.refused)
	}
	l.inline.want(t, 0, 0)
}

// TestHammerErrands has calls that are answered and left at the same moment.
func TestHammerErrands(t *testing.T) {
	for range 500 {
		l := newCarries(Config{Timeout: time.Minute}, nil)
		ctx, cancel := context.WithCancel(t.Context())
		l.inline.run = func() {
			go cancel()
			go l.peer.Failed(1, errBroken)
			l.answer()
		}
		result, err := l.peer.Call(ctx, &Call{}, nil)
		if (string(result) == "1") == (err != nil) {
			t.Fatalf("%s, %v", result, err)
		}
		l.peer.Close(nil)
		l.inline.want(t, 1, l.inline.stops.Load())
	}
}

// TestHeldMessages: a message goes back when the last who has it frees it.
func TestHeldMessages(t *testing.T) {
	m := &Message{payload: []byte("x")}
	m.Hold()
	m.Hold()
	for n := range 3 {
		if m.payload == nil || len(m.payload) != 1 {
			t.Errorf("it is gone after %d of 3", n)
		}
		m.Free()
	}
	if len(m.payload) != 0 {
		t.Error("no caller has it, and it is still there")
	}
}
