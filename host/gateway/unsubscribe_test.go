package gateway_test

import (
	"testing"

	"github.com/wharf-mcp/wharf/host/mcp"
)

// A client that unsubscribes ends the subscription that it has, also if another server lists the URI meanwhile
// and the client would read it from there.
func TestUnsubscribesWhereItSubscribed(t *testing.T) {
	for _, uri := range []string{"log:///x", "wharf+notes:log:///x"} {
		t.Run(uri, func(t *testing.T) {
			p := newPair(t, legacy, legacy)
			files := p.play(p.servers, "files", legacy, ``, ``)
			notes := p.play(p.notes, "notes", legacy, ``, `{"uri":"log:///x","name":"x"}`)
			c := p.speaker(legacy)
			c.contains("resources/list", `{}`, `"log:///x"`)
			c.contains("resources/subscribe", `{"uri":"`+uri+`"}`, `"result":{}`)
			files.mu.Lock()
			files.resources = `{"uri":"log:///x","name":"x"}`
			files.mu.Unlock()
			files.tell(mcp.NotificationResourcesListChanged, "")
			c.hears(mcp.NotificationResourcesListChanged)
			c.contains("resources/read", `{"uri":"log:///x"}`, `"text":"files"`)
			c.contains("resources/unsubscribe", `{"uri":"`+uri+`"}`, `"result":{}`)
			notes.mu.Lock()
			defer notes.mu.Unlock()
			for len(notes.unsubscribed) == 0 {
				notes.changed.Wait()
			}
			if got := notes.unsubscribed[0]; got != `{"uri":"log:///x"}` {
				t.Error(got)
			}
		})
	}
}
