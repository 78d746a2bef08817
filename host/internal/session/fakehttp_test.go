package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// post is a message that a fakeHTTP received, as an HTTP request of its own.
type post struct {
	message
	peer     *rpc.Peer
	hangUp   func()
	exchange uint32
	facts    abi.Facts
}

// header returns a header that shows a part of the message.
func (p post) header(name string) (value string, ok bool) {
	for _, h := range p.facts.Headers {
		if h.Key == name {
			return h.Value, true
		}
	}
	return "", false
}

// reaction is what a fakeHTTP does about a message.
type reaction func(s *fakeHTTP, p post)

// fakeHTTP is a scripted server behind HTTP. What it has no reaction for it refuses,
// and notifications it takes silently.
type fakeHTTP struct {
	t *testing.T

	mu     sync.Mutex
	on     map[string]reaction
	dials  int
	posts  []post
	left   []uint32
	status map[uint32]int // of the exchanges that were answered with an error

	conns   []*Dialed // all of them, in order
	after   uint64    // the number after which the next connection counts
	resumed int       // connections that went on with another
	leaves  int       // connections that were left
}

// newFakeHTTP makes a fakeHTTP; a reaction may be for a method, or for a tool as in
// "tools/call echo".
func newFakeHTTP(t *testing.T, on map[string]reaction) *fakeHTTP {
	return &fakeHTTP{t: t, on: on, status: make(map[uint32]int)}
}

// wire is a connection to a fakeHTTP: its link and its transport.
type wire struct {
	*fakeHTTP
	peer *rpc.Peer
	done chan struct{}
	end  sync.Once
}

func (s *fakeHTTP) dial(_ context.Context, h rpc.Handler) (*Dialed, error) {
	w := &wire{fakeHTTP: s, done: make(chan struct{})}
	w.peer = rpc.NewPeer(rpc.Config{Link: w, Handler: h, Status: s.statusOf, After: s.after})
	s.dials++
	c := &Dialed{Peer: w.peer, Transport: w, StreamCancel: true, Probe: abi.ProbeHTTP}
	s.conns = append(s.conns, c)
	return c, nil
}

func (s *fakeHTTP) statusOf(exchange uint32) (status int, wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status[exchange], 0
}

func (s *wire) Send(_ context.Context, m *rpc.Message) error {
	defer m.Free()
	p := post{exchange: m.Exchange(), peer: s.peer, hangUp: func() { s.Shutdown(context.Background()) }}
	payload, start := m.Payload()
	var err error
	if p.facts, err = abi.DecodeFacts(payload[:start]); err != nil {
		s.t.Error(err)
	}
	if err := json.Unmarshal(m.Body(), &p.message); err != nil {
		s.t.Errorf("sent %s: %v", m.Body(), err)
	}
	s.mu.Lock()
	s.posts = append(s.posts, p)
	react := s.on[p.Method+" "+p.facts.Name]
	if react == nil {
		react = s.on[p.Method]
	}
	s.mu.Unlock()
	switch {
	case react != nil:
		react(s.fakeHTTP, p)
	case p.facts.Kind == abi.Request:
		no(404, mcp.CodeMethodNotFound)(s.fakeHTTP, p)
	default:
		s.peer.Done(p.exchange)
	}
	return nil
}

func (s *wire) Cancel(exchange uint32) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left = append(s.left, exchange)
	return false
}

func (s *wire) AfterEnd(f func()) (stop func() bool) { return afterEnd(s.done, f) }
func (s *wire) Done() <-chan struct{}                { return s.done }
func (s *wire) Err() error                           { return nil }

func (s *wire) Shutdown(context.Context) error {
	s.end.Do(func() { s.peer.Close(nil); close(s.done) })
	return nil
}

func (s *wire) Leave(ctx context.Context) error {
	s.leaves++
	return s.Shutdown(ctx)
}

// received returns the methods seen so far, each with its epoch, in order.
func (s *fakeHTTP) received() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var seen []string
	for _, p := range s.posts {
		seen = append(seen, fmt.Sprint(p.Method, "/", p.facts.Epoch))
	}
	return strings.Join(seen, " ")
}

// find returns the messages of a method.
func (s *fakeHTTP) find(method string) (found []post) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.posts {
		if p.Method == method {
			found = append(found, p)
		}
	}
	return found
}

func (s *fakeHTTP) react(method string, r reaction) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.on[method] = r
}

// ok answers with a result.
func ok(result string) reaction {
	return func(s *fakeHTTP, p post) {
		p.peer.Deliver(p.exchange, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, p.ID, result), false)
		p.peer.Done(p.exchange)
	}
}

// no answers with an error in a body of that status.
func no(status, code int, data ...string) reaction {
	more := ""
	if len(data) > 0 {
		more = `,"data":` + data[0]
	}
	return func(s *fakeHTTP, p post) {
		s.mu.Lock()
		s.status[p.exchange] = status
		s.mu.Unlock()
		p.peer.Deliver(p.exchange, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":"no"%s}}`, code, more), false)
		p.peer.Done(p.exchange)
	}
}

// respondHTTP answers with a status and nothing that is JSON-RPC.
func respondHTTP(code int) reaction {
	return func(s *fakeHTTP, p post) {
		p.peer.Failed(p.exchange, &rpc.StatusError{HTTP: code, Refused: code >= 400, Err: fmt.Errorf("HTTP %d: <html>", code)})
	}
}

// gone is the 404 of a server that has forgotten the session.
func gone(s *fakeHTTP, p post) {
	p.peer.Expired(p.exchange)
	respondHTTP(404)(s, p)
}

func unreachable(s *fakeHTTP, p post) { p.peer.Failed(p.exchange, errors.New("connection refused")) }
func mute(*fakeHTTP, post)            {}
func unanswered(s *fakeHTTP, p post)  { p.peer.Done(p.exchange) }

// inTurn reacts to each message in another way, and to the rest in the last.
func inTurn(all ...reaction) reaction {
	var mu sync.Mutex
	return func(s *fakeHTTP, p post) {
		mu.Lock()
		react := all[0]
		if len(all) > 1 {
			all = all[1:]
		}
		mu.Unlock()
		react(s, p)
	}
}

func oldHTTPScript() map[string]reaction {
	return map[string]reaction{
		"server/discover": no(400, -32000),
		"initialize":      ok(initializeResult(mcp.LatestLegacy)),
		"tools/call":      ok(echoResult),
	}
}

func newHTTPScript() map[string]reaction {
	return map[string]reaction{
		"server/discover": ok(discoverResult),
		"tools/list":      ok(`{"tools":[]}`),
		"tools/call":      ok(echoResult),
	}
}

func (s *fakeHTTP) config() setup {
	return setup{ConnectOptions: ConnectOptions{Dial: s.dial}, Config: Config{
		Name: "far", Client: mcp.Implementation{Name: "wharf", Version: "1"},
		Warn: func(text string) { s.t.Logf("warning: %s", text) },
	}}
}

// open opens a session that the test closes at its end.
func (s *fakeHTTP) open(change ...func(*setup)) *Session {
	s.t.Helper()
	cfg := s.config()
	for _, f := range change {
		f(&cfg)
	}
	out, err := Open(s.t.Context(), cfg)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { out.Close() })
	return out
}

// visit runs a test on a fakeHTTP in a world of its own.
func visit(t *testing.T, on map[string]reaction, f func(t *testing.T, s *fakeHTTP)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, newFakeHTTP(t, on)) })
}

// later reacts after a while.
func later(d time.Duration, r reaction) reaction {
	return func(s *fakeHTTP, p post) { time.AfterFunc(d, func() { r(s, p) }) }
}
