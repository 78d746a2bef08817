package guest

import (
	"bytes"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
)

// In a memory of one page the shipped plugin has room for a dozen calls. One more, and
// one of which too much is to be known, fails by itself and says why; what is under way
// is none the worse for it, and the room is used again.
func TestHTTPWithoutMemory(t *testing.T) {
	s, box := &stage{}, newInbox()
	inst, err := New(t.Context(), Config{Plugin: "http", Module: twin(t, shippedHTTP), SingleThreaded: true, Trace: s.trace, Limits: Limits{MemoryPages: 1}})
	if err != nil {
		t.Fatal(err)
	}
	inst.host, inst.receiver, inst.timers = s, box, &fakeTimers{}
	defer inst.executor.Close()
	inst.handleEvent(&item{kind: abi.EventOpen, payload: abi.AppendSettings(nil, &abi.Settings{Server: "s"})})
	exchange := uint32(0)
	send := func(name string) (opened bool) {
		exchange++
		facts := abi.AppendFacts(nil, &abi.Facts{Kind: abi.Request, Method: "tools/call", Name: name})
		payload := append(bytes.Clone(facts), "{}"...)
		before := len(s.streams)
		inst.handleEvent(&item{kind: abi.EventMessage, handle: uint32(len(facts)), arg: exchange, payload: payload, msg: &testMessage{exchange: exchange, payload: payload, start: len(facts)}})
		return len(s.streams) > before
	}
	calls := 0
	for calls < 100 && send("") {
		calls++
	}
	if calls < 8 || calls == 100 || box.failed[exchange] == nil || !strings.Contains(box.failed[exchange].Error(), "more calls are on their way") {
		t.Errorf("%d calls are on their way; the next one failed with %v", calls, box.failed[exchange])
	}
	if send(strings.Repeat("x", 70_000)) || box.failed[exchange] == nil || !strings.Contains(box.failed[exchange].Error(), "longer than this plugin has memory for") {
		t.Errorf("what was too long failed with %v", box.failed[exchange])
	}
	head := abi.AppendHead(nil, &abi.Head{Headers: []abi.Pair{{Key: "content-type", Value: "application/json"}}})
	inst.handleEvent(&item{kind: abi.EventHead, handle: abi.MakeHandle(1, 0), arg: 200 | abi.HeadLast, payload: append(head, "{}"...)})
	if len(box.done) != 1 || !send("") || send("") {
		t.Errorf("done %v; the room of a call is not used for one more", box.done)
	}
	if inst.failure != nil {
		t.Error(inst.failure)
	}
}
