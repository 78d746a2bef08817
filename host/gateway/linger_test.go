package gateway_test

import (
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/gateway"
	"github.com/wharf-mcp/wharf/internal/testenv"
)

// lingering has sessions go on for a minute without a client.
func lingering(_ *host.Config, g *gateway.Config) { g.Linger, g.TaskTime = time.Minute, 24*time.Hour }

// visit connects a client, which leaves with the function that is returned. A client in turn is a run of
// one program.
func (s *scene) visit(inTurn bool) (client *end, leave func()) {
	s.t.Helper()
	ours, theirs := testenv.NewDuplex()
	done := make(chan error, 1)
	go func() {
		if inTurn {
			done <- s.gateway.ServeBare(s.t.Context(), ours, "files", true)
		} else {
			done <- s.gateway.ServeConn(s.t.Context(), ours)
		}
	}()
	return newEnd(s.t, "client", theirs, s.vars), func() {
		theirs.Close()
		<-done
	}
}

// A session that clients share goes on for a while without a client. The next client finds it as it
// was; after that time it ends.
func TestLinger(t *testing.T) { synctest.Test(t, linger) }

func linger(t *testing.T) {
	s := newScene(t, legacy, auto, lingering)
	a, leave := s.visit(false)
	a.send(initialize("0", legacy, `{}`))
	srv := s.server()
	srv.greetLegacy(`{}`)
	a.read()
	leave()
	for range 2 {
		time.Sleep(59 * time.Second)
		b, leave := s.visit(false)
		b.send(initialize("0", legacy, `{}`), initialized, toolCall("1", "x", ""))
		b.read()
		delete(s.vars, "x")
		srv.want(toolCall("$x", "x", ""))
		srv.send(result("$x"))
		b.want(result("1"))
		leave()
		srv.send(`{"jsonrpc":"2.0","id":"q","method":"ping"}`, `{"jsonrpc":"2.0","id":"r","method":"elicitation/create","params":{}}`)
		srv.wantAny(`{"jsonrpc":"2.0","id":"q","result":{}}`, `{"jsonrpc":"2.0","id":"r",`+refused)
	}
	time.Sleep(61 * time.Second)
	for range srv.lines { // until it has ended
	}
	if n := s.gateway.Metrics().Divided; n != 0 {
		t.Error("a question while there was no client has divided the clients")
	}
	c, leave := s.visit(false)
	c.send(initialize("0", legacy, `{}`))
	srv = s.server()
	srv.greetLegacy(`{}`)
	c.read()
	leave()
	s.gateway.Close()
	for range srv.lines { // the end of the gateway is that of the session too
	}
	s.host.Close()
}

// Runs of a program that do not need a session of their own use one after the other also where clients
// may not share it. Two at once have one each, and an editor has none that such a run has left.
func TestInTurn(t *testing.T) {
	s := newScene(t, legacy, auto, lingering)
	greet := func() (srv *end) {
		srv = s.server()
		srv.want(`{"jsonrpc":"2.0","id":$hello,"method":"initialize","params":{"capabilities":{},"clientInfo":{"name":"editor","version":"2"},"protocolVersion":"2025-11-25"}}`)
		srv.send(`{"jsonrpc":"2.0","id":$hello,"result":{"protocolVersion":"2025-11-25","capabilities":{"tasks":{"list":{}}}}}`)
		srv.want(initialized)
		delete(s.vars, "hello")
		return srv
	}
	var srv *end
	use := func(c *end) {
		c.send(initialized, toolCall("1", "x", ""))
		delete(s.vars, "x")
		srv.want(toolCall("$x", "x", ""))
		srv.send(`{"jsonrpc":"2.0","id":"q","method":"ping"}`, result("$x"))
		srv.want(`{"jsonrpc":"2.0","id":"q","result":{}}`)
		c.want(result("1"))
		delete(s.vars, "x")
	}
	for n := range 3 {
		c, leave := s.visit(true)
		c.send(initialize("0", legacy, `{}`))
		if n == 0 {
			srv = greet()
		}
		c.read()
		use(c)
		leave()
	}
	a, leaveA := s.visit(true)
	defer leaveA()
	a.send(initialize("0", legacy, `{}`))
	a.read()
	use(a)
	for _, inTurn := range []bool{true, false} {
		b, leaveB := s.visit(inTurn)
		defer leaveB()
		b.send(initialize("0", legacy, `{}`))
		greet()
		b.read()
	}
	use(a)
}

// A command and an editor use one process of a server, in either order, at once or one after the other. Once both
// have used it, the gateway passes to no client what the server asks outside of a call.
func TestRunsShareWithEditors(t *testing.T) {
	for _, inTurn := range []bool{true, false} {
		s := newScene(t, legacy, auto, lingering)
		first, leave := s.visit(inTurn)
		first.send(initialize("0", legacy, `{"sampling":{}}`))
		srv := s.server()
		srv.greetLegacy(`{"sampling":{}}`)
		first.read()
		second, leaveSecond := s.visit(!inTurn)
		second.send(initialize("0", legacy, `{"sampling":{}}`))
		second.read()
		leave()
		third, leaveThird := s.visit(inTurn)
		third.send(initialize("0", legacy, `{"sampling":{}}`))
		third.read()
		leaveThird()
		second.send(initialized, toolCall("1", "x", ""))
		srv.want(toolCall("$x", "x", ""))
		srv.send(result("$x"))
		second.want(result("1"))
		leaveSecond()
		last, leave := s.visit(!inTurn)
		last.send(initialize("0", legacy, `{"sampling":{}}`))
		last.read()
		srv.send(`{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{}}`)
		srv.want(`{"jsonrpc":"2.0","id":"q",` + refused)
		leave()
		if n := len(s.servers); n > 0 {
			t.Errorf("the server was started %d times more", n)
		}
	}
}

// A session that no client uses makes room for another.
func TestLingeringCopyMakesRoom(t *testing.T) {
	s := newScene(t, legacy, auto, lingering, func(_ *host.Config, g *gateway.Config) { g.Servers[0].Copies = 1 })
	for _, offered := range []string{`{}`, `{"roots":{}}`, `{}`} {
		c, leave := s.visit(false)
		c.send(initialize("0", legacy, offered))
		s.server().greetLegacy(offered)
		if line := c.read(); strings.Contains(line, `"error"`) {
			t.Fatal(line)
		}
		leave()
	}
}

func TestServeBareWithoutTheServer(t *testing.T) {
	s := newScene(t, legacy)
	ours, theirs := testenv.NewDuplex()
	if err := s.gateway.ServeBare(t.Context(), ours, "none", false); err == nil || !strings.Contains(err.Error(), `no server is called "none"`) {
		t.Error(err)
	}
	if _, err := theirs.Read(make([]byte, 1)); err == nil {
		t.Error("the stream is open")
	}
	if era := s.gateway.Era("none"); era != "" {
		t.Error(era)
	}
}

// A session goes on without a client while its server runs a task. It is asked for how far that is, and ends once the
// task has.
func TestLingerForATask(t *testing.T) {
	for name, tt := range map[string]struct {
		era, hello, call, begun, asks, state string
	}{
		"legacy": {
			legacy, initialize("0", legacy, `{}`), toolCall("1", "x", `,"task":{}`), `"task":{"taskId":"t","status":"working","ttl":null}`,
			`{"jsonrpc":"2.0","id":$q,"method":"tasks/get","params":{"taskId":"t"}}`, `"taskId":"t","ttl":null`,
		},
		"modern": {
			modern, `{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{` + modernMeta(`{}`, "") + `}}`,
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x",` + modernMeta(tasksToo, "") + `}}`,
			`"resultType":"task","taskId":"t","status":"working","ttlMs":null`,
			`{"jsonrpc":"2.0","id":$q,"method":"tasks/get","params":{"taskId":"t","_meta":{"io.modelcontextprotocol/clientCapabilities":` + tasksToo +
				`,"io.modelcontextprotocol/clientInfo":` + editor + `,"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
			`"resultType":"complete","taskId":"t","ttlMs":null`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				held := 0
				s := newScene(t, tt.era, lingering, func(_ *host.Config, g *gateway.Config) {
					g.Hold = func() func() { held++; return func() { held-- } }
				})
				c, leave := s.visit(true)
				c.send(tt.hello)
				srv := s.server()
				if tt.era == legacy {
					srv.want(`{"jsonrpc":"2.0","id":$hello,"method":"initialize","params":{"capabilities":{},"clientInfo":{"name":"editor","version":"2"},"protocolVersion":"2025-11-25"}}`)
					srv.send(`{"jsonrpc":"2.0","id":$hello,"result":{"protocolVersion":"2025-11-25","capabilities":{"tasks":{"requests":{"tools":{"call":{}}}}}}}`)
					srv.want(initialized)
				} else {
					srv.greetModern(editor, tasksToo)
				}
				c.read()
				if tt.era == legacy {
					c.send(initialized)
				}
				c.send(tt.call)
				called := regexp.MustCompile(`"id":\d+`).FindString(srv.read())
				srv.send(`{"jsonrpc":"2.0",` + called + `,"result":{` + tt.begun + `}}`)
				c.read()
				leave()
				for _, state := range []string{"working", "completed"} {
					if held != 1 {
						t.Errorf("it is held %d times", held)
					}
					time.Sleep(time.Minute)
					delete(s.vars, "q")
					srv.want(tt.asks)
					srv.send(`{"jsonrpc":"2.0","id":$q,"result":{` + tt.state + `,"status":"` + state + `"}}`)
				}
				for range srv.lines { // until it has ended
				}
				if held != 0 {
					t.Errorf("it is held %d times in the end", held)
				}
				s.gateway.Close()
				s.host.Close()
			})
		})
	}
}
