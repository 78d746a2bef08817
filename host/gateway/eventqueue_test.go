package gateway

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// What waits for a client that reads nothing is bounded: log messages go first, the oldest before the
// others, and what says the same twice waits once.
func TestEventQueueIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var heard []host.Event
		reads := make(chan struct{})
		q := &eventQueue{hear: func(e host.Event) {
			<-reads
			heard = append(heard, e)
		}}
		q.add(host.Event{Method: "first"})
		synctest.Wait() // the client reads the first
		for n := range 2 * maxEvents {
			q.add(host.Event{Method: mcp.NotificationMessage, Params: json.RawMessage(fmt.Sprintf(`{"level":"info","data":%d}`, n))})
			q.add(host.Event{Method: mcp.NotificationToolsListChanged})
		}
		if len(q.waiting) != maxEvents {
			t.Errorf("%d events wait", len(q.waiting))
		}
		large := json.RawMessage(strings.Repeat("x", maxEventBytes/2))
		for range 4 {
			q.add(host.Event{Method: "large", Params: large})
		}
		if q.bytes > maxEventBytes {
			t.Errorf("%d bytes wait", q.bytes)
		}
		close(reads)
		q.awaitHeard(t.Context())
		changes, larges, logs, lost := 0, 0, 0, 0
		for _, e := range heard {
			switch e.Method {
			case mcp.NotificationToolsListChanged:
				changes++
			case "large":
				larges++
			case mcp.NotificationMessage:
				if n, err := fmt.Sscanf(string(e.Params), `{"level":"info","logger":"wharf","data":"%d log messages were left out`, &lost); err != nil || n != 1 {
					logs++
				}
			}
		}
		if logs+lost != 2*maxEvents || lost < maxEvents {
			t.Errorf("the client heard %d log messages, and that %d were left out", logs, lost)
		}
		if heard[0].Method != "first" || changes != 1 || larges != 2 {
			t.Errorf("the client heard %d events, of these %d changes and %d large ones", len(heard), changes, larges)
		}
		q.close()
		q.add(host.Event{Method: "late"})
		if synctest.Wait(); heard[len(heard)-1].Method == "late" {
			t.Error("a client that has left hears more")
		}
	})
}
