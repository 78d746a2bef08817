//go:build unix

package httpclient

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/capability"
	"github.com/wharf-mcp/wharf/host/internal/capability/captest"
	"github.com/wharf-mcp/wharf/host/internal/hostio"
)

// origin is the grant main of a URL.
func origin(t testing.TB, url string) (*Origin, capability.Grant) {
	t.Helper()
	o, err := ParseOrigin(url)
	if err != nil {
		t.Fatal(err)
	}
	o.Proxy = "direct"
	return o, capability.Grant{Name: "main", To: o}
}

// seenOrigin is an origin whose client the test sees.
type seenOrigin struct {
	*Origin
	client *client
}

func (o *seenOrigin) Opener(limits *capability.Limits) capability.Opener {
	o.client = newClient(o.Origin, limits)
	return o.client
}

// serve starts a server, and returns the grant of its path /mcp.
func serve(t testing.TB, handler http.HandlerFunc) (*Origin, capability.Grant) {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return origin(t, s.URL+"/mcp")
}

// serveRaw answers the request of each connection with what script writes to it, and
// grants it. The connection stays open until the test ends, or script closes it.
func serveRaw(t *testing.T, script func(conn net.Conn, request string)) (*Origin, capability.Grant) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var conns sync.WaitGroup
	over := make(chan struct{})
	conns.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conns.Go(func() {
				defer conn.Close()
				script(conn, readRequest(conn))
				<-over
			})
		}
	})
	t.Cleanup(func() { close(over); l.Close(); conns.Wait() })
	return origin(t, "http://"+l.Addr().String()+"/mcp")
}

// readRequest reads a request whose body begins with {}. A connection that is
// closed with something unread in it would be reset.
func readRequest(conn net.Conn) string {
	var head []byte
	for buf := make([]byte, 1); !bytes.HasSuffix(head, []byte("\r\n\r\n{}")); head = append(head, buf...) {
		if _, err := conn.Read(buf); err != nil {
			break
		}
	}
	return string(head)
}

// ask opens an exchange, sends the body and returns what hears the answer.
func ask(t testing.TB, table *capability.Table, method, target, body string, headers ...abi.Pair) (*captest.Recorder, hostio.Stream) {
	t.Helper()
	r := captest.NewRecorder()
	s, status, err := table.Open(abi.OpenHTTP, &abi.OpenRequest{
		Grant: "main", Method: method, Target: target, Headers: headers,
	}, r)
	if err != nil || status != abi.OK {
		t.Fatalf("open: %v, %v", status, err)
	}
	s.Write([]byte(body), true)
	s.Flush()
	return r, s
}

// post sends a body to the grant main of a table and waits for the whole answer.
func post(t testing.TB, table *capability.Table, body string, headers ...abi.Pair) *captest.Recorder {
	t.Helper()
	r, _ := ask(t, table, "POST", "", body, headers...)
	r.UntilOver()
	return r
}

func TestASmallAnswerIsOneEvent(t *testing.T) {
	_, grant := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Mcp-Session-Id", "s1")
		w.Header().Set("Mcp-Another", "x")
		w.Header().Set("Set-Cookie", "secret=1")
		w.Header().Set("Location", "/elsewhere")
		w.Header().Set("DPoP-Nonce", "n")
		w.Header().Set("Authentication-Info", "n")
		fmt.Fprintf(w, "%s %s %s %s", r.Method, r.URL, r.Header.Get("Accept"), body)
	})
	table := captest.NewTable(t, captest.Patient(grant))
	r := post(t, table, "hello", abi.Pair{Key: "accept", Value: "application/json"})
	captest.WantOrder(t, r, "head")
	want := []abi.Pair{{Key: "content-type", Value: "application/json"}, {Key: "mcp-another", Value: "x"}, {Key: "mcp-session-id", Value: "s1"}}
	if r.HTTPStatus != 200 || !r.Last || !slices.Equal(r.Headers, want) {
		t.Errorf("HEAD %d, last %v, %v", r.HTTPStatus, r.Last, r.Headers)
	}
	if string(r.Bytes) != "POST /mcp application/json hello" {
		t.Errorf("the server saw %q", r.Bytes)
	}
}

func TestNothingIsSentBeforeTheBodyIsWhole(t *testing.T) {
	_, grant := serve(t, func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) })
	table := captest.NewTable(t, captest.Patient(grant))
	r := captest.NewRecorder()
	s, _, err := table.Open(abi.OpenHTTP, &abi.OpenRequest{Grant: "main", Method: "POST"}, r)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"one ", "two ", "three"} {
		p := []byte(part)
		s.Write(p, part == "three")
		s.Flush()
		clear(p) // the owner uses its buffer again
	}
	s.Write([]byte("after the end"), true)
	r.UntilOver()
	if string(r.Bytes) != "one two three" {
		t.Errorf("the server got %q", r.Bytes)
	}
}

func TestAnExchangeThatIsNeverSentGoesWithoutATrace(t *testing.T) {
	_, grant := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") })
	table := captest.NewTable(t, captest.Patient(grant))
	for range 2 {
		r := captest.NewRecorder()
		s, _, err := table.Open(abi.OpenHTTP, &abi.OpenRequest{Grant: "main", Method: "POST"}, r)
		if err != nil {
			t.Fatal(err)
		}
		s.Write([]byte("half a body"), false)
		s.Flush()
		s.Close()
		s.Close()
	}
	ask := func() hostio.Stream {
		s, _, _ := table.Open(abi.OpenHTTP, &abi.OpenRequest{Grant: "main", Method: "POST"}, captest.NewRecorder())
		return s
	}
	late := ask()
	captest.CloseTable(t, table)
	late.Write([]byte("x"), true)
	late.Flush()
	if u := table.Usage(); u.Bodies != 0 || u.Exchanges != 0 {
		t.Errorf("%d bytes and %d exchanges are left", u.Bodies, u.Exchanges)
	}
}

func TestEventStreamIsPassedOnAsItComes(t *testing.T) {
	next := make(chan string)
	_, grant := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		w.(http.Flusher).Flush()
		for event := range next {
			io.WriteString(w, event)
			w.(http.Flusher).Flush()
		}
	})
	table := captest.NewTable(t, captest.Patient(grant))
	r, _ := ask(t, table, "GET", "", "")
	r.UntilWord("head")
	for _, event := range []string{"data: 1\n\n", "data: 2\n\n"} {
		next <- event
		r.Until(func() bool { return strings.HasSuffix(string(r.Bytes), event) })
	}
	close(next)
	r.UntilOver()
	if r.Err != nil {
		t.Error(r.Err)
	}
}

func TestOneChunkOfABodyIsInFlight(t *testing.T) {
	var sent atomic.Int64
	_, grant := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for block := make([]byte, 1<<20); ; sent.Add(1 << 20) {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	})
	table := captest.NewTable(t, captest.Patient(grant))
	r := captest.NewRecorder()
	r.HoldAt = "data"
	s, _, err := table.Open(abi.OpenHTTP, &abi.OpenRequest{Grant: "main", Method: "GET"}, r)
	if err != nil {
		t.Fatal(err)
	}
	s.Write(nil, true)
	s.Flush()
	r.Until(func() bool { return r.InCall && r.Heard("head") })
	s.Close() // while Data is under way
	close(r.Release)
	captest.CloseTable(t, table)
	if r.Heard("error") || len(r.Bytes) > capability.ChunkSize {
		t.Errorf("the sink heard %s with %d bytes", r.Order(), len(r.Bytes))
	}
}

// limit is one of those that an exchange has.
type limit func(*capability.Limits) *time.Duration

func head(l *capability.Limits) *time.Duration { return &l.Head }
func body(l *capability.Limits) *time.Duration { return &l.Body }
func idle(l *capability.Limits) *time.Duration { return &l.Idle }
func none(*capability.Limits) *time.Duration   { return new(time.Duration) }

// The rows of the table of bad answers: what a guest sees, what its user is told,
// and that the next exchange of the same table works.
func TestBadAnswers(t *testing.T) {
	tests := []struct {
		name   string
		answer string // what the server writes; it stays silent after that
		shut   bool   // the server closes the connection then
		limit  limit  // which is short, if that is what ends it
		status abi.Status
		want   string
		heard  string
	}{
		{"no head", "", false, head, abi.TimedOut, "no answer for", "error"},
		{"closed at once", "", true, none, abi.Reset, "without an answer", "error"},
		{"half a head", "HTTP/1.1 200 OK\r\nContent-", false, head, abi.TimedOut, "no answer for", "error"},
		{"no HTTP", "220 mail.example ESMTP\r\n", true, none, abi.ProtocolFailed, "malformed HTTP", "error"},
		{"half a body", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{\"a\"", true, none, abi.Reset, "broke off", "head error"},
		// It says that it closes the connection: a POST is not sent again if it meets the end of a kept one.
		{"no gzip", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Encoding: gzip\r\nContent-Length: 7\r\n\r\nnotgzip", true, none, abi.Reset, "not the gzip that its Content-Encoding says", "head error"},
		{"a body that stops", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{\"a\"", false, body, abi.TimedOut, "not complete after", "head error"},
		{"bad chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", false, none, abi.ProtocolFailed, "", "head error"},
		{"a silent stream", "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n: hi\n\n", false, idle, abi.TimedOut, "nothing came on the event stream", "head data error"},
		{"a long head", "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 2*MaxHeadBytes) + "\r\n\r\n", false, none, abi.ProtocolFailed, "headers exceeded", "error"},
		{"an upgrade", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", false, none, abi.ProtocolFailed, "did not ask", "error"},
		{"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", false, none, abi.ProtocolFailed, "", "error"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, grant := serveRaw(t, func(conn net.Conn, request string) {
				if strings.HasPrefix(request, "POST /mcp?next ") { // the other one may not even have been sent
					io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
					conn.Close()
					return
				}
				io.WriteString(conn, tt.answer)
				if tt.shut {
					conn.Close()
				}
			})
			c := captest.Patient(grant)
			c.Limits.Head, c.Limits.Body, c.Limits.Idle = time.Hour, time.Hour, time.Hour
			*tt.limit(&c.Limits) = 50 * time.Millisecond
			table := captest.NewTable(t, c)
			r, s := ask(t, table, "POST", "", "{}")
			limits := s.(*exchange).Limits() // of the table
			captest.WantError(t, r, tt.status, tt.want)
			r.Until(func() bool { return r.Err != nil })
			captest.WantOrder(t, r, tt.heard)
			limits.Head, limits.Body = time.Hour, time.Hour
			r, _ = ask(t, table, "POST", "?next", "{}")
			if r.UntilOver(); string(r.Bytes) != "ok" {
				t.Errorf("the next exchange: %q, %v", r.Bytes, r.Err)
			}
		})
	}
}

func TestStatusesAreTheGuestsToJudge(t *testing.T) {
	for _, status := range []int{200, 202, 204, 302, 400, 404, 405, 500, 503} {
		_, grant := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(status)
			if status != 204 {
				io.WriteString(w, "<h1>hello</h1>")
			}
		})
		r := post(t, captest.NewTable(t, captest.Patient(grant)), "{}")
		if r.HTTPStatus != status || r.Err != nil || status != 204 && string(r.Bytes) != "<h1>hello</h1>" {
			t.Errorf("%d: HEAD %d, %q, %v", status, r.HTTPStatus, r.Bytes, r.Err)
		}
	}
}

// endless writes blocks until they are not read any more.
func endless(w io.Writer) {
	for block := bytes.Repeat([]byte(" "), 64<<10); ; {
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}

// slim is a recorder that throws the data away.
type slim struct {
	*captest.Recorder
	bytes atomic.Int64
}

func (s *slim) Data(p []byte, last bool) { s.bytes.Add(int64(len(p))) }

func TestABodyWithoutEndIsCutOff(t *testing.T) {
	tests := map[string]http.HandlerFunc{
		"plain": func(w http.ResponseWriter, r *http.Request) { endless(w) },
		"a length of 300 MB": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "314572800")
			endless(w)
		},
		"gzip bomb": func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Accept-Encoding") != "gzip" {
				t.Error("the transport does not decompress")
			}
			w.Header().Set("Content-Encoding", "gzip")
			endless(gzip.NewWriter(w))
		},
	}
	for name, handler := range tests {
		t.Run(name, func(t *testing.T) {
			_, grant := serve(t, handler)
			c := captest.Patient(grant)
			c.Limits.Answer = 1 << 20
			table := captest.NewTable(t, c)
			sink := &slim{Recorder: captest.NewRecorder()}
			s, _, err := table.Open(abi.OpenHTTP, &abi.OpenRequest{Grant: "main", Method: "POST"}, sink)
			if err != nil {
				t.Fatal(err)
			}
			s.Write([]byte("{}"), true)
			s.Flush()
			captest.WantError(t, sink.Recorder, abi.TooLarge, "longer than 1048576 bytes")
			if n := sink.bytes.Load(); n > 1<<20+capability.ChunkSize {
				t.Errorf("%d bytes reached the sink", n)
			}
		})
	}
}

func TestASlowDripHasALimit(t *testing.T) {
	drip := make(chan struct{})
	_, grant := serve(t, func(w http.ResponseWriter, r *http.Request) {
		for range drip {
			io.WriteString(w, " ")
			w.(http.Flusher).Flush()
		}
	})
	c := captest.Patient(grant)
	c.Limits.Body = 50 * time.Millisecond
	table := captest.NewTable(t, c)
	r, _ := ask(t, table, "POST", "", "{}")
	over := make(chan struct{})
	go func() { r.UntilLast(); close(over) }()
	for dripping := true; dripping; {
		select {
		case drip <- struct{}{}:
		case <-over:
			dripping = false
		}
	}
	close(drip)
	captest.WantError(t, r, abi.TimedOut, "not complete after 50ms")
}

func TestAServerThatDoesNotReadIsGivenUp(t *testing.T) {
	_, grant := serveRaw(t, func(net.Conn, string) {})
	c, large := captest.Patient(grant), "{}"+strings.Repeat(" ", 32<<20)
	if _, s := ask(t, captest.NewTable(t, c), "POST", "", large); s.Queued() == 0 {
		t.Error("a body that is not sent is not queued")
	}
	c.Limits.Stall = 50 * time.Millisecond
	r, _ := ask(t, captest.NewTable(t, c), "POST", "", large)
	captest.WantError(t, r, abi.Stalled, "has not read the request for 50ms")
}

// A large body is out of the way when it is sent, however long the answer takes.
func TestALargeBodyDrains(t *testing.T) {
	answer := make(chan struct{})
	_, grant := serve(t, func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		<-answer
		fmt.Fprint(w, n)
	})
	table := captest.NewTable(t, captest.Patient(grant))
	r, s := ask(t, table, "POST", "", strings.Repeat("x", 8<<20))
	r.UntilWord("drained")
	if queued := s.Queued(); queued > capability.ChunkSize {
		t.Errorf("Queued is %d", queued)
	}
	close(answer)
	r.UntilOver()
	if order := r.Order(); string(r.Bytes) != "8388608" || order != "drained head" {
		t.Errorf("the server got %s bytes, the sink heard %q", r.Bytes, order)
	}
}

func TestBodiesAreBounded(t *testing.T) {
	_, grant := serve(t, func(w http.ResponseWriter, r *http.Request) { t.Error("a request was sent") })
	c := captest.Patient(grant)
	c.Limits.Bodies = 1000
	table := captest.NewTable(t, c)
	s, _, _ := table.Open(abi.OpenHTTP, &abi.OpenRequest{Grant: "main", Method: "POST"}, captest.NewRecorder())
	s.Write(make([]byte, 600), false)
	r, _ := ask(t, table, "POST", "", strings.Repeat("x", 600))
	captest.WantError(t, r, abi.TooLarge, "hold more than 1000 bytes")
	s.Close()
}

func TestAGetHasNoBody(t *testing.T) {
	_, grant := serve(t, func(w http.ResponseWriter, r *http.Request) { t.Error("a request was sent") })
	r, _ := ask(t, captest.NewTable(t, captest.Patient(grant)), "GET", "", "x")
	captest.WantError(t, r, abi.Malformed, "a GET has no body")
}

func TestCloseEndsWhatIsUnderWay(t *testing.T) {
	for _, method := range []string{"POST", "DELETE"} {
		arrived, left := make(chan struct{}), make(chan struct{})
		_, grant := serve(t, func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body) // the server looks for the end of the connection after it
			close(arrived)
			<-r.Context().Done()
			close(left)
		})
		table := captest.NewTable(t, captest.Patient(grant))
		r, s := ask(t, table, method, "", "")
		<-arrived
		if method == "POST" {
			s.Close() // a caller that left
		} else {
			captest.CloseTable(t, table) // a DELETE that hangs holds nothing up
		}
		<-left
		captest.CloseTable(t, table)
		if order := r.Order(); order != "" {
			t.Errorf("%s: the sink heard %q after Close", method, order)
		}
	}
}

// net/http keeps a connection whose writer notes within 50 ms of the answer that the
// request is out. On a busy machine some do not, and not all goroutines are free again
// by the next exchange; but most are.
func TestConnectionsAreUsedAgain(t *testing.T) {
	var conns atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(w, r.Body)
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			conns.Add(1)
		}
	}
	s.Start()
	defer s.Close()
	o, _ := origin(t, s.URL)
	seen := &seenOrigin{Origin: o}
	table := captest.NewTable(t, captest.Patient(capability.Grant{Name: "main", To: seen}))
	for range 50 {
		r, s := ask(t, table, "POST", "", "{}")
		r.UntilOver()
		s.Close()
	}
	if n := conns.Load(); n > 25 {
		t.Errorf("50 exchanges took %d connections", n)
	}
	if n := table.Usage().IdleWorkers; n > 8 {
		t.Errorf("50 exchanges in a row took %d goroutines", n)
	}
	if err := table.Close(context.Background()); err != nil || seen.client.dialer.Conns() != 0 {
		t.Errorf("close: %v; %d connections are left", err, seen.client.dialer.Conns())
	}
}

func TestManyAtOnceUseNoMoreThan128Connections(t *testing.T) {
	var conns, most atomic.Int32
	here, let := make(chan struct{}, 200), make(chan struct{})
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		here <- struct{}{}
		<-let
		io.Copy(w, r.Body)
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			most.Store(max(most.Load(), conns.Add(1))) // one goroutine accepts
		case http.StateClosed:
			conns.Add(-1)
		}
	}
	s.Start()
	defer s.Close()
	_, grant := origin(t, s.URL)
	table := captest.NewTable(t, captest.Patient(grant))
	var all []*captest.Recorder
	for range 200 {
		r, _ := ask(t, table, "POST", "", "{}")
		all = append(all, r)
	}
	for range 128 {
		<-here
	}
	close(let)
	for _, r := range all {
		if r.UntilOver(); string(r.Bytes) != "{}" {
			t.Fatalf("%q, %v", r.Bytes, r.Err)
		}
	}
	if n := most.Load(); n > 160 { // the server may see late that one is gone
		t.Errorf("%d connections at once", n)
	}
	captest.CloseTable(t, table)
	if n := table.Usage().IdleWorkers; n != 0 {
		t.Errorf("%d goroutines are left", n)
	}
}

func TestExchangesAreBoundedAndNotRated(t *testing.T) {
	_, grant := serve(t, func(w http.ResponseWriter, r *http.Request) {})
	c := captest.Patient(grant)
	c.Limits.Exchanges, c.Limits.Burst, c.Limits.Refill = 3, 1, time.Hour
	table := captest.NewTable(t, c)
	var streams []hostio.Stream
	for range 3 {
		s, _, err := table.Open(abi.OpenHTTP, &abi.OpenRequest{Grant: "main", Method: "POST"}, captest.NewRecorder())
		if err != nil {
			t.Fatal(err)
		}
		streams = append(streams, s)
	}
	_, status, err := table.Open(abi.OpenHTTP, &abi.OpenRequest{Grant: "main", Method: "POST"}, captest.NewRecorder())
	if status != abi.LimitReached || err == nil {
		t.Errorf("a fourth exchange: %v, %v", status, err)
	}
	for _, s := range streams {
		s.Close()
	}
	post(t, table, "{}")
}

func TestErrorsOfTheNetwork(t *testing.T) {
	const refused = "127.0.0.1:1" // which the system gives to no program
	tests := []struct {
		url    string
		status abi.Status
		want   string
	}{
		{"http://" + refused + "/mcp?key=secret", abi.Unreachable, "POST http://" + refused + "/mcp: connection refused; is the server running?"},
		{"http://nowhere.invalid/mcp", 0, "nowhere.invalid"},
		{"unix://" + t.TempDir() + "/none#/mcp", abi.NotFound, "is this its socket?"},
	}
	for _, tt := range tests {
		_, grant := origin(t, tt.url)
		r := post(t, captest.NewTable(t, captest.Patient(grant)), "{}")
		if tt.status != 0 && r.Status != tt.status || !strings.Contains(r.Err.Error(), tt.want) || strings.Contains(r.Err.Error(), "secret") {
			t.Errorf("%s: %v, %v", tt.url, r.Status, r.Err)
		}
	}
}

func TestDialsThatHangAreGivenUp(t *testing.T) {
	_, grant := origin(t, "http://127.0.0.1:1/mcp")
	c := captest.Patient(grant)
	c.Limits.Dial = time.Nanosecond
	r := post(t, captest.NewTable(t, c), "{}")
	if r.Status != abi.TimedOut {
		t.Errorf("%v, %v", r.Status, r.Err)
	}
}

func TestAnOriginThatCannotBeUsedSaysWhy(t *testing.T) {
	o, grant := origin(t, "https://127.0.0.1:1/mcp")
	o.TLS.CAFile = t.TempDir() + "/none.pem"
	if err := o.Check(); err == nil {
		t.Error("Check finds nothing")
	}
	r := post(t, captest.NewTable(t, captest.Patient(grant)), "{}")
	if r.Err == nil || !strings.Contains(r.Err.Error(), "none.pem") {
		t.Errorf("%v, %v", r.Status, r.Err)
	}
}
