//go:build !wasip1

package main

import (
	"testing"

	"github.com/wharf-mcp/wharf/abi"
)

// broken returns a scene with a call, exchange 7, whose stream had an event with
// an id and then broke off.
func broken(t *testing.T, retry string) *scene {
	s := newScene(t)
	s.head(s.handshake(1, "abc"), 405, "", "", true)
	s.head(s.request(7, 1), 200, stream, "id: a\n"+retry+progress+"id: b\ndata: {\"half\":", true)
	s.expect("")
	s.idle()
	return s
}

func TestResumption(t *testing.T) {
	s := broken(t, "retry: 500\n")
	if s.Timers[7] != 500 {
		t.Errorf("waits %d ms", s.Timers[7])
	}
	s.fire(7)
	if s.open[s.last] != "GET" || s.owner[s.last] != 7 || s.header("last-event-id") != "a" || s.header("accept") != stream {
		t.Errorf("asks %+v", s.Opened[len(s.Opened)-1])
	}
	s.head(s.last, 200, stream, "id: b\n"+answered, true)
	s.expect("DONE 7")
	s.idle()
	if d := s.Delivered; d[len(d)-1].Message != answer {
		t.Errorf("delivered %+v", d)
	}
}

// A server may close after each event. The call goes on for as long as events
// come, with a pause in between that no server can make shorter.
func TestClosedAfterEachEvent(t *testing.T) {
	s := broken(t, "retry: 10\n")
	for range 50 {
		if s.Timers[7] != shortestWait {
			t.Fatalf("waits %d ms", s.Timers[7])
		}
		s.fire(7)
		s.head(s.last, 200, stream, "id: b\nretry: 10\ndata\n\n", true)
	}
	s.expect("")
	s.cancel(7)
	if len(s.Timers) > 0 || len(s.guest.calls.resting) > 0 {
		t.Errorf("timers %v, %d calls still wait", s.Timers, len(s.guest.calls.resting))
	}
	s.idle()
}

// Without events it is given up, after longer and longer waits.
func TestResumptionThatComesToNothing(t *testing.T) {
	for name, fails := range map[string]func(s *scene){
		"empty":       func(s *scene) { s.head(s.last, 200, stream, ": hello\n\n", true) },
		"fault":       func(s *scene) { s.head(s.last, 502, "text/html", "<html>", true) },
		"unreachable": func(s *scene) { s.failure(s.last, abi.Unreachable) },
	} {
		s := broken(t, "")
		for i, wait := range []uint32{1000, 2000, 4000, 8000, 16_000} {
			if s.Timers[7] != wait {
				t.Errorf("%s: attempt %d after %d ms, want %d", name, i, s.Timers[7], wait)
			}
			s.fire(7)
			fails(s)
		}
		if name == "unreachable" {
			s.expect(`FAILED 7 UNREACHABLE "GET: UNREACHABLE"`)
		} else {
			s.expect("DONE 7")
		}
		s.idle()
	}
}

// What refuses a resumption says nothing about the call: that may have been
// done, and is not to be sent again.
func TestResumptionRefused(t *testing.T) {
	for _, tt := range []struct {
		status uint32
		media  string
		want   string
	}{
		{405, "", "DONE 7"},
		{400, "application/json", "DONE 7"},
		{200, "application/json", "DONE 7"},
		{404, "", `EXPIRED 7; FAILED 7 RESET "HTTP 404: the server forgot the session before it answered"`},
	} {
		s := broken(t, "")
		s.fire(7)
		s.head(s.last, tt.status, tt.media, answer, true)
		s.expect(tt.want)
		s.idle()
	}
}

// A session that ends while a call waits takes the call with it.
func TestResumptionOfAnEndedSession(t *testing.T) {
	s := broken(t, "")
	s.head(s.request(8, 1), 404, "", "", true)
	s.reports()
	s.fire(7)
	s.expect(`FAILED 7 RESET "the session ended before the server answered"`)
	s.idle()
}

// The stream of a session that has ended is not worth to wait for.
func TestEndOfAnEndedSession(t *testing.T) {
	s := newScene(t)
	s.handshake(1, "abc")
	h := s.request(7, 1)
	s.head(h, 200, stream, "id: a\n"+progress, false)
	s.head(s.request(8, 1), 404, "", "", true)
	s.reports()
	s.end(h)
	s.expect("DONE 7")
	s.idle()
}

func TestNothingToResumeFrom(t *testing.T) {
	for _, body := range []string{progress, "id: a", "id: a\ndata: {}\n", "id:\n" + progress} {
		s := newScene(t)
		s.head(s.handshake(1, "abc"), 405, "", "", true)
		s.head(s.request(7, 1), 200, stream, body, true)
		s.expect("DONE 7")
	}
}

// An answered stream that breaks is not resumed.
func TestAnsweredAndBroken(t *testing.T) {
	s := newScene(t)
	s.head(s.handshake(1, "abc"), 405, "", "", true)
	h := s.request(7, 1)
	s.head(h, 200, stream, "id: a\n"+answered, false)
	s.reset(h)
	s.expect("DONE 7")
	s.idle()
}
