package host_test

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/internal/certtest"
)

// A connection that is lost before the answer has what is harmless sent again,
// once: what reads always, and a tool where it says so of itself and the user
// listens to that, for this server.
func TestResend(t *testing.T) {
	const list = `{"tools":[{"name":"reads","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},` +
		`{"name":"repeats","inputSchema":{"type":"object"},"annotations":{"idempotentHint":true}},{"name":"writes","inputSchema":{"type":"object"}}],"resultType":"complete"}`
	for _, c := range []struct {
		tool   string // "" is a list; "relayed " before it relays the request, "any " calls any method, "first " before it has had no list
		resend bool
		breaks int // how often the connection is lost
		sent   int
		fails  bool
	}{
		{"", false, 1, 2, false},
		{"", true, 2, 2, true},
		{"reads", true, 1, 2, false},
		{"repeats", true, 1, 2, false},
		{"reads", true, 9, 2, true},
		{"reads", false, 1, 1, true},
		{"writes", true, 1, 1, true},
		{"unknown", true, 1, 1, true},
		{"relayed ", false, 1, 2, false},
		{"relayed reads", true, 1, 2, false},
		{"relayed writes", true, 1, 1, true},
		{"first reads", true, 1, 3, false}, // with a list between
		{"first reads", true, 2, 2, true},  // with a list that is lost too
		{"first unknown", true, 1, 2, true},
		{"first writes", true, 1, 2, true},
		{"any reads", true, 1, 2, false},
		{"any reads", false, 1, 1, true},
		{"any writes", true, 1, 1, true},
		{"first reads", false, 1, 1, true},
	} {
		var sent, breaks atomic.Int32
		hangUp := func(w http.ResponseWriter) {
			sent.Add(1)
			if breaks.Add(-1) >= 0 {
				panic(http.ErrAbortHandler)
			}
		}
		site := &site{tools: make(map[string]answer)}
		for _, name := range []string{"reads", "repeats", "writes", "unknown"} {
			site.tools[name] = func(w http.ResponseWriter, _ *http.Request, id string) { hangUp(w); result(w, id, good("done")) }
		}
		site.list = func(w http.ResponseWriter, _ *http.Request, id string) { hangUp(w); result(w, id, list) }
		tool, first := strings.CutPrefix(c.tool, "first ")
		site.legacy = first // in the other era a call of a tool asks for the list
		entry := host.Server{Name: "remote", URL: serve(t, site), Protocol: map[bool]string{true: "2025-11-25", false: "2026-07-28"}[first], Resend: c.resend}
		s := connect(t, newHost(t, host.Config{}), entry)
		if !first {
			if _, err := s.ListTools(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		sent.Store(0)
		breaks.Store(int32(c.breaks))
		var err error
		switch name, relayed := strings.CutPrefix(tool, "relayed "); {
		case relayed && name == "":
			_, err = s.Relay(t.Context(), host.Relay{Method: "tools/list"})
		case relayed:
			_, err = s.Relay(t.Context(), host.Relay{Method: "tools/call", Params: json.RawMessage(`{"name":"` + name + `"}`)})
		case name == "":
			_, err = s.ListTools(t.Context())
		case strings.HasPrefix(tool, "any "):
			err = s.Call(t.Context(), "tools/call", map[string]any{"name": tool[len("any "):]}, nil)
		default:
			_, err = s.CallTool(t.Context(), tool, nil)
		}
		name := fmt.Sprintf("%q, resend %v, lost %d times", c.tool, c.resend, c.breaks)
		if c.fails != (err != nil) || int(sent.Load()) != c.sent {
			t.Errorf("%s: sent %d times, %v", name, sent.Load(), err)
		}
		if err != nil && (!host.MaybeSent(err) || errors.Is(err, host.ErrNotSent) || !strings.Contains(err.Error(), "remote")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A request that may have reached the server does not become one that was not sent
// because the second try found no server.
func TestResendStaysTrue(t *testing.T) {
	var s *host.Session
	site := &site{list: func(http.ResponseWriter, *http.Request, string) {
		s.Disable()
		panic(http.ErrAbortHandler)
	}}
	s = connect(t, newHost(t, host.Config{}), host.Server{Name: "remote", URL: serve(t, site)})
	if _, err := s.ListTools(t.Context()); !host.MaybeSent(err) || errors.Is(err, host.ErrNotSent) {
		t.Error(err)
	}
}

// A status that refuses a request, or sends it elsewhere, is an answer to it. One by which the server has
// failed is not, nor is one that tells where to see the result: it may have acted before.
func TestRefusedRequests(t *testing.T) {
	for status, maybe := range map[int]bool{
		301: false, 302: true, 303: true, 307: false, 308: false,
		400: false, 401: false, 403: false, 404: false, 429: false, 503: false, 500: true, 502: true,
	} {
		site := &site{tools: map[string]answer{"act": func(w http.ResponseWriter, r *http.Request, id string) {
			if status < 400 {
				w.Header().Set("Location", "http://192.0.2.1/")
			}
			page(status, "text/plain", "no")(w, r, id)
		}}}
		s := connect(t, newHost(t, host.Config{}), host.Server{Name: "remote", URL: serve(t, site)})
		if _, err := s.CallTool(t.Context(), "act", nil); err == nil || host.MaybeSent(err) != maybe || errors.Is(err, host.ErrNotSent) {
			t.Errorf("HTTP %d: %v", status, err)
		}
	}
}

// A server that wants to be asked later says how much later, whatever the form of its answer.
func TestAskedWait(t *testing.T) {
	later := func(wait string, a answer) answer {
		return func(w http.ResponseWriter, r *http.Request, id string) {
			w.Header().Set("Retry-After", wait)
			a(w, r, id)
		}
	}
	fault := page(429, "application/json", `{"jsonrpc":"2.0","id":%ID%,"error":{"code":-1,"message":"no"}}`)
	s := connect(t, newHost(t, host.Config{}), host.Server{Name: "remote", URL: serve(t, &site{tools: map[string]answer{
		"text": later("3600", page(429, "text/plain", "slow down")), "fault": later("90", fault),
		"busy": later("5", page(503, "text/html", "<html><title>busy</title>")), "lies": later("-3600", page(429, "text/plain", "slow down")),
	}})})
	for tool, want := range map[string]string{
		"text": "HTTP 429: slow down; the server asks to wait 1 h", "fault": "MCP error -1: no; the server asks to wait 1 min 30 s",
		"busy": "; the server asks to wait 5 s", "lies": "HTTP 429: slow down",
	} {
		if _, err := s.CallTool(t.Context(), tool, nil); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v", tool, err)
		}
	}
	for code, want := range map[int]string{429: "HTTP 429: later; the server asks to wait 2 min", 503: "the server failed: HTTP 503: later; the server asks to wait 2 min"} {
		start := host.Server{Name: "new", URL: serve(t, &site{discover: later("120", page(code, "text/plain", "later"))})}
		_, err := newHost(t, host.Config{}).Connect(t.Context(), start)
		if hint := host.Hint(err); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(hint, "running") {
			t.Errorf("HTTP %d at the start: %v; %s", code, err, hint)
		}
	}
}

// What the tools of a server say of themselves does not count for the server that takes
// its place, also when a list or a call is in flight while it is replaced.
func TestAnnotationsOfAReplacedServer(t *testing.T) {
	const list = `{"tools":[{"name":"act","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}],"resultType":"complete"}`
	var sent atomic.Int32
	lose := func(http.ResponseWriter, *http.Request, string) {
		sent.Add(1)
		panic(http.ErrAbortHandler)
	}
	next := host.Server{Name: "remote", URL: serve(t, &site{tools: map[string]answer{"act": lose}}), Resend: true}
	for _, late := range []bool{true, false} { // the list comes after its server was replaced, or before
		listed, let := make(chan bool), make(chan bool)
		first := &site{
			list: func(w http.ResponseWriter, _ *http.Request, id string) {
				listed <- true
				<-let
				result(w, id, list)
			},
		}
		s := connect(t, newHost(t, host.Config{Reconnect: brisk}), host.Server{Name: "remote", URL: serve(t, first), Resend: true})
		done := make(chan error, 1)
		go func() {
			_, err := s.ListTools(t.Context())
			done <- err
		}()
		<-listed
		comes := func() {
			let <- true
			if err := <-done; err != nil {
				t.Fatalf("the list: %v", err)
			}
		}
		if !late {
			comes()
		}
		if err := s.Reload(next); err != nil {
			t.Fatal(err)
		}
		if late {
			comes()
		}
		sent.Store(0)
		if _, err := s.CallTool(t.Context(), "act", nil); !host.MaybeSent(err) || sent.Load() != 1 {
			t.Errorf("a list of the server before, late %t: sent %d times, %v", late, sent.Load(), err)
		}
	}
}

// What is known of the tools stays known where only the signs of life of an entry change.
func TestResendAfterTune(t *testing.T) {
	const list = `{"tools":[{"name":"act","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}],"resultType":"complete"}`
	var sent atomic.Int32
	site := &site{
		list: func(w http.ResponseWriter, _ *http.Request, id string) { result(w, id, list) },
		tools: map[string]answer{"act": func(w http.ResponseWriter, _ *http.Request, id string) {
			if sent.Add(1) == 1 {
				panic(http.ErrAbortHandler)
			}
			result(w, id, good("done"))
		}},
	}
	h := newHost(t, host.Config{})
	entry := host.Server{Name: "remote", URL: serve(t, site), Protocol: "2026-07-28", Resend: true}
	if err := h.Apply([]host.Server{entry}, nil, brisk); err != nil {
		t.Fatal(err)
	}
	s := h.Session("remote")
	if _, err := s.ListTools(t.Context()); err != nil {
		t.Fatal(err)
	}
	entry.Ping = time.Hour
	if err := h.Apply([]host.Server{entry}, nil, brisk); err != nil {
		t.Fatal(err)
	}
	if _, err := s.CallTool(t.Context(), "act", nil); err != nil || sent.Load() != 2 {
		t.Errorf("sent %d times, %v", sent.Load(), err)
	}
}

// A call that is lost because its server was replaced is not made at the next one.
func TestNoResendToAnotherServer(t *testing.T) {
	const list = `{"tools":[{"name":"act","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}],"resultType":"complete"}`
	var s *host.Session
	var sent atomic.Int32
	next := host.Server{Name: "remote", Resend: true, URL: serve(t, &site{tools: map[string]answer{"act": func(w http.ResponseWriter, _ *http.Request, id string) {
		sent.Add(1)
		result(w, id, good("done"))
	}}})}
	first := &site{
		list: func(w http.ResponseWriter, _ *http.Request, id string) { result(w, id, list) },
		tools: map[string]answer{"act": func(http.ResponseWriter, *http.Request, string) {
			if err := s.Reload(next); err != nil {
				t.Error(err)
			}
			panic(http.ErrAbortHandler)
		}},
	}
	s = connect(t, newHost(t, host.Config{Reconnect: brisk}), host.Server{Name: "remote", URL: serve(t, first), Resend: true})
	if _, err := s.ListTools(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.CallTool(t.Context(), "act", nil); !host.MaybeSent(err) || sent.Load() != 0 {
		t.Errorf("sent to the next server %d times, %v", sent.Load(), err)
	}
}

// A task is begun once: no caller would know the ID of the first of two, whatever marks its
// tool has.
func TestTasksAreNotResent(t *testing.T) {
	var sent atomic.Int32
	site := &site{tools: map[string]answer{"repeats": func(http.ResponseWriter, *http.Request, string) {
		sent.Add(1)
		panic(http.ErrAbortHandler)
	}}}
	site.list = func(w http.ResponseWriter, _ *http.Request, id string) {
		result(w, id, `{"tools":[{"name":"repeats","inputSchema":{"type":"object"},"annotations":{"idempotentHint":true}}],"resultType":"complete"}`)
	}
	s := connect(t, newHost(t, host.Config{}), host.Server{Name: "remote", URL: serve(t, site), Protocol: "2026-07-28", Resend: true})
	if _, err := s.ListTools(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.BeginTask(t.Context(), "repeats", nil, 0); !host.MaybeSent(err) || sent.Load() != 1 {
		t.Errorf("sent %d times, %v", sent.Load(), err)
	}
	task := host.Relay{Method: "tools/call", Params: json.RawMessage(`{"name":"repeats","task":{}}`)}
	if _, err := s.Relay(t.Context(), task); !host.MaybeSent(err) || sent.Load() != 2 {
		t.Errorf("relayed: sent %d times, %v", sent.Load(), err)
	}
}

// A request that found no connection was not sent: the server is gone, or another is there, whose certificate is
// refused. One whose answer had begun was sent, though the request for the rest of that finds no connection either.
func TestRequestsWithoutAConnection(t *testing.T) {
	var gone func()
	site := &site{legacy: true, tools: map[string]answer{
		"good": func(w http.ResponseWriter, _ *http.Request, id string) { result(w, id, good("done")) },
		"begun": func(w http.ResponseWriter, _ *http.Request, _ string) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "id: 1\nretry: 1\ndata:\n\n")
			w.(http.Flusher).Flush()
			gone()
			panic(http.ErrAbortHandler)
		},
	}}
	serve := func(address string, from *certtest.Authority) *httptest.Server {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewUnstartedServer(site)
		server.Listener.Close()
		server.Listener, server.TLS = listener, &tls.Config{Certificates: []tls.Certificate{from.IssueLocal()}}
		server.Config.ErrorLog = log.New(io.Discard, "", 0)
		server.Config.SetKeepAlivesEnabled(false)
		server.StartTLS()
		t.Cleanup(server.Close)
		return server
	}
	known := certtest.New()
	for _, tool := range []string{"good", "begun"} {
		server := serve("127.0.0.1:0", known)
		gone = func() { server.Listener.Close(); server.CloseClientConnections() }
		address := server.Listener.Addr().String()
		entry := host.Server{Name: "remote", URL: "https://" + address, TLS: config.TLS{CA: known.WriteTo(t.TempDir()), Name: "localhost"}}
		s := connect(t, newHost(t, host.Config{}), entry)
		call := func(tool, want string, maybe bool) {
			t.Helper()
			_, err := s.CallTool(t.Context(), tool, nil)
			if host.MaybeSent(err) != maybe || errors.Is(err, host.ErrNotSent) == maybe || host.ErrorKind(err) != "unreachable" || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", tool, err)
			}
		}
		if tool == "begun" {
			call(tool, "refused", true)
			continue
		}
		if _, err := s.CallTool(t.Context(), tool, nil); err != nil {
			t.Fatal(err)
		}
		gone()
		call(tool, "refused", false)
		serve(address, certtest.New())
		call(tool, "certificate", false)
	}
}
