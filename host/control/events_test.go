package control

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host"
)

// An editor that comes again hears what it has missed. What is not kept any more, and events of another
// run, are told as a gap.
func TestEventsAreResumed(t *testing.T) {
	s := newScene(t)
	c := s.ready(`{}`)
	log := s.control.events
	for n := range uint64(2) { // the states of the two servers
		if _, _, err := log.next(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	warn := func(from, to int) {
		for n := from; n <= to; n++ {
			log.add(Event{Kind: Warning, Text: fmt.Sprintf("w%d.", n)})
		}
	}
	warn(3, 5)
	c.call("events/since", `{"number":3}`)
	if e := c.event(Warning, ""); e.Number != 4 || e.Text != "w4." {
		t.Errorf("%+v", e)
	}
	c.event(Warning, "w5.")
	c.stream.Close()
	<-c.ended
	warn(6, 6)

	again := s.ready(`{}`)
	again.call("events/since", fmt.Sprintf(`{"generation":%q,"number":5}`, log.generation))
	if e := again.event(Warning, ""); e.Number != 6 || e.Text != "w6." {
		t.Errorf("%+v", e)
	}
	again.call("events/since", `{"generation":"another","number":1000}`)
	if e := again.event(Gap, ""); e.Number != 0 || e.Missed != 0 {
		t.Errorf("%+v", e)
	}
	again.event(Warning, "w3.")
	again.event(Warning, "w6.")

	warn(7, maxEvents+10)
	late := s.ready(`{}`)
	late.call("events/since", `{"number":4}`)
	if e := late.event(Gap, ""); e.Number != 10 || e.Missed != 6 {
		t.Errorf("%+v", e)
	}
	if e := late.event(Warning, ""); e.Number != 11 {
		t.Errorf("%+v", e)
	}
}

// An editor that reads nothing delays no other. Once it reads, it hears what waited for it, a gap, and
// the newest.
func TestEditorStopsReading(t *testing.T) {
	s := newScene(t)
	deaf, c := s.connect(), s.ready(`{}`)
	deaf.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocol":[1,1],"client":{"name":"test"}}}`)
	deaf.send(`{"jsonrpc":"2.0","id":2,"method":"events/since","params":{"number":0}}`)
	text := strings.Repeat("x", 16<<10)
	const many = 2800 // 44 MiB, more than may wait for an editor and is kept
	for n := range many {
		s.control.events.add(Event{Kind: Warning, Text: fmt.Sprintf("%d %s", n, text)})
	}
	if kept := s.control.events.bytes; kept > maxEventBytes {
		t.Errorf("%d bytes are kept", kept)
	}
	c.call("status", `{}`)
	go deaf.read()
	if e := deaf.event(Gap, ""); e.Missed == 0 {
		t.Errorf("%+v", e)
	}
	deaf.event(Warning, fmt.Sprintf(`"%d x`, many-1))
}

// A log message of a server is passed on as it is. One that is too long is told without its data.
func TestLogEvents(t *testing.T) {
	log := newEventLog()
	log.add(Event{Kind: Log, Server: "files", Log: json.RawMessage(`{"level":"info","data":"a < b"}`)})
	log.add(Event{Kind: Log, Server: "files", Log: json.RawMessage(`"` + strings.Repeat("x", maxLogBytes) + `"`)})
	log.add(Event{Kind: Log, Server: "files", Log: json.RawMessage(`no JSON`)})
	for after, want := range []string{`"log":{"level":"info","data":"a < b"}}`, `too long`, `"server":"files"}`} {
		text, number, err := log.next(t.Context(), uint64(after))
		if err != nil || number != uint64(after)+1 || !strings.Contains(string(text), want) || len(text) > maxLogBytes {
			t.Errorf("%s, %d, %v", text, number, err)
		}
	}
}

// A warning about a plugin says which it is about, and is kept for logs/tail.
func TestPluginWarning(t *testing.T) {
	s := newScene(t)
	c := s.ready(`{}`)
	c.call("events/since", `{}`)
	s.config.Event(host.Event{Plugin: "socket", Warning: "it is old"})
	if e := c.event(PluginWarning, ""); e.Plugin != "socket" || e.Text != "it is old" {
		t.Errorf("%+v", e)
	}
	c.wantHas(c.call("logs/tail", `{}`), `"kind":"plugin.warning","plugin":"socket"`)
}
