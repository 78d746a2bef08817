package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
)

// newTestSession returns a session whose client has had no initialize. asking is called while a
// notification of the client is delivered.
func newTestSession(t *testing.T, asking func(s *httpSession)) *httpSession {
	t.Helper()
	s := &httpSession{keptClient: keptClient{handler: &handler{usage: make(map[string]usage)}}, streams: map[uint32]*eventStream{0: {batchOpen: true, isSSE: true}}}
	s.conn = newClientConn(t.Context(), nil, origin{}, "files")
	s.peer = rpc.NewPeer(rpc.Config{Link: s, Handler: askingConn{sessionConn{s.conn, s}, asking}, Serving: true})
	s.conn.peer = s.peer
	t.Cleanup(func() { s.peer.Close(nil) })
	return s
}

// askingConn answers requests only at the end of their context.
type askingConn struct {
	sessionConn
	asking func(s *httpSession)
}

func (c askingConn) Request(ctx context.Context, in *rpc.Incoming) (rpc.Appender, error) {
	<-ctx.Done()
	c.cancellations.end(in.ID())
	return nil, context.Cause(ctx)
}

func (c askingConn) Preempt(string, []byte) { c.asking(c.session) }

func (s *httpSession) postTest(ctx context.Context, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	a := s.handler.admit("me", int64(len(body)))
	defer a.release()
	s.post(&httpExchange{w: w, admission: a, r: httptest.NewRequestWithContext(ctx, http.MethodPost, "/mcp/files", nil)}, []byte(body))
	return w
}

// A server asks while a POST is taken that is no request. The response to that POST has no body, so
// the question waits for who listens.
func TestQuestionWhileAPOSTIsNoRequest(t *testing.T) {
	asked := make(chan error, 1)
	s := newTestSession(t, func(s *httpSession) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			_, err := peerChannel{conn: s.conn}.ask(ctx, "sampling/createMessage", json.RawMessage(`{}`))
			asked <- err
		}()
		for { // until the question was given to a stream
			s.mu.Lock()
			n := len(s.kept)
			s.mu.Unlock()
			if n > 0 {
				return
			}
			runtime.Gosched()
		}
	})
	if w := s.postTest(t.Context(), initializedNote); w.Code != http.StatusAccepted {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	<-asked
	st, box := s.resume("0-0")
	if st == nil {
		t.Fatal("the events are not kept")
	}
	events, _ := box.take()
	if len(events) == 0 || !strings.Contains(string(events[0].text), `"method":"sampling/createMessage"`) {
		t.Errorf("who listens gets %v", events)
	}
}

const initializedNote = `{"jsonrpc":"2.0","method":"notifications/initialized"}`

// A request that is served holds what it took of the bounds of its principal, even if the client has
// hung up.
func TestRequestsKeepTheirShare(t *testing.T) { synctest.Test(t, requestsKeepTheirShare) }

func requestsKeepTheirShare(t *testing.T) {
	s := newTestSession(t, nil)
	const body = `{"jsonrpc":"2.0","id":1,"method":"x/own"}`
	left, leave := context.WithCancel(t.Context())
	leave()
	s.postTest(left, body)
	if u := s.handler.usage["me"]; u != (usage{1, int64(len(body))}) {
		t.Errorf("while the request is served: %+v", u)
	}
	s.peer.Close(nil)
	synctest.Wait()
	if len(s.handler.usage) > 0 {
		t.Errorf("after it: %+v", s.handler.usage)
	}
	if len(s.streams) != 1 {
		t.Errorf("%d streams", len(s.streams))
	}
}

// S9: a principal has so many requests and bytes at once, and takes none of those of another. A single request may
// be as long as any.
func TestS9RequestsOfAPrincipal(t *testing.T) {
	h := &handler{usage: make(map[string]usage)}
	var held []*admission
	for range maxRequestsOf {
		held = append(held, h.admit("me", 1))
	}
	if h.admit("me", 1) != nil || h.admit("you", 1) == nil {
		t.Errorf("after %d requests of one: %+v", maxRequestsOf, h.usage)
	}
	held[0].hold() // a second one needs it
	held[0].release()
	if h.admit("me", 1) != nil {
		t.Error("a request is admitted in place of one that is still served")
	}
	held[0].release()
	if h.admit("me", 1) == nil {
		t.Error("no request is admitted in place of one that has ended")
	}
	if h.admit("large", maxBytesOf+1) == nil || h.admit("large", 1) != nil || h.admit("two", 1) == nil || h.admit("two", maxBytesOf) != nil {
		t.Errorf("%+v", h.usage)
	}
}

// One principal cannot take all sessions, whatever paths it uses.
func TestSessionsOfAPrincipal(t *testing.T) {
	h := &handler{sessions: make(map[string]*httpSession), moderns: make(map[modernKey]*httpModern)}
	for n := range maxClientsOf {
		path := fmt.Sprint(n)
		if n%2 == 0 {
			h.sessions[path] = &httpSession{principal: "me", serverName: path}
		} else {
			h.moderns[modernKey{principal: "me", serverName: path}] = &httpModern{}
		}
	}
	const most = "this client has 256 sessions at all paths, which is the most: end one with DELETE"
	if _, why := h.openSession(&httpExchange{principal: "me", serverName: "files"}); why != most {
		t.Errorf("a legacy session: %q", why)
	}
	if _, why := h.modern(&httpExchange{principal: "me", serverName: "files"}, nil, [32]byte{}); why != most {
		t.Errorf("a modern client: %q", why)
	}
	if why := h.full("you"); why != "" {
		t.Errorf("another principal: %q", why)
	}
}

// Clients that offer the same are one client, in whatever order they write it.
func TestHashCapabilities(t *testing.T) {
	one := hashCapabilities([]byte(`{"sampling":{"tools":{},"n":1.50},"roots":{}}`))
	if hashCapabilities([]byte(`{ "roots":{}, "sampling":{"n":1.50,"tools":{}}}`)) != one {
		t.Error("the order of members counts")
	}
	for _, other := range []string{`{"sampling":{"tools":{},"n":1.5},"roots":{}}`, `{"sampling":{},"roots":{}}`, `{`} {
		if hashCapabilities([]byte(other)) == one {
			t.Errorf("%s is the same", other)
		}
	}
}
