package host_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/status"
	"github.com/wharf-mcp/wharf/internal/testenv"
)

// brisk is a policy that has all that the usual one has, and little patience.
var brisk = config.Reconnect{
	Backoff: []time.Duration{time.Millisecond, time.Millisecond}, Slow: time.Hour, SlowMax: time.Hour, Failures: 5,
}

// watch returns the watch of a host, which the test ends.
func watch(t *testing.T, h *host.Host) status.Watch {
	t.Helper()
	w := h.Watch()
	t.Cleanup(w.Close)
	return w
}

// until reads news of a server until it is in that state. A reader may miss states
// that pass quickly.
func until(t *testing.T, w status.Watch, name string, want status.State) status.Update {
	t.Helper()
	for {
		n, err := w.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case n.Name != name:
		case n.State == want:
			return n
		case want == status.Connected && time.Until(n.Next) > time.Minute:
			t.Fatalf("%s is not connected, and the next dial is far away: %+v", name, n)
		}
	}
}

// begun reads news of a server until it is, or was, on its way.
func begun(t *testing.T, w status.Watch, name string) {
	t.Helper()
	for {
		n, err := w.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if n.Name == name && n.State != status.Disconnected {
			return
		}
	}
}

// add adds a server.
func add(t *testing.T, h *host.Host, entry host.Server) *host.Session {
	t.Helper()
	s, err := h.Add(entry)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// What is added is not started before a caller wants it, and a watch from before
// tells of each step.
func TestAdd(t *testing.T) {
	h := newHost(t, host.Config{})
	w := watch(t, h)
	s := add(t, h, server("modern"))
	if n := until(t, w, "modern", status.Disconnected); n.Reason != status.NotStarted || n.Attempt != 0 || s.Info().Protocol != "" {
		t.Errorf("%+v, %+v", n, s.Info())
	}
	s.Start()
	n := until(t, w, "modern", status.Connected)
	if n.Era != "modern" || n.Protocol != "2026-07-28" || n.Transport != "stdio" || n.Attempt != 1 || n.Err != nil {
		t.Errorf("%+v", n)
	}
	if _, err := s.ListTools(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	if now := s.Status(); now.Tools != len(tools) || now.Stale || now.Latency <= 0 {
		t.Errorf("%+v", now)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for !n.Gone {
		n = until(t, w, "modern", status.Disconnected)
	}
	if n.Reason != status.Closed || len(h.Servers()) != 0 {
		t.Errorf("%+v, %v", n, h.Servers())
	}
	h.Close()
	if _, err := w.Next(t.Context()); !errors.Is(err, host.ErrClosed) {
		t.Error(err)
	}
}

// Whatever a connection is lost to, it is made again without anybody asking. The
// tools of before are known to be of before until they are listed again.
func TestReconnect(t *testing.T) {
	address, cut := cuttableServer(t)
	gate := newGate()
	files := pluginFile("pigeon", testenv.Plugin(t, socketPackage))
	files["fragile"] = config.Plugin{Name: "fragile", File: filepath.Join(t.TempDir(), "fragile.wasm")}
	replaceFile(t, files["fragile"].File, trapping())
	trapped := func(s *host.Session) error {
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-gate.called; cancel() }()
		if _, err := s.CallTool(ctx, "gate", nil); !errors.Is(err, context.Canceled) {
			return fmt.Errorf("the call that was left ended with %v", err)
		}
		return nil
	}
	for name, c := range map[string]struct {
		entry host.Server
		lose  func(*host.Session) error
	}{
		"process exit": {server("legacy"), die},
		"guest trap":   {host.Server{Transport: "fragile", URL: serve(t, &site{tools: map[string]answer{"gate": gate.answer}})}, trapped},
		"socket loss":  {host.Server{Transport: "pigeon", Address: address}, cut},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, host.Config{Reconnect: brisk, Files: files})
			w := watch(t, h)
			c.entry.Name = "other"
			s := connect(t, h, c.entry)
			if _, err := s.ListTools(t.Context()); err != nil {
				t.Fatal(err)
			}
			before := until(t, w, "other", status.Connected)
			if err := c.lose(s); err != nil {
				t.Error(err)
			}
			after := until(t, w, "other", status.Connected)
			for !after.Since.After(before.Since) || after.Stale { // the host lists the tools again by itself
				after = until(t, w, "other", status.Connected)
			}
			if after.Err == nil || after.Attempt < 2 || after.Tools == 0 {
				t.Errorf("%+v", after)
			}
			say(t, s)
			if _, err := s.ListTools(t.Context()); err != nil || s.Status().Stale {
				t.Errorf("%v, %+v", err, s.Status())
			}
		})
	}
}

// cuttableServer is a socket with a server behind it, and what cuts the connections to it.
func cuttableServer(t *testing.T) (address string, cut func(*host.Session) error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	newest := make(chan net.Conn, 16)
	var wg sync.WaitGroup
	t.Cleanup(func() { l.Close(); wg.Wait() })
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			newest <- conn
			wg.Go(func() { serveConn(bufio.NewReader(conn), bufio.NewWriter(conn), true); conn.Close() })
		}
	})
	return "tcp:" + l.Addr().String(), func(*host.Session) error { return (<-newest).Close() }
}

// die calls a tool that takes the connection with it.
func die(s *host.Session) error {
	_, err := s.CallTool(context.Background(), "dies", nil)
	if !host.MaybeSent(err) || !errors.Is(err, host.ErrUnreachable) || errors.Is(err, host.ErrNotSent) {
		return err
	}
	return nil
}

// A session that the server forgets is begun anew by the call that finds out, as
// often as that happens, and is never held against the server.
func TestForgottenSessions(t *testing.T) {
	for name, unknown := range map[string]answer{
		"404":           nil,
		"400, an error": page(400, mediaJSON, `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}`),
		"400, a text":   page(400, "text/plain", "Invalid or missing session ID"),
	} {
		t.Run(name, func(t *testing.T) {
			site := &site{legacy: true, unknown: unknown}
			h := newHost(t, host.Config{Reconnect: brisk})
			s := connect(t, h, host.Server{Name: "remote", URL: serve(t, site)})
			for range 2 * brisk.Failures {
				site.forget()
				say(t, s)
			}
			if now := s.Status(); now.State != status.Connected || site.handshakes() != 2*brisk.Failures+1 {
				t.Errorf("%d handshakes, %+v", site.handshakes(), now)
			}
		})
	}
}

// A server that always fails is left alone after a while, and calls say so at once.
func TestBreaker(t *testing.T) {
	h := newHost(t, host.Config{Reconnect: config.Reconnect{Backoff: brisk.Backoff, Failures: 3}})
	w := watch(t, h)
	s := add(t, h, server("exits"))
	s.Start()
	if n := until(t, w, "exits", status.Failed); n.Reason != status.FailsOften || n.Attempt != 3 || n.Next.IsZero() {
		t.Errorf("%+v", n)
	}
	_, err := s.ListTools(t.Context())
	if !errors.Is(err, host.ErrUnreachable) || !errors.Is(err, host.ErrNotSent) || host.Hint(err) == "" {
		t.Errorf("%v (hint %q)", err, host.Hint(err))
	}
	for _, want := range []string{"3 times", "tried again in", "no database at this address"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
	if n := s.Status(); n.Attempt != 3 {
		t.Errorf("started %d times", n.Attempt)
	}
}

// A mistake in an entry is found when the server is wanted, and not tried again
// before the entry is another.
func TestReloadMends(t *testing.T) {
	h := newHost(t, host.Config{Reconnect: brisk})
	bad := server("modern")
	bad.Protocol = "2099-01-01"
	s := add(t, h, bad)
	for range 2 {
		if err := s.Ready(t.Context()); !errors.Is(err, host.ErrConfig) || !strings.Contains(err.Error(), "connect modern: ") {
			t.Fatal(err)
		}
	}
	if now := s.Status(); now.State != status.Failed || now.Reason != status.BadConfig || !now.Next.IsZero() || now.Attempt != 1 {
		t.Errorf("%+v", now)
	}
	if err := s.Reload(server("modern")); err != nil {
		t.Error(err)
	}
	say(t, s)
	if err := s.Reload(server("legacy")); !errors.Is(err, host.ErrConfig) {
		t.Errorf("another name: %v", err)
	}
}

// A reload in the middle of a call lets it have its answer, and the next call meets
// the server of the new entry.
func TestReloadInTheMiddle(t *testing.T) {
	h := newHost(t, host.Config{Timeout: time.Hour, Reconnect: brisk})
	gate := newGate()
	s := connect(t, h, host.Server{Name: "modern", URL: serve(t, &site{tools: map[string]answer{"gate": gate.answer}})})
	gate.during(t, s, func() {
		if err := s.Reload(server("modern")); err != nil {
			t.Error(err)
		}
	})
	say(t, s)
	if got := s.Info().Transport; got != "stdio" {
		t.Errorf("carried by %s", got)
	}
}

// What is disabled refuses calls at once, also those that come at the same moment,
// and is kept again when it is enabled.
func TestDisable(t *testing.T) {
	h := newHost(t, host.Config{Reconnect: brisk})
	entry := server("modern")
	entry.Disabled = true
	if _, err := h.Connect(t.Context(), entry); !errors.Is(err, host.ErrDisabled) {
		t.Error(err)
	}
	s := connect(t, h, server("modern"))
	for range 5 {
		s.Disable()
		if _, err := s.ListTools(t.Context()); !errors.Is(err, host.ErrDisabled) || !errors.Is(err, host.ErrNotSent) {
			t.Error(err)
		}
		if now := s.Status(); now.State != status.Disabled {
			t.Errorf("%+v", now)
		}
		s.Enable()
		say(t, s)
	}
}

// Everything may be closed at any time, twice, and from within a callback.
func TestCloseAtAnyTime(t *testing.T) {
	h := newHost(t, host.Config{Reconnect: brisk})
	w := watch(t, h)
	for _, name := range []string{"modern", "silent", "exits"} {
		for _, started := range []bool{false, true} {
			s := add(t, h, server(name))
			if started {
				s.Start()
				begun(t, w, name)
			}
			var wg sync.WaitGroup
			for range 2 {
				wg.Go(func() {
					if err := s.Close(); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			if err := s.Ready(t.Context()); !errors.Is(err, host.ErrClosed) {
				t.Error(err)
			}
		}
	}
	if left := h.Servers(); len(left) != 0 {
		t.Errorf("left: %+v", left)
	}
}

// One server that never answers, and one that always fails, delay no other. That
// no watcher reads the changes does neither.
func TestStartTogether(t *testing.T) {
	h := newHost(t, host.Config{Reconnect: brisk})
	for range 100 {
		h.Watch() // and never read
	}
	add(t, h, server("silent")).Start()
	add(t, h, server("exits")).Start()
	var all []*host.Session
	for range 8 {
		s := add(t, h, server("modern"))
		s.Start()
		all = append(all, s)
	}
	for _, s := range all {
		if err := s.Ready(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// A server has its own time to start, apart from that of a request.
func TestStartTimeout(t *testing.T) {
	t.Parallel()
	h := newHost(t, host.Config{StartTimeout: short, Timeout: time.Hour, Reconnect: brisk})
	own := server("silent")
	own.StartTimeout = 2 * short
	for limit, entry := range map[time.Duration]host.Server{short: server("silent"), 2 * short: own} {
		_, err := h.Connect(t.Context(), entry)
		if !errors.Is(err, host.ErrTimeout) || !strings.Contains(err.Error(), "not ready within "+limit.String()) {
			t.Error(err)
		}
	}
}

// A plugin whose file is replaced goes on under the connections that it has. New
// ones have the new one, unless it is no good.
func TestReplacedPlugin(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pigeon.wasm")
	put := func(data []byte) {
		if err := os.WriteFile(file+".new", data, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	read := func(file string) []byte {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	warned := make(chan string, 64)
	address := listen(t, "tcp")
	h := newHost(t, host.Config{Files: pluginFile("pigeon", file), Reconnect: brisk, Event: func(e host.Event) {
		if e.Warning != "" {
			warned <- e.Warning
		}
	}})
	entry := host.Server{Name: "loft", Transport: "pigeon", Address: address, Protocol: "2026-07-28"}
	put(read(testenv.Plugin(t, socketPackage)))
	s := connect(t, h, entry)
	put([]byte("no plugin at all"))
	for range 2 {
		say(t, connect(t, h, entry))
	}
	if got := <-warned; !strings.Contains(got, "pigeon: its file was replaced, and the new one is not used") {
		t.Errorf("warned: %s", got)
	}
	put(read(testenv.Plugin(t, hostilePackage)))
	entry.Settings = map[string]string{"mode": "words"}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-warned; cancel() }() // which only the new one does
	if other, err := h.Connect(ctx, entry); err == nil {
		other.Close()
		t.Error("connected by what says nothing but words")
	}
	<-ctx.Done()
	say(t, s)
}

// A server that refuses a call until a person signs in keeps its connection, and
// says so until such a call is let through.
func TestSignInIsAState(t *testing.T) {
	var open atomic.Bool
	site := &site{tools: map[string]answer{"guarded": func(w http.ResponseWriter, _ *http.Request, id string) {
		if !open.Load() {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		result(w, id, good("come in"))
	}}}
	h := newHost(t, host.Config{Reconnect: brisk})
	s := connect(t, h, host.Server{Name: "remote", URL: serve(t, site), Auth: config.Auth{Provider: config.AuthNone}})
	if _, err := s.CallTool(t.Context(), "guarded", nil); !errors.Is(err, host.ErrAuthRequired) {
		t.Fatal(err)
	}
	if _, err := s.ListTools(t.Context()); err != nil {
		t.Errorf("what needs no sign-in: %v", err)
	}
	if now := s.Status(); now.State != status.AuthRequired || now.Reason != status.SignIn || now.Err == nil || now.Attempt != 1 {
		t.Errorf("%+v", now)
	}
	open.Store(true)
	if _, err := s.CallTool(t.Context(), "guarded", nil); err != nil {
		t.Error(err)
	}
	if now := s.Status(); now.State != status.Connected || now.Attempt != 1 {
		t.Errorf("%+v", now)
	}
}

// A listener may use the session on the spot, or end everything.
func TestCallbacksCallBack(t *testing.T) {
	t.Parallel()
	for name, act := range map[string]func(*host.Host, *host.Session) error{
		"call":    func(_ *host.Host, s *host.Session) error { _, err := s.ListTools(context.Background()); return err },
		"disable": func(_ *host.Host, s *host.Session) error { s.Disable(); return nil },
		"reload":  func(_ *host.Host, s *host.Session) error { return s.Reload(server("modern")) },
		"close":   func(_ *host.Host, s *host.Session) error { return s.Close() },
		"apply":   func(h *host.Host, _ *host.Session) error { return h.Apply(nil, nil, brisk) },
		"end":     func(h *host.Host, _ *host.Session) error { return h.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			var h *host.Host
			var once sync.Once
			acted := make(chan error, 1)
			h = newHost(t, host.Config{Timeout: time.Hour, Reconnect: brisk, Event: func(e host.Event) { // an answer comes behind the notes
				if e.Method != "" {
					once.Do(func() { acted <- act(h, h.Session("modern")) })
				}
			}})
			if err := h.Apply([]host.Server{server("modern")}, nil, brisk); err != nil {
				t.Fatal(err)
			}
			h.Session("modern").CallTool(t.Context(), "notes", nil) // what becomes of it is the callback's doing
			if err := <-acted; err != nil {
				t.Error(err)
			}
		})
	}
}

// A server that reads no more is found out without a call, and started anew.
func TestHungServerIsFoundOut(t *testing.T) {
	t.Parallel()
	h := newHost(t, host.Config{Reconnect: brisk, Ping: 20 * time.Millisecond, PingTimeout: 20 * time.Millisecond})
	w := watch(t, h)
	s := add(t, h, server("deaf"))
	s.Start()
	until(t, w, "deaf", status.Connected)
	n := until(t, w, "deaf", status.Reconnecting)
	if n.Reason != status.Lost || n.Err == nil || !strings.Contains(n.Err.Error(), "no sign of life for ") {
		t.Errorf("%+v", n)
	}
	until(t, w, "deaf", status.Connected)
}
