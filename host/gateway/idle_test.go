package gateway_test

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/gateway"
	"github.com/wharf-mcp/wharf/internal/testenv"
)

// restless makes the server of a scene rest as soon as it is not used.
func restless(hc *host.Config, gc *gateway.Config) {
	hc.StopIdle = true
	gc.Servers[0].IdleStop = time.Millisecond
}

// answerAll answers the requests on each connection of a modern server, with the number of the
// connection as the text of results, and says when one has ended.
func (s *scene) answerAll() (ended chan int) {
	ended = make(chan int, 100)
	over := make(chan struct{})
	id := regexp.MustCompile(`"id":("?[\w-]+"?)`)
	wanted := regexp.MustCompile(`"notifications":\{[^}]*\}`)
	go func() {
		for n := 0; ; n++ {
			var conn *testenv.Duplex
			select {
			case conn = <-s.servers:
			case <-over:
				return
			}
			for in := bufio.NewReader(conn); ; {
				line, err := in.ReadString('\n')
				if err != nil {
					ended <- n
					break
				}
				result := `{"resultType":"complete","content":[],"n":` + strconv.Itoa(n) + `}`
				switch {
				case strings.Contains(line, `"method":"server/discover"`):
					result = discovered
				case strings.Contains(line, `"method":"subscriptions/listen"`):
					fmt.Fprintf(conn, `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},%s}}`+"\n",
						id.FindStringSubmatch(line)[1], wanted.FindString(line))
					continue
				case !strings.Contains(line, `"method":"tools/call"`):
					continue
				}
				io.WriteString(conn, `{"jsonrpc":"2.0","id":`+id.FindStringSubmatch(line)[1]+`,"result":`+result+"}\n")
			}
			conn.Close()
		}
	}()
	s.t.Cleanup(func() { close(over) })
	return ended
}

// A server that is not used is stopped, and started again by the next request. The client hears
// nothing of that, in either era; an open stream for the changes of lists keeps no server.
func TestIdleServersAreStopped(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string][]string{
		"legacy": {initialize("0", legacy, `{}`), initialized},
		"modern": {`{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{` + modernMeta(`{}`, "") + `}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, modern, restless)
			ended := s.answerAll()
			c := s.client()
			c.send(begin...)
			c.read()
			meta := ""
			if name == "modern" {
				meta = "," + modernMeta(`{}`, "")
			}
			last := -1
			for i := 1; i <= 5; i++ {
				c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t"%s}}`, i, meta))
				n := c.answerTo(i)
				if n <= last {
					t.Errorf("call %d was answered on connection %d, which had ended", i, n)
				}
				for last = -1; last < n; {
					last = <-ended
				}
			}
			m := s.gateway.Metrics()
			if stopped := m.Connections.Stopped; stopped < 5 || m.Connections.Connected < 5 || m.Connections.Reconnected != m.Connections.Connected-1 {
				t.Errorf("%+v", m.Connections)
			}
			if m.Requests != 6 || m.LegacyClients+m.ModernClients != 1 || m.Failed+m.Invalid+m.Cancelled != 0 || m.InFlight != 0 {
				t.Errorf("%+v", m)
			}
		})
	}
}

// answerTo reads lines until the answer to a request, and returns the number in it. A client of a
// server that was started again hears that lists may have changed.
func (e *end) answerTo(id int) (n int) {
	e.t.Helper()
	for {
		line := e.read()
		if strings.Contains(line, `list_changed"`) {
			continue
		}
		start := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":`, id)
		_, number, found := strings.Cut(line, `"n":`)
		n, err := strconv.Atoi(strings.TrimRight(number, "}"))
		if !strings.HasPrefix(line, start) || !found || err != nil {
			e.t.Fatalf("%s: %s", e.name, line)
		}
		return n
	}
}

// A server that may keep what a client relies on is not stopped: one whose request is open, that has begun a
// task, that has asked a question, whose resource is subscribed to, or that has a session with something in it.
func TestWhatKeepsAServer(t *testing.T) {
	const never = 0
	for name, tt := range map[string]struct {
		server, method, params, answer string // no answer: the request stays open
		want                           time.Duration
	}{
		"nothing":                 {modern, "tools/call", `"name":"t"`, `{"resultType":"complete"}`, time.Minute},
		"a request":               {modern, "tools/call", `"name":"t"`, "", never},
		"a task":                  {modern, "tools/call", `"name":"t"`, `{"resultType":"task","taskId":"1"}`, never},
		"a question":              {modern, "tools/call", `"name":"t"`, `{"resultType":"input_required","requestState":"s"}`, 10 * time.Minute},
		"changes of lists":        {modern, "subscriptions/listen", `"notifications":{"toolsListChanged":true}`, "", time.Minute},
		"changes of a resource":   {modern, "subscriptions/listen", `"notifications":{"resourceSubscriptions":["a:b"]}`, "", never},
		"a session with a list":   {legacy, "tools/list", "", `{"tools":[]}`, time.Minute},
		"a session that was used": {legacy, "tools/call", `"name":"t"`, `{"content":[]}`, never},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t, tt.server, func(hc *host.Config, _ *gateway.Config) { hc.StopIdle, hc.Timeout = true, -1 })
				c := s.client()
				params := strings.Trim(tt.params+","+modernMeta(tasksToo, ""), ",")
				c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"q","method":%q,"params":{%s}}`, tt.method, params))
				srv := s.server()
				srv.greetAs(tt.server)
				asked := srv.read()
				id := between(asked, `"id":`, ",}")
				if !strings.Contains(asked, `"method":"`+tt.method+`"`) {
					t.Fatal(asked)
				}
				if tt.answer != "" {
					srv.send(`{"jsonrpc":"2.0","id":` + id + `,"result":` + tt.answer + `}`)
				} else if tt.method == "subscriptions/listen" {
					srv.send(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":` + id + `},` + tt.params + `}}`)
				}
				began, ended := time.Now(), time.Duration(never)
				go func() {
					for range srv.lines {
					}
					ended = time.Since(began)
					for { // one that is started again ends at once
						select {
						case conn := <-s.servers:
							conn.Close()
						case <-t.Context().Done():
							return
						}
					}
				}()
				time.Sleep(2 * time.Hour)
				synctest.Wait()
				if ended != tt.want {
					t.Errorf("it was stopped after %v, want %v", ended, tt.want)
				}
			})
		})
	}
}
