//go:build !wasip1

package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
)

const gone = `"HTTP 404: the server no longer knows the session"`

// Many calls are in flight when the server forgets the session: each learns of
// it, the first in a new session is not harmed by the last of the old one, and
// what was written for the old session is not sent any more.
func TestForgottenWithCallsInFlight(t *testing.T) {
	s := newScene(t)
	s.handshake(1, "old")
	var calls []uint32
	for x := range uint32(40) {
		calls = append(calls, s.request(200+x, 1))
	}
	s.head(calls[0], 404, "application/json", `{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}`, true)
	s.expect("EXPIRED 200; FAILED 200 REFUSED " + gone)
	if len(s.Delivered) > 1 {
		t.Errorf("the caller got the server's error: %+v", s.Delivered[1:])
	}
	if h := s.request(300, 1); h != 0 || s.header("mcp-session-id") == "" && s.last != 0 {
		t.Error("a message of the old session was sent")
	}
	s.expect(`EXPIRED 300; FAILED 300 REFUSED "the session that it was for has ended"`)

	for i, h := range calls[1:20] {
		s.head(h, 404, "text/plain", "", true)
		s.expect(fmt.Sprintf("EXPIRED %d; FAILED %[1]d REFUSED "+gone, 201+i))
	}
	listener := s.handshake(2, "new")
	for i, h := range calls[20:] {
		s.head(h, 404, "text/plain", "", true)
		s.expect(fmt.Sprintf("EXPIRED %d; FAILED %[1]d REFUSED "+gone, 220+i))
	}
	if s.open[listener] != "GET" || !strings.Contains(string(s.Saved), "session new") {
		t.Errorf("the new session was harmed: %v, saved %q", s.open, s.Saved)
	}
	s.request(400, 2)
	if got := s.header("mcp-session-id"); got != "new" {
		t.Errorf("session id %q", got)
	}
	s.request(401, 1)
	s.expect(`EXPIRED 401; FAILED 401 REFUSED "the session that it was for has ended"`)
}

// 404 means a forgotten session only where there was one.
func TestNotFoundWithoutSession(t *testing.T) {
	s := newScene(t)
	s.handshake(1, "")
	s.head(s.request(7, 1), 404, "text/plain", "no", true)
	s.expect(`FAILED 7 REFUSED "HTTP 404: no"`)
}

// A handshake that fails begins no session.
func TestRefusedInitialize(t *testing.T) {
	s := newScene(t)
	s.reports()
	h := s.post(1, &abi.Facts{Kind: abi.Request, Method: "initialize"})
	s.answer(h, 400, []abi.Pair{{Key: "mcp-session-id", Value: "x"}}, "no", true)
	s.expect(`FAILED 1 REFUSED "HTTP 400: no"`)
	if s.Saved != nil || len(s.open) > 0 {
		t.Errorf("saved %q, open %v", s.Saved, s.open)
	}
}

// A page is no handshake either, whatever its headers say.
func TestInitializeAnsweredByAPage(t *testing.T) {
	s := newScene(t)
	h := s.post(1, &abi.Facts{Kind: abi.Request, Method: "initialize"})
	s.answer(h, 200, []abi.Pair{{Key: "content-type", Value: "text/html"}, {Key: "mcp-session-id", Value: "x"}}, "<html>", true)
	if s.Saved != nil {
		t.Errorf("saved %q", s.Saved)
	}
}

// A modern message belongs to no session, even if one has the same epoch.
func TestModernBesideASession(t *testing.T) {
	s := newScene(t)
	s.head(s.handshake(1, "abc"), 405, "", "", true)
	h := s.post(7, &abi.Facts{Kind: abi.Request, Version: modern, Epoch: 1})
	if s.header("mcp-session-id") != "" {
		t.Error("it has the session's id")
	}
	s.head(h, 200, stream, "id: 1\n"+progress, true)
	s.expect("DONE 7")
}

// The modern era knows no sessions, whatever a server sends.
func TestModern(t *testing.T) {
	s := newScene(t)
	s.reports()
	h := s.post(7, &abi.Facts{Kind: abi.Request, Method: "tools/call", Version: modern, Headers: []abi.Pair{{Key: "mcp-name", Value: "x"}}})
	if s.header("mcp-name") != "x" || s.header("mcp-protocol-version") != modern {
		t.Errorf("headers %v", s.Opened[0].Headers)
	}
	s.answer(h, 200, []abi.Pair{{Key: "content-type", Value: stream}, {Key: "mcp-session-id", Value: "x"}}, "id: 1\n"+progress, true)
	s.expect("DONE 7") // and no resumption
	s.post(8, &abi.Facts{Kind: abi.Request, Method: "tools/call", Version: modern})
	if s.header("mcp-session-id") != "" || s.Saved != nil || len(s.Timers) > 0 || len(s.open) != 1 {
		t.Errorf("headers %v, saved %q, timers %v, open %v", s.Opened, s.Saved, s.Timers, s.open)
	}
	s.send(abi.EventClose, 0, 0, nil)
	s.expect("ENDED 0")
}

func TestResume(t *testing.T) {
	for _, tt := range []struct{ saved, session, last string }{
		{"epoch 3\nsession abc\nlast e-9\n", "abc", "e-9"},
		{"epoch 3\nsession a b\nlast e 9\n", "a b", "e 9"},
		{"epoch 3\n", "", ""},
		{"epoch 3\nlast " + strings.Repeat("x", 1<<10), "", strings.Repeat("x", 1<<10)},
		{"epoch 3\nlast x" + strings.Repeat("x", 1<<10), "", ""},
		{"epoch 3\nlast a\rb", "", ""},
		{"epoch 3\nlater-version x\nsession abc", "abc", ""},
	} {
		s := newScene(t)
		s.send(abi.EventResume, 0, 0, []byte(tt.saved))
		h := s.request(7, 3)
		if got := s.header("mcp-session-id"); got != tt.session {
			t.Errorf("%q: session id %q", tt.saved, got)
		}
		s.head(h, 200, "application/json", answer, true)
		if r := s.Opened[len(s.Opened)-1]; r.Method != "GET" || s.header("last-event-id") != tt.last {
			t.Errorf("%q: listener %+v", tt.saved, r)
		}
	}
}

func TestResumeOfRubbish(t *testing.T) {
	for _, saved := range []string{"", "\x00\xFF", "epoch x\n", "epoch 99999999999\nlast"} {
		s := newScene(t)
		s.reports()
		s.send(abi.EventResume, 0, 0, []byte(saved))
		s.head(s.request(7, 1), 200, "application/json", answer, true)
		s.expect("DONE 7")
	}
}

func TestSavedWithListenerID(t *testing.T) {
	s := newScene(t)
	listener := s.handshake(1, "abc")
	s.head(listener, 200, stream, "id: 5\n"+progress+progress, false)
	if got := string(s.Saved); got != "epoch 1\nsession abc\nlast 5\n" {
		t.Errorf("saved %q", got)
	}
	s.Saved = nil
	s.events(listener, progress)
	if s.Saved != nil {
		t.Error("an event without an id was saved")
	}
}

// The DELETE ends the session; nothing that a server does with it is an error.
func TestFarewell(t *testing.T) {
	for name, answer := range map[string]func(s *scene, h uint32){
		"taken":   func(s *scene, h uint32) { s.head(h, 200, "", "", true) },
		"refused": func(s *scene, h uint32) { s.head(h, 405, "text/plain", "no", false) },
		"broken":  func(s *scene, h uint32) { s.reset(h) },
	} {
		s := newScene(t)
		s.head(s.handshake(1, "abc"), 405, "", "", true)
		s.send(abi.EventClose, 0, 0, nil)
		if s.open[s.last] != "DELETE" || s.header("mcp-session-id") != "abc" || s.header("mcp-protocol-version") != "2025-11-25" {
			t.Errorf("%s: %+v", name, s.Opened)
		}
		s.expect("")
		answer(s, s.last)
		s.expect("ENDED 0")
		s.idle()
	}
}

func TestFarewellWithoutSession(t *testing.T) {
	s := newScene(t)
	s.handshake(1, "")
	s.send(abi.EventClose, 0, 0, nil)
	s.expect("ENDED 0")
}
