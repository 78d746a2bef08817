package session

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// TestDrain has a connection make room for another one while a call is in flight on
// it: Drain waits for that call, though not for ever, and not for streams. The next
// call has the other connection.
func TestDrain(t *testing.T) {
	for name, tt := range map[string]struct {
		call   act
		lasts  time.Duration
		answer bool
	}{
		"answered": {after(time.Second, answer(echoResult)), time.Second, true},
		"silent":   {silent, 10 * time.Second, false},
	} {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			d := launcher(hub(mcp.Modern).with("tools/call", tt.call), hub(mcp.Modern))
			s := d.open()
			u := subscribe(t, s, wanted3)
			done := make(chan error, 1)
			go func() { _, err := call(t, s); done <- err }()
			synctest.Wait()
			began := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			if err := ownerOf(s).replace(ctx, false); err != nil {
				t.Error(err)
			}
			if took := time.Since(began); took != tt.lasts {
				t.Errorf("%s: closed after %v, want %v", name, took, tt.lasts)
			}
			if err := <-done; (err == nil) != tt.answer {
				t.Errorf("%s: the call in flight: %v", name, err)
			}
			time.Sleep(time.Minute) // of the bubble's clock
			if got := next(u); len(got) == 0 || d.started() != 2 {
				t.Errorf("%s: the subscription is told %v, %d processes", name, got, d.started())
			}
			if _, err := call(t, s); err != nil || d.started() != 2 {
				t.Errorf("%s: %d processes, %v", name, d.started(), err)
			}
		})
	}
}

// TestDrainOfASilentServer has a server that never answers the probe: no caller waits for
// that any more.
func TestDrainOfASilentServer(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		s := launcher(oldServer().with(probed, silent)).open()
		began := time.Now()
		if err := ownerOf(s).replace(t.Context(), false); err != nil || time.Since(began) > 0 {
			t.Errorf("closed after %v, %v", time.Since(began), err)
		}
	})
}

// TestHeardDuringACall holds that a connection has just been heard of while a call is in
// flight on it, so that no sign of life is asked for.
func TestHeardDuringACall(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		s := launcher(oldServer().with("tools/call", after(time.Hour, answer(echoResult)))).open(func(c *setup) { c.Timeout = -1 })
		c := ownerOf(s).Current()
		done := make(chan error, 1)
		go func() { _, err := call(t, s); done <- err }()
		time.Sleep(time.Hour / 2)
		if ago := time.Since(c.Heard()); ago != 0 {
			t.Errorf("in the call: heard %v ago", ago)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		if ago := time.Since(c.Heard()); ago != time.Minute {
			t.Errorf("a minute after it: heard %v ago", ago)
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

// TestCallDuringDrain has a call get a connection and be held up, until that has no
// calls any more and is being shut down: it goes out on the next one.
func TestCallDuringDrain(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		const odd = `{"name":"echo","inputSchema":{"type":"object","properties":{"x":{"pattern":"("}}}}`
		d := launcher(oldServer().with("tools/call", silent).with("tools/list", answer(`{"tools":[`+odd+`]}`)), oldServer())
		first := &lingering{begun: make(chan struct{}, 1), release: make(chan struct{})}
		held, on := make(chan struct{}), make(chan struct{})
		s := d.open(func(c *setup) {
			c.Warn = func(string) { close(held); <-on } // said between the choice of a connection and the message
			c.Dial = func(ctx context.Context, h rpc.Handler) (*Dialed, error) {
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
		done, closed := make(chan error, 1), make(chan error, 1)
		go func() {
			_, err := s.CallTool(t.Context(), "echo", map[string]any{"x": "y"})
			done <- err
		}()
		<-held
		go func() { closed <- ownerOf(s).replace(t.Context(), false) }()
		<-first.begun
		close(on)
		synctest.Wait()
		close(first.release)
		if err := errors.Join(<-closed, <-done); err != nil || d.started() != 2 {
			t.Errorf("%d processes, %v", d.started(), err)
		}
	})
}

// TestForget has a session speak to what may be another server.
func TestForget(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		d := launcher(oldServer(), newServer())
		s := d.open()
		s.Forget(true)
		if err := ownerOf(s).replace(t.Context(), false); err != nil {
			t.Error(err)
		}
		if _, err := call(t, s); err != nil || s.Info().Era != mcp.Modern {
			t.Errorf("%s, %v", s.Info().Era, err)
		}
	})
}

// TestForgetDuringConnect has a session told to forget what it knows while a Connect is
// under way that is wanted no more: what that finds out is about the server of before.
func TestForgetDuringConnect(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		var s *Session
		ctx, cancel := context.WithCancel(t.Context())
		logs := strings.Replace(initializeResult(mcp.LatestLegacy), `"tools":{}`, `"logging":{}`, 1)
		d := launcher(oldServer().with("initialize", answer(logs)).with("logging/setLevel", func(*process, message) { s.Forget(true); cancel() }), newServer())
		s, err := d.config().session()
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		s.level.Store(new(mcp.Level)) // so that it is told after the handshake
		c, err := s.Connect(ctx, &ownerOf(s).options, nil)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		c.Close(false)
		if _, err := call(t, s); err != nil || s.Info().Era != mcp.Modern {
			t.Errorf("%s, %v", s.Info().Era, err)
		}
	})
}

// TestConnectAfterClose leaves nothing behind, and neither does a Close before any
// connection.
func TestConnectAfterClose(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		d := launcher(oldServer())
		s, err := d.config().session()
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil || s.current() != nil || s.Info().Protocol != "" {
			t.Error(err)
		}
		if _, err := s.Connect(t.Context(), &ownerOf(s).options, nil); !errors.Is(err, ErrClosed) || d.started() != 0 {
			t.Errorf("%d processes, %v", d.started(), err)
		}
	})
}

func TestAcquireAllocatesNothing(t *testing.T) {
	s, _ := newEcho(t, echoResult)
	if n := testing.AllocsPerRun(100, func() { s.acquire(t.Context()) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
