//go:build !wasip1

package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk/sdktest"
)

// scene is a transport and the server that a test plays. It keeps the books of
// handles, and a guest that uses one that is closed fails the test.
type scene struct {
	testing.TB
	*sdktest.Host
	guest *transport
	open  map[uint32]string // the method of each open request, by handle
	owner map[uint32]uint32 // the exchange, by handle
	last  uint32            // the handle opened last
}

// smallCap is the message cap of scenes.
const smallCap = 1 << 20

func newScene(tb testing.TB) *scene {
	s := &scene{TB: tb, guest: &transport{}, open: map[uint32]string{}, owner: map[uint32]uint32{}}
	s.Host = sdktest.New(manifest, s.guest)
	s.send(abi.EventOpen, 0, 0, abi.AppendSettings(nil, &abi.Settings{Server: "s", MessageCap: smallCap}))
	return s
}

// send sends an event, which the guest must survive.
func (s *scene) send(k abi.Kind, handle, arg uint32, payload []byte) {
	s.Helper()
	if result := s.Event(k, handle, arg, payload); result != 0 || s.Trap != "" {
		s.Fatalf("%v returned %d %s\n%s", k, result, s.Trap, sdktest.Text(s.Entries()))
	}
	for _, e := range s.Entries() {
		s.note(e.Line)
	}
}

// note follows the opening and closing of handles.
func (s *scene) note(line string) {
	var exchange, handle uint32
	switch {
	case strings.HasPrefix(line, "  <-- open(http, "):
		fmt.Sscanf(line, "  <-- open(http, %d,", &exchange)
		fmt.Sscanf(line[strings.LastIndex(line, " = "):], " = %d", &handle)
		s.open[handle], s.owner[handle], s.last = s.Opened[len(s.Opened)-1].Method, exchange, handle
	case strings.HasPrefix(line, "  <-- close("):
		fmt.Sscanf(line, "  <-- close(%d)", &handle)
		delete(s.open, handle)
	}
	if strings.HasSuffix(line, "= CLOSED") {
		s.Errorf("the guest uses a closed handle: %s", line)
	}
}

// request sends a tools/call of a legacy session and returns its handle.
func (s *scene) request(exchange, epoch uint32) uint32 {
	s.Helper()
	return s.post(exchange, &abi.Facts{
		Kind: abi.Request, ID: fmt.Sprint(exchange), Method: "tools/call", Version: "2025-11-25", Epoch: epoch,
	})
}

// post sends a message and returns the handle that was opened for it, or 0.
func (s *scene) post(exchange uint32, f *abi.Facts) uint32 {
	s.Helper()
	block := abi.AppendFacts(nil, f)
	s.last = 0
	s.send(abi.EventMessage, uint32(len(block)), exchange, append(block, "{}"...))
	return s.last
}

// head sends a response; last says that its body is whole.
func (s *scene) head(handle uint32, status uint32, media, body string, last bool) {
	s.Helper()
	s.answer(handle, status, []abi.Pair{{Key: "content-type", Value: media}}, body, last)
}

func (s *scene) answer(handle, status uint32, headers []abi.Pair, body string, last bool) {
	s.Helper()
	if last {
		status |= abi.HeadLast
	}
	s.send(abi.EventHead, handle, status, append(abi.AppendHead(nil, &abi.Head{Headers: headers}), body...))
}

func (s *scene) events(handle uint32, stream string) {
	s.Helper()
	s.send(abi.EventData, handle, 0, []byte(stream))
}

func (s *scene) end(handle uint32)   { s.Helper(); s.send(abi.EventEnd, handle, 0, nil) }
func (s *scene) fire(timer uint32)   { s.Helper(); s.send(abi.EventTimer, timer, 0, s.claim(timer)) }
func (s *scene) reset(handle uint32) { s.Helper(); s.failure(handle, abi.Reset) }

func (s *scene) failure(handle uint32, status abi.Status) {
	s.Helper()
	s.send(abi.EventError, handle, uint32(status), []byte(status.String()))
}

// claim takes a timer that must be armed.
func (s *scene) claim(timer uint32) []byte {
	s.Helper()
	if _, armed := s.Timers[timer]; !armed {
		s.Fatalf("timer %d is not armed: %v", timer, s.Timers)
	}
	delete(s.Timers, timer)
	return nil
}

// cancel sends CANCEL, and closes what belongs to the exchange as a host does.
func (s *scene) cancel(exchange uint32) {
	s.Helper()
	s.send(abi.EventCancel, 0, exchange, nil)
	for h := range s.open {
		if s.owner[h] == exchange {
			s.Call(abi.CallClose, [4]uint32{h}, nil)
			delete(s.open, h)
		}
	}
}

// handshake goes through initialize and returns the handle of the listener, which
// the server has not answered yet. The exchanges are 100 times the epoch, and one
// more.
func (s *scene) handshake(epoch uint32, session string) (listener uint32) {
	s.Helper()
	listener = s.greet(epoch, session)
	s.fire(holdTimer)
	s.Reports = nil
	return listener
}

// greet is a handshake whose last message is still held for the listener.
func (s *scene) greet(epoch uint32, session string) (listener uint32) {
	s.Helper()
	h := s.post(100*epoch, &abi.Facts{Kind: abi.Request, ID: "1", Method: "initialize", Epoch: epoch - 1})
	s.answer(h, 200, []abi.Pair{{Key: "content-type", Value: "application/json"}, {Key: "mcp-session-id", Value: session}},
		`{"jsonrpc":"2.0","id":1,"result":{}}`, true)
	h = s.post(100*epoch+1, &abi.Facts{Kind: abi.Notification, Method: "notifications/initialized", Version: "2025-11-25", Epoch: epoch})
	s.head(h, 202, "", "", true)
	if s.last == h || s.open[s.last] != "GET" {
		s.Fatalf("no listener after the handshake: %v", s.open)
	}
	s.Reports = nil
	return s.last
}

// header returns a header of the request that was opened last.
func (s *scene) header(key string) string {
	for _, p := range s.Opened[len(s.Opened)-1].Headers {
		if p.Key == key {
			return p.Value
		}
	}
	return ""
}

// reports returns what was reported, as text, and forgets it.
func (s *scene) reports() string {
	var list []string
	for _, r := range s.Reports {
		text := fmt.Sprintf("%v %d", r.What, r.Exchange)
		if r.What == abi.ReportFailed {
			text += fmt.Sprintf(" %v %q", r.Status, r.Text)
		}
		list = append(list, text)
	}
	s.Reports = nil
	return strings.Join(list, "; ")
}

// expect compares what was reported since the last time.
func (s *scene) expect(want string) {
	s.Helper()
	if got := s.reports(); got != want {
		s.Errorf("reported %s\n    want %s", got, want)
	}
}

// idle fails the test where handles are left open.
func (s *scene) idle() {
	s.Helper()
	if len(s.open) > 0 {
		s.Errorf("handles are left open: %v", s.open)
	}
}

const (
	answer   = `{"jsonrpc":"2.0","id":7,"result":{}}`
	answered = "data: " + answer + "\n\n"
	progress = `data: {"jsonrpc":"2.0","method":"notifications/progress"}` + "\n\n"
	stream   = "text/event-stream"
)
