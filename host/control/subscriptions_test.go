package control

import (
	"fmt"
	"testing"
)

// Editors share the subscription to a resource: the server is asked by the first and told by the last,
// which may also have left.
func TestSubscriptions(t *testing.T) {
	s := newScene(t)
	a, b := s.ready(`{}`), s.ready(`{}`)
	const note = `{"server":"files","uri":"test:///note"}`
	a.call("events/since", `{}`)
	for _, c := range []*client{a, a, b} {
		c.call("resources/subscribe", note)
	}
	if got := <-s.watched; got != "+test:///note" {
		t.Error(got)
	}
	b.call("tools/call", `{"server":"files","name":"edit","arguments":{"message":"test:///note"}}`)
	if e := a.event(ResourceUpdated, ""); e.Server != "files" || e.URI != "test:///note" {
		t.Errorf("%+v", e)
	}
	a.call("resources/unsubscribe", note)
	a.call("resources/unsubscribe", note)
	b.call("tools/call", `{"server":"files","name":"edit","arguments":{"message":"test:///note"}}`)
	a.event(ResourceUpdated, "")
	b.stream.Close()
	<-b.ended
	if got := <-s.watched; got != "-test:///note" {
		t.Error(got)
	}

	refused := `{"server":"files","uri":"test:///secret"}`
	for range 2 { // it is asked each time
		if m := a.answer(a.begin("resources/subscribe", refused)); m.Error == nil || m.Error.Data.Kind != KindServer {
			t.Errorf("%+v", m)
		}
	}
}

// An editor has a bounded number of subscriptions.
func TestSubscriptionsAreBounded(t *testing.T) {
	s := newScene(t)
	s.watched = make(chan string, 3*maxSubscriptions)
	c := s.ready(`{}`)
	for n := range maxSubscriptions {
		c.call("resources/subscribe", fmt.Sprintf(`{"server":"files","uri":"test:///%d"}`, n))
	}
	m := c.answer(c.begin("resources/subscribe", `{"server":"files","uri":"test:///more"}`))
	if m.Error == nil || m.Error.Code != CodeInvalidParams {
		t.Errorf("%+v", m)
	}
	c.call("resources/unsubscribe", `{"server":"files","uri":"test:///7"}`)
	c.call("resources/subscribe", `{"server":"files","uri":"test:///more"}`)
}

// What a server logs is kept, and read by an editor that comes later.
func TestLogsAreKept(t *testing.T) {
	s := newScene(t)
	c := s.ready(`{}`)
	for _, line := range []string{"[files] one\n", "[broken] other\n", "[files] two\x1b[31m\n"} {
		if n, err := s.config.Stderr.Write([]byte(line)); n != len(line) || err != nil {
			t.Error(n, err)
		}
	}
	s.control.events.add(Event{Kind: ToolsChanged, Server: "files"})
	all := c.call("logs/tail", `{"server":"files"}`)
	c.wantHas(all, `"kind":"stderr","server":"files","text":"one"`, `"text":"two\\x1b[31m"`)
	if last := c.call("logs/tail", `{"count":2}`); len(last) >= len(c.call("logs/tail", `{}`)) {
		t.Error(last)
	} else {
		c.wantHas(last, `"server":"broken"`, "two")
	}
	if m := c.answer(c.begin("logs/tail", `{"server":"none"}`)); m.Error == nil || m.Error.Data.Kind != KindUnknownServer {
		t.Errorf("%+v", m)
	}
}
