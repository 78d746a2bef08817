package session

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// TestRetire has a link go out of use while a call is in flight on it: that call
// goes on, the next one has another connection.
func TestRetire(t *testing.T) {
	bubble(t, func(t *testing.T, dock func(...server) *dock) {
		d := dock(oldServer().with("tools/call", after(time.Second, answer(echoResult))), oldServer())
		s := d.open()
		old := s.Link()
		done := make(chan error, 1)
		go func() { _, err := call(t, s); done <- err }()
		synctest.Wait()
		if err := old.Retire(); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Errorf("the call in flight: %v", err)
		}
		if _, err := call(t, s); err != nil || d.started() != 2 || s.Link() == old {
			t.Errorf("%d processes, %v", d.started(), err)
		}
	})
}

// TestDrain has a link make room for another one while a call is in flight on it:
// its Close waits for that call, though not for ever, and not for streams.
func TestDrain(t *testing.T) {
	for name, tt := range map[string]struct {
		call   act
		lasts  time.Duration
		answer bool
	}{
		"answered": {after(time.Second, answer(echoResult)), time.Second, true},
		"silent":   {silent, drainTime, false},
	} {
		bubble(t, func(t *testing.T, dock func(...server) *dock) {
			d := dock(hub(mcp.Modern).with("tools/call", tt.call), hub(mcp.Modern))
			s := d.open()
			closed, acquire := make(chan struct{}), s.cfg.Acquire
			s.cfg.Acquire = func(ctx context.Context, forgotten *Link) error {
				<-closed // as a keeper has it: there are never two connections
				return acquire(ctx, forgotten)
			}
			u := subscribe(t, s, wanted3)
			old := s.Link()
			done := make(chan error, 1)
			go func() { _, err := call(t, s); done <- err }()
			synctest.Wait()
			began := time.Now()
			old.Drain()
			if err := errors.Join(old.Retire(), old.Close()); err != nil {
				t.Error(err)
			}
			if took := time.Since(began); took != tt.lasts {
				t.Errorf("%s: closed after %v, want %v", name, took, tt.lasts)
			}
			close(closed)
			if err := <-done; (err == nil) != tt.answer {
				t.Errorf("%s: the call in flight: %v", name, err)
			}
			time.Sleep(time.Minute) // of the bubble's clock
			if got := next(u); len(got) == 0 || d.started() != 2 {
				t.Errorf("%s: the subscription is told %v, %d processes", name, got, d.started())
			}
		})
	}
}

// TestRetireDuringDrain has a link retired while its Close waits for a call: whoever
// reloads a server cannot know how far its keeper has come.
func TestRetireDuringDrain(t *testing.T) {
	bubble(t, func(t *testing.T, dock func(...server) *dock) {
		s := dock(oldServer().with("tools/call", after(time.Second, answer(echoResult)))).open()
		done, closed := make(chan error, 1), make(chan error, 1)
		go func() { _, err := call(t, s); done <- err }()
		synctest.Wait()
		old := s.Link()
		old.Drain()
		go func() { closed <- old.Close() }()
		synctest.Wait()
		if err := old.Retire(); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Errorf("the call in flight: %v", err)
		}
		if err := <-closed; err != nil || !old.conn.ended() {
			t.Errorf("left behind, %v", err)
		}
	})
}

// TestDrainOfASilentServer has a server that never answers the probe: nobody waits for
// that any more.
func TestDrainOfASilentServer(t *testing.T) {
	bubble(t, func(t *testing.T, dock func(...server) *dock) {
		s := dock(oldServer().with(probed, silent)).open()
		began := time.Now()
		s.Link().Drain()
		if err := s.Link().Close(); err != nil || time.Since(began) > 0 {
			t.Errorf("closed after %v, %v", time.Since(began), err)
		}
	})
}

// lingering is a transport that takes its time to shut down, and reads on meanwhile.
type lingering struct {
	Transport
	begun, release chan struct{}
}

func (l *lingering) Shutdown(ctx context.Context) error {
	select {
	case l.begun <- struct{}{}:
		<-l.release
	default:
	}
	return l.Transport.Shutdown(ctx)
}

// TestCallDuringDrain has a call come upon a link and be held up, until that has no
// calls any more and is being shut down: it goes out on the next one.
func TestCallDuringDrain(t *testing.T) {
	bubble(t, func(t *testing.T, dock func(...server) *dock) {
		const odd = `{"name":"echo","inputSchema":{"type":"object","properties":{"x":{"pattern":"("}}}}`
		d := dock(oldServer().with("tools/call", silent).with("tools/list", answer(`{"tools":[`+odd+`]}`)), oldServer())
		first := &lingering{begun: make(chan struct{}, 1), release: make(chan struct{})}
		held, on := make(chan struct{}), make(chan struct{})
		s := d.open(func(c *Config) {
			c.Warn = func(string) { close(held); <-on } // said between the choice of a link and the message
			c.Dial = func(ctx context.Context, h rpc.Handler) (*Conn, error) {
				conn, err := d.dial(ctx, h)
				if d.started() == 1 {
					first.Transport, conn.Transport = conn.Transport, first
				}
				return conn, err
			}
		})
		if _, err := s.ListTools(t.Context()); err != nil {
			t.Fatal(err)
		}
		old, done, closed := s.Link(), make(chan error, 1), make(chan error, 1)
		go func() {
			_, err := s.CallTool(t.Context(), "echo", map[string]any{"x": "y"})
			done <- err
		}()
		<-held
		old.Drain()
		go func() { closed <- old.Close() }()
		<-first.begun
		close(on)
		synctest.Wait()
		close(first.release)
		if err := errors.Join(<-closed, <-done); err != nil || d.started() != 2 {
			t.Errorf("%d processes, %v", d.started(), err)
		}
	})
}

// TestRetireOfAPredecessor retires a link whose connection the next one goes on with.
func TestRetireOfAPredecessor(t *testing.T) {
	on := oldSite()
	on["tools/call"] = ofEpoch(1, gone, ok(echoResult))
	visit(t, on, func(t *testing.T, s *site) {
		session := s.open()
		old := session.Link()
		if _, err := call(t, session); err != nil || session.Link() == old || s.dials != 1 {
			t.Fatalf("%d dials, %v", s.dials, err)
		}
		if err := old.Retire(); err != nil || session.Link().conn.ended() {
			t.Errorf("the connection is another's: %v", err)
		}
	})
}

// TestQuitEndsDrain has a session end while its link drains.
func TestQuitEndsDrain(t *testing.T) {
	bubble(t, func(t *testing.T, dock func(...server) *dock) {
		s := dock(oldServer().with("tools/call", silent)).open()
		done := make(chan error, 1)
		go func() { _, err := call(t, s); done <- err }()
		synctest.Wait()
		began, old := time.Now(), s.Link()
		old.Drain()
		time.AfterFunc(time.Second, s.Quit)
		if err := old.Close(); err != nil || time.Since(began) != time.Second {
			t.Errorf("closed after %v, %v", time.Since(began), err)
		}
		if err := <-done; !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	})
}

// TestLeftLink holds that a link of a forgotten session is closed without its
// connection, and that nobody makes use of that once it is retired.
func TestLeftLink(t *testing.T) {
	on := oldSite()
	on["tools/call"] = ofEpoch(1, gone, ok(echoResult))
	visit(t, on, func(t *testing.T, s *site) {
		session := s.open()
		session.cfg.Acquire = func(context.Context, *Link) error { return errors.New("not now") }
		if _, err := call(t, session); err == nil {
			t.Fatal("no error")
		}
		k := session.Link()
		if err := k.Close(); err != nil || k.conn.ended() {
			t.Errorf("closed with its connection, %v", err)
		}
		if err := k.Retire(); err != nil || !k.conn.ended() {
			t.Errorf("left behind, %v", err)
		}
		if _, err := session.Connect(t.Context(), nil); err != nil || s.dials != 2 {
			t.Errorf("%d dials, %v", s.dials, err)
		}
	})
}

// TestUnwantedLink holds that no call is given to a link that its keeper wants no more,
// before it has got to say so: it may have come just now.
func TestUnwantedLink(t *testing.T) {
	bubble(t, func(t *testing.T, dock func(...server) *dock) {
		cfg := dock(oldServer()).config()
		later := errors.New("another is being made")
		cfg.Acquire = func(context.Context, *Link) error { return later }
		s, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		ctx, drop := context.WithCancel(t.Context())
		if _, err := s.Connect(ctx, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := call(t, s); err != nil {
			t.Error(err)
		}
		drop()
		if _, err := call(t, s); !errors.Is(err, later) {
			t.Errorf("called over it: %v", err)
		}
	})
}

// TestForget has a session speak to what may be another server.
func TestForget(t *testing.T) {
	bubble(t, func(t *testing.T, dock func(...server) *dock) {
		d := dock(oldServer(), newServer())
		s := d.open()
		s.Forget()
		s.Link().Retire()
		if _, err := call(t, s); err != nil || s.Info().Era != mcp.Modern {
			t.Errorf("%s, %v", s.Info().Era, err)
		}
	})
}

// TestConnectAfterClose leaves nothing behind, and neither does a Close before any
// connection.
func TestConnectAfterClose(t *testing.T) {
	bubble(t, func(t *testing.T, dock func(...server) *dock) {
		d := dock(oldServer())
		s, err := New(d.config())
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil || s.Link() != nil || s.Info().Protocol != "" {
			t.Error(err)
		}
		if _, err := s.Connect(t.Context(), nil); !errors.Is(err, ErrClosed) || d.started() != 0 {
			t.Errorf("%d processes, %v", d.started(), err)
		}
	})
}

func TestReachAllocatesNothing(t *testing.T) {
	s, _ := newEcho(t, echoResult)
	if n := testing.AllocsPerRun(100, func() { s.reach(t.Context()) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
