package gateway_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/gateway"
)

// byHeader takes the header User for the name of the principal.
func byHeader(_ *host.Config, c *gateway.Config) {
	c.Principal = func(r *http.Request) (string, error) { return r.Header.Get("User"), nil }
}

// begun makes a call of a legacy client that has had progress, and returns its response, which ends
// with leave.
func (s *site) begun(srv *end, session string) (a *answer, leave func()) {
	s.t.Helper()
	ctx, leave := context.WithCancel(s.t.Context())
	delete(s.vars, "a")
	delete(s.vars, "token")
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		srv.want(`{"jsonrpc":"2.0","id":$a,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":$token}}}`)
		srv.send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":$token,"progress":1}}`)
	}()
	a = s.do(ctx, "POST", call, session)
	<-sent
	return a, leave
}

const progressed = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1}}`

// A response that breaks off cancels nothing. The client resumes it where it was.
func TestResumption(t *testing.T) {
	s := newSite(t, legacy)
	session, srv := s.open(legacy, `{}`)
	a, leave := s.begun(srv, session)
	a.events("3-0", "3-1 "+progressed)
	resumed := s.do(t.Context(), "GET", "", session, "Last-Event-ID: 3-0") // while the response is open
	resumed.events("3-0", "3-1 "+progressed)
	a.events("")
	leave()
	srv.send(`{"jsonrpc":"2.0","id":$a,"result":{"x":1}}`)
	const result = `{"jsonrpc":"2.0","id":"a-1","result":{"x":1}}`
	resumed.events("3-2 "+result, "")
	s.do(t.Context(), "GET", "", session, "Last-Event-ID: 3-1").events("3-1", "3-2 "+result, "")
	for _, bad := range []string{"3-3", "4-0", "3", "3-", "-1", "x", "3-0x", "03-0", "4294967296-0", "0-1"} {
		if a := s.do(t.Context(), "GET", "", session, "Last-Event-ID: "+bad); a.StatusCode != 400 {
			t.Errorf("%s: %d", bad, a.StatusCode)
		}
	}

	// What is kept is bounded: for the next response nothing of this one is left.
	const count = 1100
	a, leave = s.begun(srv, session)
	defer leave()
	for range count {
		srv.send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`)
	}
	srv.send(`{"jsonrpc":"2.0","id":$a,"result":{}}`)
	for a.event() != "" {
	}
	for last, status := range map[string]int{"3-0": 400, "4-0": 400, fmt.Sprintf("4-%d", count): 200} {
		if a := s.do(t.Context(), "GET", "", session, "Last-Event-ID: "+last); a.StatusCode != status {
			t.Errorf("%s: %d", last, a.StatusCode)
		}
	}
}

// An older client is not sent events without data.
func TestOlderClientOverHTTP(t *testing.T) {
	s := newSite(t, legacy)
	session, srv := s.open("2025-06-18", `{}`)
	a, leave := s.begun(srv, session)
	defer leave()
	a.events("3-1 " + progressed)
	if a := s.post("["+call+"]", session); a.StatusCode != 400 {
		t.Errorf("an array: %d", a.StatusCode)
	}
}

// Arrays are for the one revision that has them. Each message in one has its answer.
func TestBatchOverHTTP(t *testing.T) {
	s := newSite(t, legacy)
	session, _ := s.open("2025-03-26", `{}`)
	ping := func(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}` }
	a := s.post("\n["+ping("1")+`,{"jsonrpc":"2.0","method":"notifications/roots/list_changed"},{"jsonrpc":"2.0","id":2,"method":7},`+ping(`"3"`)+"]", session)
	got := make(map[string]bool)
	for e := a.event(); e != ""; e = a.event() {
		_, e, _ = strings.Cut(e, " ")
		got[e] = true
	}
	for _, want := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":"3","result":{}}`,
		`{"jsonrpc":"2.0","id":2,"error":{"code":-32600,"message":"malformed message: method is not a string"}}`,
	} {
		if !got[want] || len(got) != 3 {
			t.Errorf("no %s in %v", want, got)
		}
	}
	s.post(`[`+initialized+`,`+initialized+`]`, session).want(202, "")
	for _, bad := range []string{"[]", "[", "[" + strings.Repeat(ping("1")+",", 100) + ping("1") + "]"} {
		if a := s.post(bad, session); a.StatusCode != 400 {
			t.Errorf("%.20s: %d", bad, a.StatusCode)
		}
	}
}

// A request that the client cancels has no answer, but its response ends.
func TestCancelledOverHTTP(t *testing.T) {
	s := newSite(t, legacy)
	session, srv := s.open(legacy, `{}`)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.post(`{"jsonrpc":"2.0","id":1,"method":"x/own"}`, session).events("3-0", "")
	}()
	srv.want(`{"jsonrpc":"2.0","id":$a,"method":"x/own"}`)
	s.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, session).want(202, "")
	<-ended
	srv.want(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":$a}}`)
}

// A session belongs to its principal and its path, and to nobody else it is there.
func TestSessionsArePrivate(t *testing.T) {
	s := newSite(t, legacy, byHeader)
	session, _ := s.open(legacy, `{}`)
	for _, method := range []string{"POST", "GET", "DELETE"} {
		if a := s.do(t.Context(), method, initialized, session, "User: eve"); a.StatusCode != 404 {
			t.Errorf("%s: %d", method, a.StatusCode)
		}
	}
	s.post(initialized, session).want(202, "")
	if a := s.post(initialized, session, "Mcp-Protocol-Version: 2020-01-01"); a.StatusCode != 400 {
		t.Errorf("unknown revision: %d", a.StatusCode)
	}
	if a := s.do(t.Context(), "GET", "", session, "Accept:", "Accept: application/json"); a.StatusCode != 406 {
		t.Errorf("no events: %d", a.StatusCode)
	}
}

// Sessions of a principal are few, and end when they are not used.
func TestSessionsAreBounded(t *testing.T) {
	s := newSite(t, legacy, byHeader)
	go func() {
		for srv := range s.servers {
			go newEnd(t, "server", srv, map[string]string{}).answerHandshake(legacy) // the test may end before the handshake
		}
	}()
	t.Cleanup(func() { close(s.servers) })
	var all []string
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	open := func() string {
		a := s.post(initialize("0", legacy, `{}`), "User: a")
		id := a.Header.Get("Mcp-Session-Id")
		if a.StatusCode != 200 || len(id) < 26 {
			t.Fatalf("%d: %d %q", len(all), a.StatusCode, id)
		}
		io.Copy(io.Discard, a.Body)
		return id
	}
	for range 66 {
		all = append(all, open())
	}
	for _, id := range all[:2] { // which were idle for the longest time
		if a := s.post(initialized, "User: a", "Mcp-Session-Id: "+id); a.StatusCode != 404 {
			t.Errorf("a session that has made room: %d", a.StatusCode)
		}
	}
	all = all[2:]
	last := all[len(all)-1]
	for _, id := range all {
		s.do(ctx, "GET", "", "User: a", "Mcp-Session-Id: "+id).event()
	}
	a := s.post(initialize("0", legacy, `{}`), "User: a")
	if body, _ := io.ReadAll(a.Body); a.StatusCode != 503 || a.Header.Get("Retry-After") == "" || !strings.Contains(string(body), "this client has 64 sessions here, all in use") {
		t.Errorf("one more: %d %s", a.StatusCode, body)
	}
	if a := s.post(initialize("0", legacy, `{}`), "User: b"); a.StatusCode != 200 {
		t.Errorf("another principal: %d", a.StatusCode)
	}
	s.do(t.Context(), "DELETE", "", "User: a", "Mcp-Session-Id: "+last).want(204, "")
	if a := s.post(initialize("0", legacy, `{}`), "User: a"); a.StatusCode != 200 {
		t.Errorf("in place of one that has ended: %d", a.StatusCode)
	}
}

// A client that sends nothing is forgotten, but not while it listens.
func TestIdleSessionsEnd(t *testing.T) {
	s := newSite(t, legacy)
	session, srv := s.open(legacy, `{}`)
	ctx, leave := context.WithCancel(t.Context())
	l := s.do(ctx, "GET", "", session)
	l.event()
	gateway.SetIdle(s.handler, 1)
	s.post(initialized, session).want(202, "")
	leave()
	for range srv.lines { // until the server is left
	}
	if a := s.post(initialized, session); a.StatusCode != 404 {
		t.Errorf("a forgotten session: %d", a.StatusCode)
	}
}

// A principal may send so much at once.
func TestRequestsAreBounded(t *testing.T) {
	s := newSite(t, legacy)
	body, rest := io.Pipe()
	ctx, leave := context.WithCancel(t.Context())
	var slow sync.WaitGroup
	for range 8 {
		slow.Go(func() {
			for ctx.Err() == nil { // again where status came between
				r, _ := http.NewRequestWithContext(ctx, "POST", s.url, io.MultiReader(bytes.NewReader(make([]byte, 64<<10)), body))
				r.Header.Set("Content-Type", "application/json")
				r.ContentLength = 16 << 20
				if a, err := s.client.Do(r); err == nil {
					a.Body.Close()
				}
			}
		})
	}
	status := func() int {
		a := s.post("{")
		io.Copy(io.Discard, a.Body)
		return a.StatusCode
	}
	for status() != 503 {
	}
	leave()
	rest.Close()
	slow.Wait()
	for status() == 503 {
	}
}

// A gateway that ends tells the clients that listen, and leaves no response open.
func TestGatewayEndsOverHTTP(t *testing.T) {
	s := newSite(t, legacy)
	session, srv := s.open(legacy, `{}`)
	l := s.do(t.Context(), "GET", "", session)
	l.events("0-0")
	a, leave := s.begun(srv, session)
	defer leave()
	a.events("3-0", "3-1 "+progressed)
	var greeting sync.WaitGroup
	greeting.Go(func() { s.server().greet(legacy) })
	m := s.post(`{"jsonrpc":"2.0","id":"li","method":"subscriptions/listen","params":{`+modernMeta(`{}`, "")+`,"notifications":{}}}`, modernHeaders("subscriptions/listen")...)
	m.events(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{},"_meta":{"io.modelcontextprotocol/subscriptionId":"li"}}}`)
	greeting.Wait() // before Close, which takes what the server has not read
	if err := s.gateway.Close(); err != nil {
		t.Error(err)
	}
	m.events(`{"jsonrpc":"2.0","id":"li","result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":"li"}}}`, "")
	l.events("")
	a.events(`3-2 {"jsonrpc":"2.0","id":"a-1","error":{"code":-32603,"message":"the gateway is ending; the server may have acted on the request","data":{"kind":"unreachable","maybeSent":true,"ending":true}}}`, "")
	if a := s.post(initialize("0", legacy, `{}`)); a.StatusCode != 503 {
		t.Errorf("a closed gateway: %d", a.StatusCode)
	}
}

// discover has a modern client that offers so much find out about its server, which is started for it
// if fresh says so. It returns the server.
func (s *site) discover(offered string, fresh bool) (srv *end) {
	s.t.Helper()
	started := make(chan *end, 1)
	if fresh {
		go func() {
			srv := newEnd(s.t, "server", <-s.servers, map[string]string{})
			if got := srv.read(); !strings.Contains(got, `"capabilities":`+offered) {
				s.t.Errorf("%s, want %s", got, offered)
			}
			srv.send(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}`)
			started <- srv
		}()
	}
	a := s.post(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{`+modernMeta(offered, "")+`}}`, modernHeaders("server/discover")...)
	if body, _ := io.ReadAll(a.Body); a.StatusCode != 200 || !strings.Contains(string(body), `"result"`) {
		s.t.Fatalf("%s: %d %s", offered, a.StatusCode, body)
	}
	if fresh {
		srv = <-started
	}
	return srv
}

const maxModerns = 16 // of one principal

func offering(n int) string { return fmt.Sprintf(`{"roots":{"n":%d}}`, n) }

// A legacy server is told once what a client offers, so modern clients that offer something else are
// other clients to it. They are few.
func TestModernClientsByCapabilities(t *testing.T) {
	s := newSite(t, legacy)
	first := s.discover(offering(0), true)
	for n := 1; n <= maxModerns; n++ {
		s.discover(offering(n), true)
	}
	for range first.lines { // it has ended, and its place was taken
	}
	s.discover(offering(maxModerns), false)
	s.discover(offering(0), true)
}

// A client that was asked is not forgotten before it has answered, whatever others come.
func TestParkedClientIsKept(t *testing.T) {
	s := newSite(t, legacy)
	const offered = `{"sampling":{}}`
	asked, _ := s.parked(offered)
	for n := range 2 * maxModerns {
		s.discover(offering(n), true)
	}
	state := requestState.FindStringSubmatch(asked)
	if state == nil {
		t.Fatal(asked)
	}
	if got := s.getPrompt(offered, `,"requestState":"`+state[1]+`"`); !strings.Contains(got, `"input_required"`) {
		t.Errorf("it comes back and gets %s", got)
	}
}

// A gateway that ends before a server has answered says so to the client that opens a session.
func TestInitializeIsCutOff(t *testing.T) {
	s := newSite(t, legacy)
	answered := make(chan *answer)
	go func() { answered <- s.post(initialize("0", legacy, `{}`)) }()
	s.server().read()
	if err := s.gateway.Close(); err != nil {
		t.Error(err)
	}
	if a := <-answered; a.StatusCode != 503 || a.Header.Get("Retry-After") == "" || a.Header.Get("Mcp-Session-Id") != "" {
		t.Errorf("%d %v", a.StatusCode, a.Header)
	}
}

// parked has the call of a modern client that offers so much parked by a question of a legacy server. It returns the result that asks the client, and the server.
func (s *site) parked(offered string) (result string, srv *end) {
	s.t.Helper()
	asked := make(chan *end)
	go func() {
		srv := newEnd(s.t, "server", <-s.servers, map[string]string{})
		srv.greet(legacy)
		srv.want(`{"jsonrpc":"2.0","id":$call,"method":"prompts/get","params":{"name":"t"}}`)
		srv.send(`{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{}}`)
		asked <- srv
	}()
	result = s.getPrompt(offered, "")
	return result, <-asked
}

// getPrompt asks for a prompt for a modern client, and returns the response.
func (s *site) getPrompt(offered, more string) string {
	s.t.Helper()
	a := s.post(`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"t",`+modernMeta(offered, "")+more+`}}`, modernHeaders("prompts/get", "Mcp-Name: t")...)
	body, _ := io.ReadAll(a.Body)
	return string(body)
}

var requestState = regexp.MustCompile(`"requestState":"([^"]+)"`)

// A requestState names one call of all clients: those that offer something else have calls of their
// own, perhaps the same.
func TestStateOfAnotherClient(t *testing.T) {
	s := newSite(t, legacy)
	const one, other = `{"sampling":{}}`, `{"sampling":{},"roots":{}}`
	first, _ := s.parked(one)
	s.parked(other)
	state := requestState.FindStringSubmatch(first)
	if state == nil {
		t.Fatal(first)
	}
	if got := s.getPrompt(other, `,"requestState":"`+state[1]+`"`); !strings.Contains(got, "requestState has expired") {
		t.Errorf("the other client got %s", got)
	}
	if got := s.getPrompt(one, `,"requestState":"`+state[1]+`"`); !strings.Contains(got, `"input_required"`) {
		t.Errorf("its own client got %s", got)
	}
}
