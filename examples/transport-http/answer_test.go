//go:build !wasip1

package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk/sdktest"
)

// What a server answers to a call, in one piece and byte by byte.
var answers = []struct {
	messages int // that reach the host, good or bad
	name     string
	status   uint32
	media    string
	body     string
	want     string
}{
	{1, "json", 200, "application/json", answer, "DONE 7"},
	{1, "json with a charset", 200, "Application/JSON; charset=utf-8", answer, "DONE 7"},
	{1, "no media type", 200, "", answer, "DONE 7"},
	{2, "events", 200, stream, progress + answered, "DONE 7"},
	{1, "events with a charset", 200, stream + ";charset=utf-8", answered, "DONE 7"},
	{2, "events, a mark and carriage returns", 200, stream, "\uFEFF" + strings.ReplaceAll(progress+answered, "\n", "\r"), "DONE 7"},
	{3, "garbage between good events", 200, stream, progress + "data: {oops\n\n" + answered, "DONE 7"},
	{1, "an event of another kind", 200, stream, "event: ping\ndata: x\n\n" + answered, "DONE 7"},
	{1, "events without an answer", 200, stream, progress, "DONE 7"},
	{1, "an event without its end", 200, stream, progress + "data: " + answer + "\n", "DONE 7"},
	{0, "nothing", 200, stream, "", "DONE 7"},
	{1, "an empty body", 200, "application/json", "", "DONE 7"},
	{0, "accepted", 202, "", "", "DONE 7"},
	{0, "no content", 204, "", "", "DONE 7"},
	{1, "an error of JSON-RPC", 400, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}`, "DONE 7"},
	{1, "an unknown method", 404, "application/json", `{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"no"}}`, "DONE 7"},

	{0, "a page", 200, "text/html; charset=utf-8", "<html>", `FAILED 7 PROTOCOL "HTTP 200: expected application/json or text/event-stream, got text/html"`},
	{0, "a page in capitals", 200, "\tTEXT/HTML ; x", "", `FAILED 7 PROTOCOL "HTTP 200: expected application/json or text/event-stream, got text/html"`},
	{0, "a page of a long name", 200, strings.Repeat("x", 2*maxWords), "", `FAILED 7 PROTOCOL "HTTP 200: expected application/json or text/event-stream, got ` + strings.Repeat("x", maxWords) + `"`},
	{1, "no message", 200, "application/json", `{"ok":true}`, `FAILED 7 PROTOCOL "expected one JSON-RPC message, got HTTP 200: {\"ok\":true}"`},
	{1, "other json", 400, "application/json", `{"error":"bad"}`, `FAILED 7 REFUSED "HTTP 400: {\"error\":\"bad\"}"`},
	{1, "empty json", 400, "application/json", ``, `FAILED 7 REFUSED "HTTP 400"`},
	{0, "not found", 404, "text/plain", "nothing\nhere", `FAILED 7 REFUSED "HTTP 404: nothing here"`},
	{0, "a redirection", 307, "", "", `FAILED 7 REFUSED "HTTP 307"`},
	{0, "busy", 503, "text/plain", "later", `FAILED 7 REFUSED "HTTP 503: later"`},
	{0, "a fault", 500, "text/plain", "oh \x1b[31mno", `FAILED 7 PROTOCOL "HTTP 500: oh [31mno"`},
	{0, "events of a fault", 500, stream, answered, `FAILED 7 PROTOCOL "HTTP 500: data: ` + strings.ReplaceAll(answer, `"`, `\"`) + `"`},
	{0, "a long fault", 502, "text/html", strings.Repeat("x", 9999), `FAILED 7 PROTOCOL "HTTP 502: ` + strings.Repeat("x", 200) + `…"`},
}

func TestAnswers(t *testing.T) {
	for _, tt := range answers {
		t.Run(tt.name, func(t *testing.T) {
			s := newScene(t)
			s.reports()
			s.head(s.request(7, 0), tt.status, tt.media, tt.body, true)
			s.expect(tt.want)
			s.idle()
			if got := len(s.Delivered); got != tt.messages {
				t.Errorf("%d messages are delivered", got)
			}

			h := s.request(7, 0)
			s.head(h, tt.status, tt.media, "", false)
			for i := range len(tt.body) {
				if s.open[h] != "" {
					s.events(h, tt.body[i:i+1])
				}
			}
			if s.open[h] != "" {
				s.end(h)
			}
			s.expect(tt.want)
			s.idle()
			if got := len(s.Delivered); got != 2*tt.messages {
				t.Errorf("%d messages are delivered, whole and in bytes", got)
			}
		})
	}
}

func TestNotifications(t *testing.T) {
	for _, tt := range []struct {
		status uint32
		media  string
		want   string
	}{
		{202, "", "DONE 7"},
		{200, "application/json", "DONE 7"},
		{204, "", "DONE 7"},
		{200, "text/html", "DONE 7"},
		{400, "application/json", `FAILED 7 REFUSED "HTTP 400: {}"`},
		{500, "text/plain", `FAILED 7 PROTOCOL "HTTP 500: {}"`},
	} {
		s := newScene(t)
		s.reports()
		s.head(s.post(7, &abi.Facts{Kind: abi.Notification, Method: "x"}), tt.status, tt.media, "{}", true)
		s.expect(tt.want)
		s.idle()
		if len(s.Delivered) > 0 {
			t.Errorf("HTTP %d to a notification is a message: %+v", tt.status, s.Delivered)
		}
	}
}

// No caller waits for the body of a refused notification, and a server that never
// ends the body of an accepted one does not keep the handle.
func TestNotificationWithoutEnd(t *testing.T) {
	s := newScene(t)
	s.reports()
	s.head(s.post(7, &abi.Facts{Kind: abi.Notification}), 400, "text/plain", "no", false)
	s.expect(`FAILED 7 REFUSED "HTTP 400: no"`)
	s.head(s.post(8, &abi.Facts{Kind: abi.Reply}), 200, stream, progress, false)
	s.fire(drainTimer)
	s.fire(drainTimer)
	s.expect("DONE 8")
	s.idle()
}

func TestFailureBelowHTTP(t *testing.T) {
	for _, begin := range []func(s *scene, h uint32){
		func(*scene, uint32) {},
		func(s *scene, h uint32) { s.head(h, 200, "application/json", `{"json`, false) },
		func(s *scene, h uint32) { s.head(h, 200, stream, progress+"data: {", false) },
	} {
		s := newScene(t)
		s.reports()
		h := s.request(7, 0)
		begin(s, h)
		s.failure(h, abi.Unreachable)
		s.expect(`FAILED 7 UNREACHABLE "POST: UNREACHABLE"`)
		s.idle()
	}
}

// What is longer than a message may be is not read to its end.
func TestEndless(t *testing.T) {
	tooBig := func(_ uint32, m []byte) abi.Verdict {
		if len(m) > smallCap {
			return abi.VerdictTooBig
		}
		return sdktest.Classify(m)
	}
	chunk := strings.Repeat("x", abi.ChunkSize)
	for media, want := range map[string]string{
		"application/json": `FAILED 7 TOO_LARGE "the answer is longer than a message may be"`,
		stream:             `FAILED 7 TOO_LARGE "an event of the stream is longer than a message may be"`,
	} {
		s := newScene(t)
		s.Verdict = tooBig
		s.reports()
		h := s.request(7, 0)
		s.head(h, 200, media, "data: ", false)
		chunks := 0
		for ; s.open[h] != "" && chunks < 100; chunks++ {
			s.events(h, chunk)
		}
		s.expect(want)
		s.idle()
		if chunks > smallCap/abi.ChunkSize+1 {
			t.Errorf("%s: %d chunks were read", media, chunks)
		}
		if d := s.Delivered; len(d) != 1 || d[0].Verdict != abi.VerdictTooBig {
			t.Errorf("%s: the host was not told: %d deliveries", media, len(d))
		}
	}
}

// The host fails the call of an answer with the wrong id. What else is on the
// stream is not waited for.
func TestWrongID(t *testing.T) {
	for _, media := range []string{"application/json", stream} {
		s := newScene(t)
		s.Verdict = func(uint32, []byte) abi.Verdict { return abi.VerdictWrongID }
		s.reports()
		body := answer
		if media == stream {
			body = answered + answered
		}
		s.head(s.request(7, 0), 200, media, body, media != stream)
		s.expect("DONE 7")
		s.idle()
		if len(s.Delivered) != 1 {
			t.Errorf("%s: %d deliveries", media, len(s.Delivered))
		}
	}
}

// The host has failed the call; that its status was none either adds nothing.
func TestWrongIDInARefusal(t *testing.T) {
	s := newScene(t)
	s.Verdict = func(uint32, []byte) abi.Verdict { return abi.VerdictWrongID }
	s.reports()
	s.head(s.request(7, 0), 400, "application/json", answer, true)
	s.expect("DONE 7")
}

// A response that answers nothing ends by itself, or with its caller's patience.
func TestAcceptedRequestWithoutEnd(t *testing.T) {
	s := newScene(t)
	s.reports()
	h := s.request(7, 0)
	s.head(h, 202, "", "", false)
	if len(s.Timers) > 0 {
		t.Errorf("timers %v", s.Timers)
	}
	s.end(h)
	s.expect("DONE 7")
}

// What follows an answer is bounded by size, by time and by number.
func TestDrainSize(t *testing.T) {
	s := newScene(t)
	s.reports()
	h := s.request(7, 0)
	s.head(h, 200, stream, answered, false)
	s.events(h, progress)
	if d := s.Delivered; len(d) != 2 || d[1].Verdict != abi.VerdictNote {
		s.Errorf("what follows the answer is delivered as %+v", d)
	}
	for range drainSize / 1000 {
		s.events(h, ": "+strings.Repeat("x", 997)+"\n")
	}
	s.expect("")
	s.events(h, ": "+strings.Repeat("x", 997)+"\n")
	s.expect("DONE 7")
	s.idle()
}

func TestDrainTime(t *testing.T) {
	s := newScene(t)
	s.reports()
	s.head(s.request(7, 0), 200, stream, answered, false)
	s.fire(drainTimer)
	s.head(s.request(8, 0), 200, stream, answered, false)
	s.expect("")
	s.fire(drainTimer)
	s.expect("DONE 7")
	s.fire(drainTimer)
	s.expect("DONE 8")
	s.idle()
	if len(s.Timers) > 0 {
		t.Errorf("a timer runs for nothing: %v", s.Timers)
	}
}

func TestDrainNumber(t *testing.T) {
	s := newScene(t)
	s.reports()
	for x := range uint32(drainStreams + 3) {
		s.head(s.request(x+1, 0), 200, stream, answered, false)
	}
	s.expect("DONE 1; DONE 2; DONE 3")
	if len(s.open) != drainStreams {
		t.Errorf("%d streams are drained", len(s.open))
	}
}

// A stream that has not answered is never given up: a subscription is nothing
// but an answer that takes long.
func TestNoDrainBeforeTheAnswer(t *testing.T) {
	s := newScene(t)
	s.reports()
	h := s.post(7, &abi.Facts{Kind: abi.Request, Method: "subscriptions/listen", Version: modern})
	s.head(h, 200, stream, "", false)
	for range 2 * drainSize / len(progress) {
		s.events(h, progress)
	}
	if len(s.Timers) > 0 || len(s.open) != 1 {
		t.Errorf("timers %v, open %v", s.Timers, s.open)
	}
	s.end(h)
	s.expect("DONE 7")
}

// Half a message of a caller who left is dropped, and its call can be told from
// the next on the same handle.
func TestCancel(t *testing.T) {
	s := newScene(t)
	s.reports()
	h := s.request(7, 0)
	s.head(h, 200, stream, progress+`data: {"half":`, false)
	s.cancel(7)
	if e := fmt.Sprint(s.Entries()); !strings.Contains(e, "ABORT") {
		t.Errorf("the half message stays: %s", e)
	}
	s.cancel(7)
	s.cancel(99)
	s.head(s.request(8, 0), 200, "application/json", answer, true)
	s.expect("DONE 8")
	s.idle()
}

func TestFull(t *testing.T) {
	s := newScene(t)
	s.reports()
	for x := range uint32(abi.MaxHandles) {
		s.request(x+1, 0)
	}
	s.request(999, 0)
	s.expect(`FAILED 999 LIMIT "open http main: LIMIT"`)
}

// A call costs what its facts and its head are made of, and no more with use.
func TestGarbage(t *testing.T) {
	s := newScene(t)
	for _, tt := range []struct{ media, body string }{{"application/json", answer}, {stream, answered}} {
		allocs := testing.AllocsPerRun(100, func() {
			s.Reports, s.Opened, s.Delivered = s.Reports[:0], s.Opened[:0], s.Delivered[:0]
			s.head(s.request(7, 0), 200, tt.media, tt.body, true)
		})
		t.Logf("%s: %v allocations, the fake host's included", tt.media, allocs)
	}
	if n := len(s.Host.Timers); n > 0 {
		t.Errorf("%d timers", n)
	}
}

// Whatever a server sends, the guest neither traps nor gives up.
func FuzzServer(f *testing.F) {
	for _, tt := range answers {
		f.Add(uint16(tt.status), tt.media, []byte(tt.body), byte(9))
	}
	f.Add(uint16(200), stream, []byte("id: 1\nretry: 10\ndata\n\n"), byte(3))
	f.Fuzz(func(t *testing.T, status uint16, media string, body []byte, size byte) {
		s := newScene(t)
		listener := s.handshake(1, "s")
		h := s.request(7, 1)
		for _, h := range []uint32{h, listener} {
			s.head(h, uint32(status), strings.ToValidUTF8(media, ""), "", false)
			for from := 0; from < len(body) && s.open[h] != ""; from += 1 + int(size) {
				s.events(h, string(body[from:min(len(body), from+1+int(size))]))
			}
			if s.open[h] != "" {
				s.end(h)
			}
		}
		for id := range s.Timers {
			s.fire(id)
		}
		s.cancel(7)
	})
}
