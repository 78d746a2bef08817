//go:build !wasip1

package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
	"github.com/wharf-mcp/wharf/sdk/sdktest"
)

func fresh() sdk.Transport { return &transport{} }

// The trace of the contract is one that the shipped plugin keeps to.
func TestGolden(t *testing.T) {
	sdktest.Run(t, manifest, fresh(), sdktest.Read(t, "../../abi/testdata/traces/sse.trace"))
}

// stage is a transport whose stream, handle 1, has been opened.
type stage struct {
	testing.TB
	*sdktest.Host
}

const smallCap = 1 << 20

func newStage(tb testing.TB) stage {
	s := stage{tb, sdktest.New(manifest, fresh())}
	if r := s.Open(&abi.Settings{Server: "s", MessageCap: smallCap}); r != 0 {
		tb.Fatalf("OPEN returned %d", r)
	}
	return s
}

// up is a stage that knows its endpoint.
func up(tb testing.TB) stage {
	s := newStage(tb)
	s.head(1, 200, "text/event-stream", "event: endpoint\ndata: /m\n\n", false)
	s.expect("UP 0")
	return s
}

func (s stage) head(handle, status uint32, media, body string, last bool) int32 {
	s.Helper()
	if last {
		status |= abi.HeadLast
	}
	head := abi.Head{}
	if media != "" {
		head.Headers = []abi.Pair{{Key: "content-type", Value: media}}
	}
	return s.send(abi.EventHead, handle, status, append(abi.AppendHead(nil, &head), body...))
}

func (s stage) send(k abi.Kind, handle, arg uint32, payload []byte) int32 {
	s.Helper()
	result := s.Event(k, handle, arg, payload)
	for _, e := range s.Entries() {
		if strings.HasSuffix(e.Line, "= CLOSED") {
			s.Errorf("the guest uses a closed handle: %s", e.Line)
		}
	}
	if s.Trap != "" {
		s.Fatalf("trapped: %s", s.Trap)
	}
	return result
}

// post sends a message and returns its handle, or 0.
func (s stage) post(exchange uint32, kind abi.MessageKind) (handle uint32) {
	s.Helper()
	f := abi.AppendFacts(nil, &abi.Facts{Kind: kind, Method: "x"})
	s.send(abi.EventMessage, uint32(len(f)), exchange, append(f, "{}"...))
	for _, e := range s.Entries() {
		if strings.HasPrefix(e.Line, "  <-- open(") {
			fmt.Sscanf(e.Line[strings.LastIndex(e.Line, " = "):], " = %d", &handle)
		}
	}
	return handle
}

func (s stage) expect(want string) {
	s.Helper()
	var list []string
	for _, r := range s.Reports {
		text := fmt.Sprintf("%v %d", r.What, r.Exchange)
		if r.What == abi.ReportFailed {
			text += fmt.Sprintf(" %v %q", r.Status, r.Text)
		}
		list = append(list, text)
	}
	s.Host.Reports = nil
	if got := strings.Join(list, "; "); got != want {
		s.Errorf("reported %s\n    want %s", got, want)
	}
}

func TestNoStream(t *testing.T) {
	for _, tt := range []struct {
		status uint32
		media  string
		body   string
		want   string
	}{
		{404, "text/plain", "not\nhere", `FAILED 0 REFUSED "HTTP 404: not here"`},
		{500, "text/event-stream", "", `FAILED 0 REFUSED "HTTP 500"`},
		{200, "text/html; charset=utf-8", "<html>", `FAILED 0 PROTOCOL "HTTP 200: expected text/event-stream, got text/html"`},
		{200, "", "", `FAILED 0 PROTOCOL "HTTP 200: expected text/event-stream, got no content-type"`},
	} {
		s := newStage(t)
		if s.head(1, tt.status, tt.media, tt.body, true) >= 0 {
			t.Errorf("HTTP %d %s: the connection goes on", tt.status, tt.media)
		}
		s.expect(tt.want)
	}
}

func TestEndpoint(t *testing.T) {
	const lost = `FAILED 0 PROTOCOL "expected an address of up to 2 KiB in the endpoint event"`
	for _, tt := range []struct{ stream, want, target string }{
		{"event: endpoint\ndata: /m?a=b\n\n", "UP 0", "/m?a=b"},
		{"\uFEFFevent:endpoint\r\ndata:https://x.example/m\r\n\r\n", "UP 0", "https://x.example/m"},
		{"data: /late\nevent: endpoint\n\n", "UP 0", "/late"},
		{"event: endpoint\ndata: /a\n\nevent: endpoint\ndata: /b\n\n", "UP 0", "/b"},
		{"event: other\ndata: /a\n\n: hello\n\nevent: endpoint\ndata: /b\n\n", "UP 0", "/b"},
		{"event: endpoint\ndata: " + strings.Repeat("x", endpointCap) + "\n\n", "UP 0", strings.Repeat("x", endpointCap)},
		{"event: endpoint\ndata: " + strings.Repeat("x", endpointCap+1) + "\n\n", lost, ""},
		{"event: endpoint\ndata\n\n", lost, ""},
		{"event: endpoint\n\n", lost, ""},
		{"event: endpoint\ndata: \xFF\n\n", lost, ""},
		{"event: endpoint\ndata: /never-ended\n", "", ""},
		{`data: {"jsonrpc":"2.0","method":"x"}` + "\n\n", "", ""},
	} {
		for _, size := range []int{1, 7, 1 << 20} {
			s := newStage(t)
			s.head(1, 200, "Text/Event-Stream", "", false)
			for from := 0; from < len(tt.stream); from += size {
				s.send(abi.EventData, 1, 0, []byte(tt.stream[from:min(len(tt.stream), from+size)]))
			}
			s.expect(tt.want)
			if tt.target != "" {
				if s.post(1, abi.Request); s.Opened[1].Target != tt.target {
					t.Errorf("%.40q: posts to %q", tt.stream, s.Opened[1].Target)
				}
			}
		}
	}
}

func TestPosts(t *testing.T) {
	for _, tt := range []struct {
		status             uint32
		body               string
		request, otherwise string
	}{
		{202, "Accepted", "", "DONE 7"},
		{200, `{"jsonrpc":"2.0","id":7,"result":{}}`, "", "DONE 7"},
		{204, "", "", "DONE 7"},
		{400, "no\n", `FAILED 7 REFUSED "HTTP 400: no"`, `FAILED 7 REFUSED "HTTP 400: no"`},
		{404, "", `FAILED 7 REFUSED "HTTP 404"`, `FAILED 7 REFUSED "HTTP 404"`},
		{302, "", `FAILED 7 REFUSED "HTTP 302"`, `FAILED 7 REFUSED "HTTP 302"`},
		{503, "x", `FAILED 7 REFUSED "HTTP 503: x"`, `FAILED 7 REFUSED "HTTP 503: x"`},
		{500, "x", `FAILED 7 PROTOCOL "HTTP 500: x"`, `FAILED 7 PROTOCOL "HTTP 500: x"`},
	} {
		s := up(t)
		s.head(s.post(7, abi.Request), tt.status, "text/plain", tt.body, true)
		s.expect(tt.request)
		s.head(s.post(7, abi.Reply), tt.status, "text/plain", tt.body, true)
		s.expect(tt.otherwise)
		h := s.post(7, abi.Request)
		s.head(h, tt.status, "text/plain", "", false)
		s.send(abi.EventData, h, 0, []byte(tt.body))
		s.send(abi.EventEnd, h, 0, nil)
		s.expect(tt.request)
		if len(s.Delivered) > 0 {
			t.Errorf("HTTP %d: the body is no message: %+v", tt.status, s.Delivered)
		}
	}
}

func TestBrokenPosts(t *testing.T) {
	s := up(t)
	failed := []byte("RESET")
	reset := abi.Reset
	s.send(abi.EventError, s.post(7, abi.Request), uint32(reset), failed)
	s.expect(`FAILED 7 RESET "POST: RESET"`)
	for status, want := range map[uint32]string{202: "", 500: `FAILED 8 PROTOCOL "HTTP 500: oh"`} {
		h := s.post(8, abi.Request)
		s.head(h, status, "text/plain", "oh", false)
		s.send(abi.EventError, h, uint32(reset), failed)
		s.expect(want)
	}
}

// No caller waits for the body of a refused notification.
func TestRefusalWithoutEnd(t *testing.T) {
	s := up(t)
	s.head(s.post(7, abi.Notification), 400, "text/plain", "no", false)
	s.expect(`FAILED 7 REFUSED "HTTP 400: no"`)
}

// An event of a handle that is closed is none of the next post's with its place.
func TestLateEvent(t *testing.T) {
	s := up(t)
	old := s.post(7, abi.Notification)
	s.head(old, 202, "", "", true)
	s.expect("DONE 7")
	s.post(8, abi.Notification)
	s.head(old, 202, "", "", true)
	s.expect("")
}

// A server that never ends the body of a response that says yes does not get all
// the handles.
func TestResponsesWithoutEnd(t *testing.T) {
	s := up(t)
	for x := range uint32(3 * abi.MaxHandles) {
		h := s.post(x+1, abi.Request)
		if h == 0 {
			t.Fatalf("no handle is left after %d posts", x)
		}
		s.head(h, 202, "", "", false)
	}
	s.expect("")
}

// A post whose caller left is forgotten, and makes room for another to linger.
func TestCancel(t *testing.T) {
	s := up(t)
	for x := range uint32(5 * maxLingering) {
		h := s.post(x+1, abi.Request)
		s.head(h, 202, "", "", false)
		if e := s.Entries(); strings.Contains(sdktest.Text(e), "close(") {
			t.Fatalf("post %d does not linger", x)
		}
		s.send(abi.EventCancel, 0, x+1, nil)
		s.Call(abi.CallClose, [4]uint32{h}, nil)
	}
	s.send(abi.EventCancel, 0, 999, nil)
	s.expect("")
}

func TestMessages(t *testing.T) {
	s := up(t)
	s.send(abi.EventData, 1, 0, []byte("event: message\ndata: {\"jsonrpc\":\"2.0\",\ndata: \"method\":\"a\"}\n\n"+
		"event: noise\ndata: {}\n\ndata: {oops\n\nretry: 10\nid: 5\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"b\"}\n\n"))
	var got []abi.Verdict
	for _, d := range s.Delivered {
		if d.Exchange != 0 {
			t.Errorf("delivered to exchange %d", d.Exchange)
		}
		got = append(got, d.Verdict)
	}
	if fmt.Sprint(got) != "[NOTE MALFORMED NOTE]" || len(s.Timers) > 0 {
		t.Errorf("verdicts %v, timers %v", got, s.Timers)
	}
}

func TestEndlessEvent(t *testing.T) {
	s := up(t)
	chunk := []byte("data: " + strings.Repeat("x", abi.ChunkSize-7) + "\n")
	n := 0
	for ; n < 100 && s.send(abi.EventData, 1, 0, chunk) == 0; n++ {
	}
	if n > smallCap/abi.ChunkSize+1 {
		t.Errorf("%d chunks were read", n)
	}
	s.expect(`FAILED 0 TOO_LARGE "an event of the stream is longer than a message may be"`)
}

func TestClose(t *testing.T) {
	s := up(t)
	s.send(abi.EventClose, 0, 0, nil)
	s.expect("ENDED 0")
}

// Whatever a server sends, the guest does not trap.
func FuzzServer(f *testing.F) {
	f.Add(uint16(200), []byte("event: endpoint\ndata: /m\n\ndata: {}\n\n"), byte(3))
	f.Add(uint16(404), []byte("no"), byte(0))
	f.Fuzz(func(t *testing.T, status uint16, stream []byte, size byte) {
		s := newStage(t)
		if s.head(1, uint32(status), "text/event-stream", "", false) != 0 {
			return
		}
		for from := 0; from < len(stream); from += 1 + int(size) {
			if s.send(abi.EventData, 1, 0, stream[from:min(len(stream), from+1+int(size))]) != 0 {
				return
			}
		}
		h := s.post(1, abi.Request)
		s.head(h, uint32(size)*3, "text/plain", string(stream), size%2 == 0)
		s.send(abi.EventEnd, 1, 0, nil)
	})
}
