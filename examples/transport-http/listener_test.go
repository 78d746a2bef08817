//go:build !wasip1

package main

import (
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
)

// A server need not have a listener. That is no failure, and it is not asked again.
func TestNoListener(t *testing.T) {
	for _, tt := range []struct {
		status uint32
		media  string
	}{
		{405, ""}, {404, "text/plain"}, {400, "application/json"}, {406, ""}, {200, "text/html"},
		{200, "application/json"}, {204, ""}, {202, ""}, {302, ""},
	} {
		s := newScene(t)
		s.head(s.handshake(1, "abc"), tt.status, tt.media, "<html>", false)
		if len(s.Timers) > 0 || len(s.open) > 0 || s.reports() != "" || len(s.Delivered) > 1 {
			t.Errorf("HTTP %d %s: timers %v, open %v", tt.status, tt.media, s.Timers, s.open)
		}
		s.head(s.request(7, 1), 200, "application/json", answer, true)
		s.expect("DONE 7")
		s.idle()
	}
}

// The handshake is done when the server has answered the listener, in whatever
// way, or when its caller has left; it is said once.
func TestHandshakeWaitsForTheListener(t *testing.T) {
	for name, answer := range map[string]func(s *scene, h uint32){
		"a stream":    func(s *scene, h uint32) { s.head(h, 200, stream, "", false) },
		"none":        func(s *scene, h uint32) { s.head(h, 405, "", "", true) },
		"a failure":   func(s *scene, h uint32) { s.failure(h, abi.Unreachable) },
		"a refusal":   func(s *scene, h uint32) { s.failure(h, abi.Denied) },
		"nothing":     func(s *scene, h uint32) { s.fire(holdTimer) },
		"caller left": func(s *scene, h uint32) { s.cancel(101) },
	} {
		s := newScene(t)
		h := s.greet(1, "abc")
		if got := s.reports(); got != "" || s.Timers[holdTimer] != holdTime {
			t.Errorf("%s: reported %q before, timers %v", name, got, s.Timers)
		}
		answer(s, h)
		s.expect("DONE 101")
		if _, armed := s.Timers[holdTimer]; armed {
			t.Errorf("%s: the timer still runs", name)
		}
	}
}

// A listener that ends while the session is said goodbye to is not opened again.
func TestListenerEndsAfterClose(t *testing.T) {
	s := newScene(t)
	h := s.handshake(1, "abc")
	s.head(h, 200, stream, "", false)
	s.send(abi.EventClose, 0, 0, nil)
	s.end(h)
	if len(s.Timers) > 0 {
		t.Errorf("timers %v", s.Timers)
	}
}

// A listener that dies is opened again, later each time; an event makes that
// begin anew.
func TestListenerThatDies(t *testing.T) {
	s := newScene(t)
	h := s.handshake(1, "abc")
	dies := []func(){
		func() { s.head(h, 200, stream, "", false); s.end(h) },
		func() { s.head(h, 200, stream, ": hello\n\n", true) },
		func() { s.head(h, 500, "text/html", "<html>", true) },
		func() { s.reset(h) },
		func() { s.head(h, 200, stream, "data: {", false); s.reset(h) },
		func() { s.failure(h, abi.Unreachable) },
		func() { s.failure(h, abi.TimedOut) },
	}
	for i, wait := range []uint32{1000, 2000, 4000, 8000, 16_000, 30_000, 30_000} {
		dies[i]()
		if got := s.Timers[0]; got != wait || len(s.open) > 0 {
			t.Errorf("death %d: comes again after %d ms, want %d", i, got, wait)
		}
		s.fire(0)
		h = s.last
	}
	s.head(h, 200, stream, progress, true)
	if d := s.Delivered; len(d) != 2 || d[1].Verdict != abi.VerdictNote {
		t.Errorf("delivered %+v", d)
	}
	if s.Timers[0] != 1000 {
		t.Errorf("after an event it comes again after %d ms", s.Timers[0])
	}
	if s.reports() != "" {
		t.Error("a listener's death was reported")
	}
}

func TestListenerDenied(t *testing.T) {
	s := newScene(t)
	s.failure(s.handshake(1, "abc"), abi.Denied)
	if len(s.Timers) > 0 || len(s.open) > 0 {
		t.Errorf("timers %v, open %v", s.Timers, s.open)
	}
}

// retry: is kept to, though not to the point of a storm.
func TestListenerRetry(t *testing.T) {
	for _, tt := range []struct {
		retry string
		wait  uint32
	}{{"10", shortestWait}, {"0", shortestWait}, {"2500", 2500}, {"60000", 60_000}} {
		s := newScene(t)
		h := s.handshake(1, "abc")
		for range 5 {
			s.head(h, 200, stream, "retry: "+tt.retry+"\nid: 1\n"+progress, true)
			if s.Timers[0] != tt.wait {
				t.Fatalf("retry: %s: comes again after %d ms", tt.retry, s.Timers[0])
			}
			s.fire(0)
			if h = s.last; s.header("last-event-id") != "1" {
				t.Fatal("it does not go on where it was")
			}
		}
	}
}

// A server that refuses to go on from an event is asked to begin anew, once.
func TestListenerIDRefused(t *testing.T) {
	s := newScene(t)
	h := s.handshake(1, "abc")
	s.head(h, 200, stream, "id: 1\n"+progress, true)
	s.fire(0)
	s.head(s.last, 400, "", "", true)
	s.fire(0)
	if s.header("last-event-id") != "" {
		t.Error("it asks for the same event again")
	}
	s.head(s.last, 400, "", "", true)
	if len(s.Timers) > 0 {
		t.Errorf("timers %v", s.Timers)
	}
}

func TestListenerEndless(t *testing.T) {
	s := newScene(t)
	h := s.handshake(1, "abc")
	s.head(h, 200, stream, "data: ", false)
	chunk, n := strings.Repeat("x", abi.ChunkSize), 0
	for ; s.open[h] != "" && n < 100; n++ {
		s.events(h, chunk)
	}
	if n > smallCap/abi.ChunkSize+1 || s.Timers[0] != 1000 || len(s.Logs) != 1 {
		t.Errorf("%d chunks, timers %v, logs %q", n, s.Timers, s.Logs)
	}
}

// The listener of a session ends with it, in whatever state it is.
func TestListenerEndsWithItsSession(t *testing.T) {
	for name, state := range map[string]func(s *scene, h uint32){
		"opening": func(*scene, uint32) {},
		"hearing": func(s *scene, h uint32) { s.head(h, 200, stream, "id: 9\n"+progress+"data: {", false) },
		"waiting": func(s *scene, h uint32) { s.head(h, 200, stream, "id: 9\n"+progress, true) },
		"off":     func(s *scene, h uint32) { s.head(h, 405, "", "", true) },
	} {
		s := newScene(t)
		state(s, s.handshake(1, "abc"))
		s.head(s.request(7, 1), 404, "", "", true)
		if len(s.open) > 0 || len(s.Timers) > 0 || len(s.Saved) > 0 {
			t.Errorf("%s: open %v, timers %v, saved %q", name, s.open, s.Timers, s.Saved)
		}
		s.handshake(2, "def")
		if s.header("last-event-id") != "" || s.header("mcp-session-id") != "def" {
			t.Errorf("%s: the new listener goes on in the old session", name)
		}
	}
}

// There is no listener before the handshake is over, and one at most.
func TestOneListener(t *testing.T) {
	s := newScene(t)
	h := s.post(1, &abi.Facts{Kind: abi.Request, Method: "initialize"})
	s.answer(h, 200, []abi.Pair{{Key: "content-type", Value: "application/json"}}, answer, true)
	h = s.post(2, &abi.Facts{Kind: abi.Notification, Version: "2025-11-25", Epoch: 1})
	s.head(h, 500, "", "", true)
	s.idle()
	s.head(s.request(3, 1), 200, "application/json", answer, true)
	s.head(s.request(4, 1), 200, "application/json", answer, true)
	if len(s.open) != 1 {
		t.Errorf("open %v", s.open)
	}
}
