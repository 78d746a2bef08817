package gateway_test

import (
	"fmt"
	"strings"
	"testing"
)

// A cancellation reaches the server before a request that the client sends after it.
func TestCancelComesBeforeTheNextRequest(t *testing.T) {
	for _, server := range []string{legacy, modern} {
		for _, client := range []string{legacy, modern} {
			t.Run(client+" to "+server, func(t *testing.T) {
				s := newScene(t, server)
				c := s.client()
				meta := ""
				if client == modern {
					meta = "," + modernMeta("{}", "")
					c.send(`{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{` + modernMeta("{}", "") + `}}`)
				} else {
					c.send(initialize("0", legacy, `{}`))
				}
				srv := s.server()
				srv.greet(server)
				c.read()
				if client == legacy && server == modern {
					srv.read() // it listens to changes
				}
				call := func(id int) string {
					return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t"%s}}`, id, meta)
				}
				cancel := func(id int) string {
					return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id)
				}
				for id := 1; id < 100; id += 2 {
					c.send(call(id))
					srv.read()
					c.send(cancel(id), call(id+1))
					if line := srv.read(); !strings.Contains(line, `"method":"notifications/cancelled"`) {
						t.Fatalf("%s came before the cancellation", line)
					}
					srv.read()
					c.send(cancel(id + 1))
					srv.read()
				}
			})
		}
	}
}
