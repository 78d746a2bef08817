package gateway

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
)

// newTestSession returns a session whose client has had no initialize. asking is called while a
// notification of the client is delivered.
func newTestSession(t *testing.T, asking func(s *httpSession)) *httpSession {
	t.Helper()
	s := &httpSession{streams: map[uint32]*eventStream{0: {batchOpen: true, isSSE: true}}}
	s.conn = newClientConn(t.Context(), nil, "files")
	s.peer = rpc.NewPeer(rpc.Config{Link: s, Handler: askingConn{sessionConn{s.conn, s}, asking}, Serving: true})
	s.conn.setPeer(s.peer)
	t.Cleanup(func() { s.peer.Close(nil) })
	return s
}

type askingConn struct {
	sessionConn
	asking func(s *httpSession)
}

func (c askingConn) Preempt(string, []byte) { c.asking(c.session) }

func (s *httpSession) postTest(body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.post(&httpExchange{w: w, r: httptest.NewRequest(http.MethodPost, "/mcp/files", nil)}, []byte(body))
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
	if w := s.postTest(initializedNote); w.Code != http.StatusAccepted {
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
