package gateway_test

import (
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
				for range 50 {
					c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"` + meta + `}}`)
					srv.read()
					c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
						`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t"`+meta+`}}`)
					if line := srv.read(); !strings.Contains(line, `"method":"notifications/cancelled"`) {
						t.Fatalf("%s came before the cancellation", line)
					}
					srv.read()
					c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
					srv.read()
				}
			})
		}
	}
}
