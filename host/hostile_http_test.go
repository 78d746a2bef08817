package host_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/trace"
	"github.com/wharf-mcp/wharf/internal/testenv"
)

// A bad answer over HTTP spoils its own call: no other notices, on the same
// session or on another.
func TestBadAnswersOverHTTP(t *testing.T) {
	t.Parallel()
	gate := newGate()
	tools := map[string]answer{"gate": gate.answer}
	want := make(map[string]string)
	for name, m := range misdeeds {
		tools[name], want[name] = m.answer, m.want
	}
	urls := eras(t, tools)
	h := newHost(t, host.Config{Timeout: time.Hour})
	other := connect(t, h, host.Server{Name: "other", URL: urls["legacy"]})
	for _, tool := range slices.Sorted(maps.Keys(want)) {
		t.Run(tool, func(t *testing.T) {
			for era, url := range urls {
				s := connect(t, h, host.Server{Name: era, URL: url, Protocol: era})
				gate.during(t, s, func() {
					misbehave(t, s, tool, want[tool])
					say(t, s)
				})
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
			say(t, other)
		})
	}
}

// A flood ends with the deadline of its call, or with the connection; sessions go
// on.
func TestFloodsOfEvents(t *testing.T) {
	t.Parallel()
	gate := newGate()
	tools := map[string]answer{"gate": gate.answer}
	for name, flood := range floods {
		tools[name] = endless(200, mediaEvents, "", flood.piece)
	}
	lasts := short
	if !testenv.Long() {
		lasts /= 3
	}
	h := newHost(t, host.Config{Timeout: time.Hour})
	url := serve(t, &site{tools: tools})
	s := connect(t, h, host.Server{Name: "remote", URL: url})
	other := connect(t, h, host.Server{Name: "other", URL: url})
	for name, flood := range floods {
		harmless := s
		if flood.heavy {
			harmless = other
		}
		gate.during(t, harmless, func() {
			ctx, cancel := context.WithTimeout(t.Context(), lasts)
			defer cancel()
			_, err := s.CallTool(ctx, name, nil)
			spent := flood.heavy && errors.Is(err, host.ErrUnreachable)
			if !spent && !errors.Is(err, host.ErrTimeout) {
				t.Errorf("the flood of %s ended with %v", name, err)
			}
			say(t, s)
		})
	}
}

// misbehave calls a tool of a bad server.
func misbehave(t *testing.T, s *host.Session, tool, want string) {
	t.Helper()
	ctx := t.Context()
	if want == "late" {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, short)
		defer cancel()
	}
	_, err := s.CallTool(ctx, tool, nil)
	check(t, s.Name(), tool, want, err)
	if err != nil && strings.ContainsFunc(err.Error(), unprintable) {
		t.Errorf("%q is not for a terminal", err)
	}
}

func unprintable(r rune) bool { return r < ' ' && r != '\n' || r == 0x7f || r == '\u202e' }

// Answers beyond the cap cost their call, and little memory.
func TestLongAnswersOverHTTP(t *testing.T) {
	const start = `{"jsonrpc":"2.0","id":%ID%,"result":{"content":[{"type":"text","text":"`
	gate := newGate()
	tools := map[string]answer{
		"gate":          gate.answer,
		"endless JSON":  endless(200, mediaJSON, start, "x"),
		"endless space": endless(200, mediaJSON, "", " "),
		"endless event": endless(200, mediaEvents, "data: "+start, "x"),
		"endless lines": endless(200, mediaEvents, "data: "+start+"\n", "data: "+strings.Repeat("x", 500)+"\n"),
		"endless page":  endless(200, "text/html", "<html>", "x"),
		"endless 202":   endless(202, "text/plain", "", "x"),
		"gzip":          bomb(),
	}
	want := map[string]string{
		"endless page": "text/html", "endless 202": "no response received",
		"endless space": "longer than a message may be", "gzip": "longer than a message may be",
	}
	urls := eras(t, tools)
	h := newHost(t, host.Config{Timeout: time.Hour})
	for era, url := range urls {
		s := connect(t, h, host.Server{Name: era, URL: url, Protocol: era})
		for tool := range tools {
			if tool == "gate" {
				continue
			}
			var before, after runtime.MemStats
			gate.during(t, s, func() {
				runtime.ReadMemStats(&before)
				misbehave(t, s, tool, cmp.Or(want[tool], "larger than the message cap"))
				runtime.ReadMemStats(&after)
				say(t, s)
			})
			// Buffers that double up to the cap come to three times the cap at most;
			// the fourth is for the server, which is in this process too.
			const most = 4 * 16 << 20
			if spent := after.TotalAlloc - before.TotalAlloc; spent > most {
				t.Errorf("%s: %s: %d MiB were allocated", era, tool, spent>>20)
			}
		}
	}
}

// A tool is called once, however its connection ends: a server that hangs up may
// have done what it was asked.
func TestNothingIsCalledTwice(t *testing.T) {
	var calls atomic.Int32
	count := func(a answer) answer {
		return func(w http.ResponseWriter, r *http.Request, id string) {
			calls.Add(1)
			a(w, r, id)
		}
	}
	urls := eras(t, map[string]answer{
		"hangs up": count(raw("", "")),
		"breaks":   count(raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{", "")),
		"fails":    count(page(500, "text/plain", "half done")),
		"leaves":   count(page(200, mediaEvents, ": nothing\n\n")),
		"busy":     count(page(503, "text/plain", "later")),
		"early":    count(page(425, "text/plain", "early")),
	})
	h := newHost(t, host.Config{})
	for era, url := range urls {
		s := connect(t, h, host.Server{Name: era, URL: url, Protocol: era})
		for _, tool := range []string{"hangs up", "breaks", "fails", "leaves", "busy", "early"} {
			say(t, s) // so that there is a connection that is used again
			calls.Store(0)
			if _, err := s.CallTool(t.Context(), tool, nil); err == nil {
				t.Errorf("%s: %s: the call succeeded", era, tool)
			}
			if n := calls.Load(); n != 1 {
				t.Errorf("%s: %s: called %d times", era, tool, n)
			}
		}
	}
}

// A server that answers the first request in whatever way is found out, or given
// up by the deadline; nothing is left of it.
func TestBadGreetings(t *testing.T) {
	t.Parallel()
	h := newHost(t, host.Config{})
	for name, m := range misdeeds {
		for _, legacy := range []bool{false, true} {
			s := &site{legacy: legacy, discover: m.answer}
			server := httptest.NewServer(s)
			ctx, cancel := context.WithTimeout(t.Context(), short)
			session, err := h.Connect(ctx, host.Server{Name: "remote", URL: server.URL})
			cancel()
			if err == nil {
				session.Close()
			}
			switch {
			case err == nil && m.want != "":
				t.Errorf("%s was taken for a server", name)
			case err != nil && (!strings.Contains(err.Error(), "remote") || strings.ContainsFunc(err.Error(), unprintable)):
				t.Errorf("%s: %q", name, err)
			}
			server.Close()
		}
	}
}

// Calls without an answer leave their places to others, and more calls than
// there are places for wait for one.
func TestManyCallsAtOnce(t *testing.T) {
	t.Parallel()
	urls := eras(t, map[string]answer{"mute": silent})
	h := newHost(t, host.Config{Timeout: time.Hour})
	for era, url := range urls {
		s := connect(t, h, host.Server{Name: era, URL: url, Protocol: era})
		ctx, cancel := context.WithTimeout(t.Context(), short)
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				if _, err := s.CallTool(ctx, "mute", nil); !errors.Is(err, host.ErrTimeout) {
					t.Errorf("%s: a call without an answer ended with %v", era, err)
				}
			})
		}
		wg.Wait()
		cancel()
		for range 500 {
			wg.Go(func() { say(t, s) })
		}
		wg.Wait()
	}
}

// trap is a server that must not be asked anything.
func trap(t *testing.T) string {
	return serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		t.Errorf("the other origin got %s %s with %v and %q", r.Method, r.URL, r.Header, body)
	}))
}

// A redirect leads to no other origin, whatever is redirected and when.
func TestRedirectsElsewhere(t *testing.T) {
	elsewhere := trap(t)
	redirect := func(status int) answer {
		return func(w http.ResponseWriter, r *http.Request, _ string) {
			http.Redirect(w, r, elsewhere+"/mcp?q=1", status)
		}
	}
	tools := map[string]answer{}
	for _, status := range []int{301, 302, 303, 307, 308} {
		tools[fmt.Sprint(status)] = redirect(status)
	}
	handler := func(w http.ResponseWriter, r *http.Request) { redirect(307)(w, r, "") }
	secret := map[string]string{"Authorization": "Bearer s3cr3t", "X-Key": "s3cr3t"}
	sites := map[string]*site{
		"2026-07-28": {tools: tools},
		"legacy":     {legacy: true, tools: tools, get: handler, delete: handler},
	}
	h := newHost(t, host.Config{})
	for era, site := range sites {
		s := connect(t, h, host.Server{Name: era, URL: serve(t, site), Protocol: era, Headers: secret})
		for status := range tools {
			_, err := s.CallTool(t.Context(), status, nil)
			if err == nil || !strings.Contains(err.Error(), "redirects") {
				t.Errorf("%s: a call that was redirected with %s ended with %v", era, status, err)
			}
			say(t, s)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	for status := range tools {
		entry := host.Server{Name: "moved", URL: serve(t, &site{discover: tools[status]}), Headers: secret}
		if s, err := h.Connect(t.Context(), entry); err == nil {
			s.Close()
			t.Errorf("%s: connected", status)
		}
	}
}

// A server of HTTP+SSE names the place to send to, but only within its origin.
func TestEndpointsElsewhere(t *testing.T) {
	elsewhere := trap(t)
	h := newHost(t, host.Config{Timeout: time.Hour})
	for _, endpoint := range []string{
		elsewhere + "/messages",
		strings.TrimPrefix(elsewhere, "http:") + "/messages",
		strings.Replace(elsewhere, "http:", "HTTP:", 1),
		strings.Replace(elsewhere, "http://", "http://127.0.0.1@", 1),
		"https://%HOST%/messages",
		"http://user:word@%HOST%/messages",
		"ftp://%HOST%/",
		"javascript:alert(1)",
		`\\\\127.0.0.1\\share`,
		strings.Repeat("/x", 4<<10),
	} {
		url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == "POST" {
				t.Errorf("endpoint %.50q: the server got %s", endpoint, r.URL)
			}
			held(200, mediaEvents, "event: endpoint\ndata: "+strings.ReplaceAll(endpoint, "%HOST%", r.Host)+"\n\n")(w, r, "")
		}))
		entry := host.Server{Name: "remote", URL: url, Transport: "sse", Headers: map[string]string{"X-Key": "s3cr3t"}}
		s, err := h.Connect(t.Context(), entry)
		if err == nil {
			s.Close()
			t.Errorf("endpoint %.50q: connected", endpoint)
			continue
		}
		if !strings.Contains(err.Error(), "remote") || strings.ContainsFunc(err.Error(), unprintable) {
			t.Errorf("endpoint %.50q: %q", endpoint, err)
		}
	}
}

// A server forgets the session in the middle of many calls. Some hear of it when
// another session has long begun; all are answered, and there is one handshake.
func TestSessionForgottenInTheMiddle(t *testing.T) {
	const many = 32
	arrived := make(chan struct{}, many)
	forgotten, late := make(chan struct{}), make(chan struct{})
	var n atomic.Int32
	site := &site{legacy: true}
	site.tools = map[string]answer{"work": func(w http.ResponseWriter, r *http.Request, id string) {
		turn := n.Add(1)
		if turn > many { // of the new session
			result(w, id, good("done"))
			return
		}
		arrived <- struct{}{}
		<-forgotten
		if turn%2 == 0 {
			<-late
		}
		http.Error(w, "no such session", http.StatusNotFound)
	}}
	s := connect(t, newHost(t, host.Config{}), host.Server{Name: "remote", URL: serve(t, site), Protocol: "legacy"})
	before := site.handshakes()
	var wg, early sync.WaitGroup
	early.Add(many / 2)
	var answered atomic.Int32
	for range many {
		wg.Go(func() {
			result, err := s.CallTool(t.Context(), "work", nil)
			if err != nil || result.Content[0].Text != "done" {
				t.Errorf("a call ended with %v", err)
			}
			if answered.Add(1) <= many/2 {
				early.Done()
			}
		})
	}
	for range many {
		<-arrived
	}
	site.forget()
	close(forgotten)
	early.Wait()
	close(late)
	wg.Wait()
	say(t, s)
	if got := site.handshakes() - before; got != 1 {
		t.Errorf("%d handshakes for one session that was forgotten", got)
	}
}

// A server that forgets every session at once costs its calls, and no more of
// its time than a few handshakes.
func TestSessionsThatDoNotLast(t *testing.T) {
	site := &site{legacy: true}
	site.heard = func(method string) {
		if method == "tools/call" {
			site.forget()
		}
	}
	s := connect(t, newHost(t, host.Config{}), host.Server{Name: "remote", URL: serve(t, site), Protocol: "legacy"})
	_, err := s.CallTool(t.Context(), "echo", nil)
	if err == nil || !strings.Contains(err.Error(), "no longer knows the session") {
		t.Errorf("the call ended with %v", err)
	}
	if n := site.handshakes(); n > 3 {
		t.Errorf("%d handshakes for one call", n)
	}
}

// Whatever becomes of the listener of a legacy session, calls do not notice.
func TestListenersThatDie(t *testing.T) {
	t.Parallel()
	for name, die := range map[string]http.HandlerFunc{
		"ends": func(w http.ResponseWriter, r *http.Request) { page(200, mediaEvents, "retry: 1\n\n")(w, r, "") },
		"garbage": func(w http.ResponseWriter, r *http.Request) {
			page(200, mediaEvents, "retry: 1\ndata: {[\n\n")(w, r, "")
		},
		"breaks": func(w http.ResponseWriter, r *http.Request) { raw("", "")(w, r, "") },
		"faults": func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no", 500) },
	} {
		t.Run(name, func(t *testing.T) {
			opened := make(chan struct{})
			gate := newGate()
			site := &site{legacy: true, tools: map[string]answer{"gate": gate.answer}}
			site.get = func(w http.ResponseWriter, r *http.Request) {
				select {
				case opened <- struct{}{}:
				case <-t.Context().Done():
				}
				die(w, r)
			}
			s := connect(t, newHost(t, host.Config{Timeout: time.Hour}), host.Server{Name: "remote", URL: serve(t, site), Protocol: "legacy"})
			gate.during(t, s, func() {
				for range 2 {
					<-opened
					say(t, s)
				}
			})
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if n := site.handshakes(); n != 1 {
				t.Errorf("%d handshakes", n)
			}
		})
	}
}

// A server that closes its stream after each event is asked for the next one.
func TestStreamThatClosesAfterEachEvent(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 8)
	site := &site{legacy: true}
	var id string
	site.tools = map[string]answer{"slow": func(w http.ResponseWriter, r *http.Request, i string) {
		id = i
		page(200, mediaEvents, "id: 1\nretry: 10\ndata:\n\n")(w, r, i)
	}}
	site.get = func(w http.ResponseWriter, r *http.Request) {
		last := r.Header.Get("Last-Event-ID")
		if last == "" {
			http.Error(w, "no listeners", http.StatusMethodNotAllowed)
			return
		}
		asked <- last
		switch last {
		case "1":
			page(200, mediaEvents, "id: 2\nretry: 10\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/note\"}\n\n")(w, r, id)
		case "2":
			raw("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nid: 3\n\ndata: {", "")(w, r, id)
		default:
			page(200, mediaEvents, "id: 4\ndata: "+fine+"\n\n")(w, r, id)
		}
	}
	s := connect(t, newHost(t, host.Config{}), host.Server{Name: "remote", URL: serve(t, site), Protocol: "legacy"})
	if _, err := s.CallTool(t.Context(), "slow", nil); err != nil {
		t.Errorf("the call ended with %v", err)
	}
	say(t, s)
	close(asked)
	var got []string
	for id := range asked {
		got = append(got, id)
	}
	if want := []string{"1", "2", "3"}; !slices.Equal(got, want) {
		t.Errorf("resumed after %q, want %q", got, want)
	}
}

// A server that does not let the client go is left.
func TestHangingDelete(t *testing.T) {
	t.Parallel()
	asked, left := make(chan struct{}), make(chan struct{})
	site := &site{legacy: true, delete: func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
		close(left)
	}}
	s := connect(t, newHost(t, host.Config{}), host.Server{Name: "remote", URL: serve(t, site), Protocol: "legacy"})
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	<-asked
	<-left
}

// A caller who leaves shows it to the server: by the end of the stream in the
// modern era, with a notification in the one before.
func TestLeavingACall(t *testing.T) {
	called, left, cancelled := make(chan struct{}), make(chan struct{}), make(chan struct{})
	mute := func(_ http.ResponseWriter, r *http.Request, _ string) {
		close(called)
		<-r.Context().Done()
		close(left)
	}
	for era, site := range map[string]*site{"2026-07-28": {}, "legacy": {legacy: true}} {
		called, left, cancelled = make(chan struct{}), make(chan struct{}), make(chan struct{})
		site.tools = map[string]answer{"mute": mute}
		site.heard = func(method string) {
			switch {
			case method != "notifications/cancelled":
			case era == "legacy":
				close(cancelled)
			default:
				t.Errorf("%s: the server was told in words as well", era)
			}
		}
		s := connect(t, newHost(t, host.Config{}), host.Server{Name: era, URL: serve(t, site), Protocol: era})
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-called; cancel() }()
		if _, err := s.CallTool(ctx, "mute", nil); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: the call ended with %v", era, err)
		}
		<-left
		if era == "legacy" {
			<-cancelled
		}
		say(t, s)
		if err := s.Close(); err != nil { // what was still to be sent has been
			t.Error(err)
		}
	}
}

// A server that is killed takes the calls in flight with it, and they say so. It
// is missed as long as it is away. When it is back, the next call is answered: in
// the legacy era after a handshake.
func TestServerIsKilledAndStartedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		entry  host.Server
		legacy bool
		sse    bool
	}{
		"modern":   {entry: host.Server{Protocol: "2026-07-28"}},
		"found":    {entry: host.Server{}},
		"legacy":   {entry: host.Server{Protocol: "legacy"}, legacy: true},
		"HTTP+SSE": {entry: host.Server{Transport: "sse"}, legacy: true, sse: true},
	} {
		t.Run(name, func(t *testing.T) {
			gate := newGate()
			start := func(a *address) *site {
				s := &site{legacy: c.legacy, sse: c.sse, tools: map[string]answer{"gate": gate.answer}}
				a.start(s)
				return s
			}
			a := newAddress(t)
			start(a)
			c.entry.Name, c.entry.URL = "remote", a.url()
			s := connect(t, newHost(t, host.Config{}), c.entry)
			for range 3 {
				say(t, s)
				a.kill()
				missed(t, s, c.sse)
				now := start(a)
				again(t, s)
				done := make(chan error, 1)
				go func() {
					_, err := s.CallTool(t.Context(), "gate", nil)
					done <- err
				}()
				<-gate.called
				a.kill()
				lost(t, <-done)
				missed(t, s, c.sse)
				start(a)
				again(t, s)
				if n := now.handshakes(); n > 1 || c.legacy && n == 0 {
					t.Errorf("%d handshakes", n)
				}
			}
		})
	}
}

// lost checks the error of a call whose server went away.
func lost(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, host.ErrUnreachable) || !strings.Contains(err.Error(), "remote") {
		t.Fatalf("the call ended with %v", err)
	}
}

// missed calls a server that is away, until no connection is left that seems to
// lead to it. The one of HTTP+SSE is its stream.
func missed(t *testing.T, s *host.Session, sse bool) {
	t.Helper()
	want := "POST"
	if sse {
		want = "GET"
	}
	for {
		_, err := s.CallTool(t.Context(), "echo", nil)
		lost(t, err)
		if text := err.Error(); strings.Contains(text, "refused") && strings.Contains(text, want) {
			return
		}
	}
}

// again calls a server that is back. A connection to the one before may have
// become idle only after it was missed; each costs a call.
func again(t *testing.T, s *host.Session) {
	t.Helper()
	for {
		_, err := s.CallTool(t.Context(), "echo", nil)
		if err == nil {
			return
		}
		lost(t, err)
		if text := err.Error(); !strings.Contains(text, "idle connection") && !strings.Contains(text, "EOF") {
			t.Fatalf("the call ended with %v", err)
		}
	}
}

// What the user configured stays with the host: neither the trace of what the
// plugin was told nor an error shows it.
func TestSecretsStayWithTheHost(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t"
	a := newAddress(t)
	leak := func(then answer) answer {
		return func(w http.ResponseWriter, r *http.Request, id string) {
			if r.Header.Get("X-Key") != secret+"-header" || r.URL.Query().Get("key") != secret+"-query" {
				t.Errorf("the server got %s with %v", r.URL, r.Header)
			}
			w.Header().Set("Set-Cookie", "id="+secret+"-cookie")
			w.Header().Set("Content-Location", r.URL.String())
			then(w, r, id)
		}
	}
	tools := map[string]answer{
		"fine":     leak(page(200, mediaJSON, fine)),
		"events":   leak(page(200, mediaEvents, "data: "+fine+"\n\n")),
		"fault":    leak(page(500, "text/plain", "no")),
		"refusal":  leak(page(401, "text/plain", "no")),
		"hangs up": leak(raw("", "")),
		"moves": leak(func(w http.ResponseWriter, r *http.Request, _ string) {
			http.Redirect(w, r, "/there?"+r.URL.RawQuery, http.StatusTemporaryRedirect)
		}),
		"silent": leak(silent),
	}
	for era, site := range map[string]*site{"2026-07-28": {tools: tools}, "legacy": {legacy: true, tools: tools}} {
		a.start(site)
		var seen bytes.Buffer
		trace, err := trace.NewPrinter("abi,io", &seen)
		if err != nil {
			t.Fatal(err)
		}
		h := newHost(t, host.Config{Print: trace})
		entry := host.Server{Name: "remote", URL: a.url() + "/mcp?key=" + secret + "-query", Protocol: era}
		entry.Headers = map[string]string{"X-Key": secret + "-header"}
		s := connect(t, h, entry)
		var said []string
		for tool := range tools {
			ctx, cancel := context.WithTimeout(t.Context(), short)
			_, err := s.CallTool(ctx, tool, nil)
			cancel()
			said = append(said, fmt.Sprint(err))
		}
		a.kill()
		_, err = s.CallTool(t.Context(), "fine", nil)
		said = append(said, fmt.Sprint(err))
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		for _, text := range append(said, strings.Split(seen.String(), "\n")...) {
			if strings.Contains(text, secret) {
				t.Errorf("%s: %s", era, text)
			}
		}
		if trace := seen.String(); !strings.Contains(trace, "tools/call") || strings.Contains(trace, a.at) {
			t.Errorf("%s: the trace shows no call, or where it went:\n%s", era, trace)
		}
	}
}
