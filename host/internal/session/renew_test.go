package session

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
)

const renewal = " initialize/1 notifications/initialized/2"

// ofEpoch reacts to messages of an epoch in one way, and to later ones in another.
func ofEpoch(epoch uint32, old, new reaction) reaction {
	return func(s *fakeHTTP, p post) {
		if p.facts.Epoch <= epoch {
			old(s, p)
		} else {
			new(s, p)
		}
	}
}

func TestSessionForgotten(t *testing.T) {
	on := oldHTTPScript()
	on["tools/call"] = ofEpoch(1, gone, ok(echoResult))
	visit(t, on, func(t *testing.T, s *fakeHTTP) {
		session := s.open()
		for range 2 {
			if text, err := call(t, session); err != nil || text != "hi" {
				t.Errorf("%q, %v", text, err)
			}
		}
		if got := s.received(); got != oldOpening+" tools/call/1"+renewal+" tools/call/2 tools/call/2" || s.dials != 1 {
			t.Errorf("%d dials, saw %s", s.dials, got)
		}
		if again := s.find("initialize")[1]; again.facts.Version != "" {
			t.Errorf("the second initialize carries version %q", again.facts.Version)
		}
	})
}

// TestForgottenWithManyInFlight has a hundred calls hear of it one after the
// other, half of them when the new session is there: one handshake serves all,
// and the late ones do not end the new session.
func TestForgottenWithManyInFlight(t *testing.T) {
	const calls = 100
	var mu sync.Mutex
	n := 0
	slowly := func(s *fakeHTTP, p post) {
		mu.Lock()
		defer mu.Unlock()
		n++
		later(time.Duration(n)*time.Second, gone)(s, p)
	}
	on := oldHTTPScript()
	on["tools/call"] = ofEpoch(1, slowly, ok(echoResult))
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
		if n := len(s.find("initialize")); n != 2 {
			t.Errorf("%d handshakes", n)
		}
		if n := len(s.find("tools/call")); n != 2*calls {
			t.Errorf("%d calls sent", n)
		}
	})
}

// TestForgottenAgain sends a call no more than twice, and begins no handshake
// that no caller needs.
func TestForgottenAgain(t *testing.T) {
	on := oldHTTPScript()
	on["tools/call"] = gone
	visit(t, on, func(t *testing.T, s *fakeHTTP) {
		session := s.open()
		_, err := call(t, session)
		var failure *rpc.StatusError
		if !errors.As(err, &failure) || failure.HTTP != 404 {
			t.Error(err)
		}
		time.Sleep(time.Hour)
		if got := s.received(); got != oldOpening+" tools/call/1"+renewal+" tools/call/2" {
			t.Errorf("saw %s", got)
		}
	})
}

// TestRefusedOtherwise holds that only a forgotten session sends a call again.
func TestRefusedOtherwise(t *testing.T) {
	for name, react := range map[string]reaction{
		"404 without a word of the session": respondHTTP(404),
		"a session lost with the call": func(s *fakeHTTP, p post) {
			p.peer.Expired(p.exchange)
			unreachable(s, p)
		},
	} {
		on := oldHTTPScript()
		on["tools/call"] = react
		visit(t, on, func(t *testing.T, s *fakeHTTP) {
			if _, err := call(t, s.open()); err == nil {
				t.Errorf("%s: no error", name)
			}
			if n := len(s.find("tools/call")); n != 1 {
				t.Errorf("%s: sent %d times", name, n)
			}
		})
	}
}

// TestRenewalFails tells why, and lets the next call try: from the beginning,
// because the server may have become another.
func TestRenewalFails(t *testing.T) {
	on := oldHTTPScript()
	on["tools/call"] = ofEpoch(1, gone, ok(echoResult))
	on["initialize"] = inTurn(ok(initializeResult(mcp.LatestLegacy)), respondHTTP(405))
	visit(t, on, func(t *testing.T, s *fakeHTTP) {
		session := s.open()
		if _, err := call(t, session); !errors.Is(err, ErrOtherTransport) || !strings.Contains(err.Error(), "HTTP 405") {
			t.Error(err)
		}
		s.react("server/discover", ok(discoverResult))
		s.react("tools/list", ok(`{"tools":[]}`))
		if _, err := call(t, session); err != nil || session.Info().Era != mcp.Modern {
			t.Errorf("%s: %v", session.Info().Era, err)
		}
		if s.dials != 1 {
			t.Errorf("%d dials", s.dials)
		}
	})
}

// TestRenewalIsLeft has its only caller leave: the stream is closed, the server
// hears nothing of it, and the next call begins another.
func TestRenewalIsLeft(t *testing.T) {
	on := oldHTTPScript()
	on["tools/call"] = ofEpoch(1, gone, ok(echoResult))
	on["initialize"] = inTurn(ok(initializeResult(mcp.LatestLegacy)), mute, ok(initializeResult(mcp.LatestLegacy)))
	visit(t, on, func(t *testing.T, s *fakeHTTP) {
		session := s.open(func(c *setup) { c.StartTimeout = time.Second })
		if _, err := call(t, session); !errors.Is(err, rpc.ErrTimeout) {
			t.Error(err)
		}
		synctest.Wait()
		if len(s.left) != 1 {
			t.Errorf("left %v", s.left)
		}
		if _, err := call(t, session); err != nil {
			t.Error(err)
		}
		want := oldOpening + " tools/call/1 initialize/1 server/discover/1" + renewal + " tools/call/2"
		if got := s.received(); got != want {
			t.Errorf("saw %s\nwant %s", got, want)
		}
	})
}

// TestProbeOfARenewalIsLeft holds that giving up a probe is no message either.
func TestProbeOfARenewalIsLeft(t *testing.T) {
	on := oldHTTPScript()
	on["tools/call"] = gone
	on["initialize"] = inTurn(ok(initializeResult(mcp.LatestLegacy)), respondHTTP(405))
	on["server/discover"] = inTurn(respondHTTP(400), mute)
	visit(t, on, func(t *testing.T, s *fakeHTTP) {
		session := s.open(func(c *setup) { c.StartTimeout = time.Second })
		for range 2 {
			if _, err := call(t, session); err == nil {
				t.Error("no error")
			}
		}
		synctest.Wait()
		if got := s.received(); got != oldOpening+" tools/call/1 initialize/1 server/discover/1" || len(s.left) != 1 {
			t.Errorf("left %v, saw %s", s.left, got)
		}
	})
}

// TestCloseWhileRenewing ends the renewal and the call that waits for it.
func TestCloseWhileRenewing(t *testing.T) {
	on := oldHTTPScript()
	on["tools/call"] = gone
	on["initialize"] = inTurn(ok(initializeResult(mcp.LatestLegacy)), mute)
	visit(t, on, func(t *testing.T, s *fakeHTTP) {
		session := s.open()
		time.AfterFunc(time.Second, func() { session.Close() })
		if _, err := call(t, session); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	})
}

// TestConnectionEndsWhileRenewing dials anew.
func TestConnectionEndsWhileRenewing(t *testing.T) {
	on := oldHTTPScript()
	on["tools/call"] = inTurn(gone, ok(echoResult))
	on["initialize"] = inTurn(ok(initializeResult(mcp.LatestLegacy)), func(s *fakeHTTP, p post) { p.hangUp() },
		ok(initializeResult(mcp.LatestLegacy)))
	visit(t, on, func(t *testing.T, s *fakeHTTP) {
		session := s.open()
		if _, err := call(t, session); err == nil {
			t.Error("no error")
		}
		if _, err := call(t, session); err != nil || s.dials != 2 {
			t.Errorf("%d dials, %v", s.dials, err)
		}
	})
}
