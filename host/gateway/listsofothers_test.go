package gateway_test

import (
	"fmt"
	"testing"

	"github.com/wharf-mcp/wharf/host/mcp"
)

// A client that was listed what another client's server has said, and uses nothing of it yet, is told when the
// list changes, and is told once.
func TestListChangesForClientsThatUseNothing(t *testing.T) {
	const toolTwo = `{"name":"two","inputSchema":{"type":"object"}}`
	for _, era := range []struct{ client, server string }{{legacy, legacy}, {legacy, modern}, {modern, legacy}, {modern, modern}} {
		t.Run(fmt.Sprint(era.client, " to ", era.server), func(t *testing.T) {
			p := newPair(t, era.server, era.server)
			files := p.play(p.servers, "files", era.server, toolOne, ``)
			p.play(p.notes, "notes", era.server, ``, ``)
			var clients []*speaker
			for range 3 {
				c := p.speaker(era.client)
				if era.client == modern {
					c.ask("subscriptions/listen", `{"notifications":{"toolsListChanged":true}}`)
					c.hears("notifications/subscriptions/acknowledged", `"toolsListChanged":true`)
				}
				c.contains("tools/list", `{}`, `"files__one"`)
				clients = append(clients, c)
			}
			files.mu.Lock()
			files.tools += "," + toolTwo
			files.mu.Unlock()
			files.tell(mcp.NotificationToolsListChanged, "")
			for _, c := range clients {
				c.hears(mcp.NotificationToolsListChanged)
				c.contains("tools/list", `{}`, `"files__one"`, `"files__two"`)
				c.contains("tools/list", `{}`, `"files__two"`) // which is the next line: nothing was said twice
			}
		})
	}
}
