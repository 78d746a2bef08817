package session

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// inWords refuses with HTTP 400 and an error in these words, of no request.
func inWords(message string) reaction {
	return func(s *fakeHTTP, p post) {
		s.mu.Lock()
		s.status[p.exchange] = 400
		s.mu.Unlock()
		p.peer.Deliver(p.exchange, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":%q}}`, message), false)
		p.peer.Done(p.exchange)
	}
}

// inText refuses with HTTP 400 and a text.
func inText(text string) reaction {
	return func(s *fakeHTTP, p post) {
		p.peer.Failed(p.exchange, &rpc.StatusError{HTTP: 400, Refused: true, Err: errors.New("HTTP 400: " + text)})
	}
}

const noSession = "Bad Request: No valid session ID provided" // as the SDK in TypeScript says it

// TestSessionLost has a server that says with HTTP 400 that it knows no session: the call finds it
// out, and goes out once more in another session.
func TestSessionLost(t *testing.T) {
	for name, c := range map[string]struct {
		lost   reaction
		pinged bool // before it was lost
	}{
		"an error":                   {inWords(noSession), false},
		"a text":                     {inText("Invalid or missing Session-ID"), false},
		"no word of it, and a ping":  {inWords("Bad Request"), true},
		"a text without it, pinged":  {inText(""), true},
		"a word of it, and a ping":   {inWords(noSession), true},
		"the id of no request, text": {inText(`{"error":"unknown session"}`), false},
	} {
		on := oldHTTPScript()
		on["tools/call"] = ofEpoch(1, inTurn(ok(echoResult), c.lost), ok(echoResult))
		on["ping"] = ofEpoch(1, c.lost, ok(`{}`))
		want := oldOpening + " tools/call/1 tools/call/1 ping/1" + renewal + " tools/call/2 tools/call/2"
		if c.pinged {
			on["ping"] = ofEpoch(1, inTurn(ok(`{}`), c.lost), ok(`{}`))
			want = strings.Replace(want, " tools", " ping/1 tools", 1)
		}
		t.Run(name, func(t *testing.T) {
			visit(t, on, func(t *testing.T, s *fakeHTTP) {
				session := s.open()
				if c.pinged {
					session.cfg.Connections.Current().Ping(t.Context())
				}
				for range 3 {
					if text, err := call(t, session); err != nil || text != "hi" {
						t.Errorf("%q, %v", text, err)
					}
				}
				if got := s.received(); got != want || s.dials != 1 {
					t.Errorf("%d dials, saw %s\nwant %s", s.dials, got, want)
				}
			})
		})
	}
}

// TestSessionLostIsPinged has the ping of an idle connection find it out. No handshake follows
// before the next call.
func TestSessionLostIsPinged(t *testing.T) {
	on := oldHTTPScript()
	on["tools/call"] = ofEpoch(1, inWords(noSession), ok(echoResult))
	on["ping"] = inWords(noSession)
	visit(t, on, func(t *testing.T, s *fakeHTTP) {
		session := s.open()
		c := session.cfg.Connections.Current()
		if err := c.Ping(t.Context()); err != nil || !c.Forgotten() {
			t.Errorf("forgotten: %v, %v", c.Forgotten(), err)
		}
		time.Sleep(time.Hour)
		if _, err := call(t, session); err != nil {
			t.Error(err)
		}
		if got := s.received(); got != oldOpening+" ping/1"+renewal+" tools/call/2" {
			t.Errorf("saw %s", got)
		}
	})
}

// TestNoSessionLost holds that a complaint about one request is told in the server's words, sends
// nothing twice and ends no session.
func TestNoSessionLost(t *testing.T) {
	for name, c := range map[string]struct {
		call, ping reaction
		want       string // of each call
	}{
		"of a session, which is there":  {inWords("no session of that database"), ok(`{}`), " tools/call/1 ping/1"},
		"of a session, in a text":       {inText("no session of that database"), ok(`{}`), " tools/call/1 ping/1"},
		"of a session, and no ping":     {inWords("no session of that database"), inWords("no such method"), " tools/call/1 ping/1"},
		"of a session, and a slow ping": {inWords("no session of that database"), mute, " tools/call/1 ping/1"},
		"of a session, and a fault":     {inWords("no session of that database"), respondHTTP(500), " tools/call/1 ping/1"},
		"of anything else":              {inWords("text is missing"), inWords("no such method"), " tools/call/1 ping/1"},
		"of anything else, in a text":   {inText("text is missing"), inText("no such method"), " tools/call/1 ping/1"},
		"of anything else, and alive":   {inText("text is missing"), ok(`{}`), " tools/call/1 ping/1"},
		"with another status":           {no(422, -32000), ok(`{}`), " tools/call/1"},
	} {
		t.Run(name, func(t *testing.T) {
			on := oldHTTPScript()
			on["tools/call"], on["ping"] = c.call, c.ping
			visit(t, on, func(t *testing.T, s *fakeHTTP) {
				session := s.open()
				for range 2 {
					if _, err := call(t, session); codeOf(err) != -32000 && statusOf(err) != 400 {
						t.Error(err)
					}
				}
				got := strings.ReplaceAll(s.received(), " notifications/cancelled/1", "")
				second := c.want
				if strings.HasPrefix(name, "of anything else") && name != "of anything else, and alive" {
					second = " tools/call/1" // it knows no ping
				}
				if got != oldOpening+c.want+second {
					t.Errorf("saw %s", got)
				}
			})
		})
	}
}

// TestSessionGuessedLost has a server that refuses all messages of a session that it has lost with
// HTTP 400 and no word of a session, before a ping was answered. A ping in the next session tells it
// from a server that knows no ping: only then does a call go out once more.
func TestSessionGuessedLost(t *testing.T) {
	lost := inText("Bad Request")
	for name, c := range map[string]struct {
		call, ping reaction
		fails      int // of three calls
		want       string
	}{
		"it was lost": {ofEpoch(1, lost, ok(echoResult)), ofEpoch(1, lost, ok(`{}`)), 0,
			" tools/call/1 ping/1" + renewal + " ping/2 tools/call/2 tools/call/2 tools/call/2"},
		"it knows no ping": {lost, lost, 3,
			" tools/call/1 ping/1" + renewal + " ping/2 tools/call/2 tools/call/2"},
		"a ping without an answer": {lost, ofEpoch(1, lost, respondHTTP(500)), 3,
			" tools/call/1 ping/1" + renewal + " ping/2 tools/call/2 tools/call/2"},
		"there are no sessions any more": {lost, ofEpoch(1, lost, ok(`{}`)), 3,
			" tools/call/1 ping/1" + renewal + " ping/2 tools/call/2 tools/call/2 ping/2 tools/call/2 ping/2"},
	} {
		t.Run(name, func(t *testing.T) {
			on := oldHTTPScript()
			on["tools/call"], on["ping"] = c.call, c.ping
			visit(t, on, func(t *testing.T, s *fakeHTTP) {
				session := s.open()
				fails := 0
				for range 3 {
					if _, err := call(t, session); err != nil {
						fails++
						if statusOf(err) != 400 {
							t.Error(err)
						}
					}
				}
				if got := s.received(); got != oldOpening+c.want || fails != c.fails || s.dials != 1 {
					t.Errorf("%d calls failed, saw %s\nwant %s", fails, got, oldOpening+c.want)
				}
			})
		})
	}
}

// TestSessionLostAfterACall has a session lost just after a server has refused a call for reasons of
// its own. The server may have acted on that call, so it goes out no second time; the next one has
// another session.
func TestSessionLostAfterACall(t *testing.T) {
	on := oldHTTPScript()
	on["tools/call"] = ofEpoch(1, inWords("no session of that database"), ok(echoResult))
	on["ping"] = inWords(noSession)
	visit(t, on, func(t *testing.T, s *fakeHTTP) {
		session := s.open()
		if _, err := call(t, session); !strings.Contains(fmt.Sprint(err), "of that database") {
			t.Error(err)
		}
		if _, err := call(t, session); err != nil {
			t.Error(err)
		}
		if got := s.received(); got != oldOpening+" tools/call/1 ping/1"+renewal+" tools/call/2" {
			t.Errorf("saw %s", got)
		}
	})
}

// TestSessionLostForEver sends a call no more than twice, and begins no handshake that no caller
// needs.
func TestSessionLostForEver(t *testing.T) {
	on := oldHTTPScript()
	on["tools/call"], on["ping"] = inWords(noSession), inWords(noSession)
	visit(t, on, func(t *testing.T, s *fakeHTTP) {
		session := s.open()
		want := oldOpening
		for epoch := range 3 {
			if _, err := call(t, session); codeOf(err) != -32000 {
				t.Error(err)
			}
			time.Sleep(time.Hour)
			want += fmt.Sprintf(" tools/call/%[1]d ping/%[1]d initialize/%[1]d notifications/initialized/%[2]d tools/call/%[2]d", epoch+1, epoch+2)
		}
		if got := s.received(); got != want {
			t.Errorf("saw %s\nwant %s", got, want)
		}
	})
}

// TestSessionLostWithManyInFlight has a hundred calls hear of it one after the other, half of them
// when the new session is there: one handshake serves all.
func TestSessionLostWithManyInFlight(t *testing.T) {
	const calls = 100
	var mu sync.Mutex
	n := 0
	slowly := func(s *fakeHTTP, p post) {
		mu.Lock()
		defer mu.Unlock()
		n++
		later(time.Duration(n)*time.Second, inWords(noSession))(s, p)
	}
	on := oldHTTPScript()
	on["tools/call"] = ofEpoch(1, slowly, ok(echoResult))
	on["ping"] = ofEpoch(1, later(pingTimeout/2, inWords(noSession)), ok(`{}`))
	on["initialize"] = inTurn(ok(initializeResult(mcp.LatestLegacy)), later(calls/2*time.Second, ok(initializeResult(mcp.LatestLegacy))))
	visit(t, on, func(t *testing.T, s *fakeHTTP) {
		session := s.open(func(c *setup) { c.Timeout = time.Hour })
		var wg sync.WaitGroup
		for range calls {
			wg.Go(func() {
				if _, err := call(t, session); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if greetings, sent := len(s.find("initialize")), len(s.find("tools/call")); greetings != 2 || sent != 2*calls {
			t.Errorf("%d handshakes, %d calls sent", greetings, sent)
		}
	})
}
