package gateway_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/gateway"
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

// What a client sends reaches the server in the order of the client, also before the server has
// started. Over the aggregate that holds for each server.
func TestOrderOfTheClient(t *testing.T) {
	for _, server := range []string{legacy, modern} {
		for _, client := range []string{legacy, modern} {
			for _, bare := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s to %s, bare %v", client, server, bare), func(t *testing.T) {
					s := newScene(t, server, func(_ *host.Config, g *gateway.Config) { g.Bare = bare })
					c := s.client()
					meta, tool := "", "files__"
					if bare {
						tool = ""
					}
					if client == modern {
						meta = "," + modernMeta("{}", "")
					} else {
						c.send(initialize("0", legacy, `{"roots":{"listChanged":true}}`))
					}
					sent := 0
					burst := func() {
						var lines []string
						for range 30 {
							sent++
							lines = append(lines, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%st%d"%s}}`, sent, tool, sent, meta))
							if bare && client == legacy && server == legacy && sent%5 == 0 {
								sent++
								lines = append(lines, fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed","params":{"name":"t%d"}}`, sent))
							}
						}
						c.send(strings.Join(lines, "\n"))
					}
					burst()
					srv := s.server()
					srv.greet(server)
					for got := 0; got < 300; {
						line := srv.read()
						name := regexp.MustCompile(`"name":"(t\d+)"`).FindStringSubmatch(line)
						if name == nil {
							continue // a stream, or a list
						}
						if got++; name[1] != fmt.Sprint("t", got) {
							t.Fatalf("message %d is %s", got, line)
						}
						if id := regexp.MustCompile(`"id":(\d+)`).FindString(line); id != "" {
							srv.send(`{"jsonrpc":"2.0",` + id + `,"result":{"content":[],"resultType":"complete"}}`)
						}
						if got == sent {
							burst()
						}
					}
				})
			}
		}
	}
}

// What a client reports of a question reaches the server before the answer to the question.
func TestProgressOfAQuestionComesBeforeItsAnswer(t *testing.T) {
	s := newScene(t, legacy)
	c := s.client()
	c.send(initialize("0", legacy, `{"sampling":{}}`))
	srv := s.server()
	srv.greet(legacy)
	c.read()
	for n := range 200 {
		srv.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"sampling/createMessage","params":{"_meta":{"progressToken":7}}}`, n))
		id := between(c.read(), `"id":`, ",")
		report := `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":1}}`
		c.send(report + "\n" + `{"jsonrpc":"2.0","id":` + id + `,"result":{}}`)
		srv.want(report, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{}}`, n))
	}
}
