package gateway_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/gateway"
)

// What a client does that does not begin as the protocol wants gets clear answers, and decides nothing.
func TestBeginnings(t *testing.T) {
	s := newScene(t, legacy)
	c := s.client()
	c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	c.want(`{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"tools/list came before initialize: send initialize first, or io.modelcontextprotocol/protocolVersion 2026-07-28 in the _meta of each request"}}`)
	c.send(`{"jsonrpc":"2.0","id":2,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2027-01-01"}}}`)
	c.want(`{"jsonrpc":"2.0","id":2,"error":{"code":-32022,"message":"Unsupported protocol version","data":{"supported":["2026-07-28"],"requested":"2027-01-01"}}}`)
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"jsonrpc":"2.0","id":3,"method":"ping"}`)
	c.want(`{"jsonrpc":"2.0","id":3,"result":{}}`)
	c.send(`{"jsonrpc":"2.0","id":4,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":[]}}`)
	c.want(`{"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"initialize: params.capabilities or params.clientInfo is not an object"}}`)
	c.send(`{"jsonrpc":"2.0","id":5,"method":"tools/list"}`)
	c.want(`{"jsonrpc":"2.0","id":5,"error":{"code":-32600,"message":"tools/list came before initialize was answered"}}`)

	// What follows initialize at once waits for its answer, in both directions, and
	// notifications/initialized is not needed.
	c.send(initialize("6", "2025-03-26", `{"roots":{}}`), `{"jsonrpc":"2.0","id":7,"method":"x"}`, initialize("7", legacy, `{}`))
	c.want(`{"jsonrpc":"2.0","id":7,"error":{"code":-32600,"message":"a request with this id is being answered"}}`)
	c.send(initialize(`"7"`, legacy, `{}`))
	c.want(`{"jsonrpc":"2.0","id":"7","error":{"code":-32600,"message":"initialize was sent before on this connection"}}`)
	srv := s.server()
	srv.want(`{"jsonrpc":"2.0","id":$hello,"method":"initialize","params":{"capabilities":{"roots":{}},"clientInfo":` + editor + `,"protocolVersion":"2025-11-25"}}`)
	srv.send(`{"jsonrpc":"2.0","id":$hello,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}`,
		`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`,
		`{"jsonrpc":"2.0","id":"r","method":"roots/list"}`)
	c.want(`{"jsonrpc":"2.0","id":6,"result":{"protocolVersion":"2025-03-26","capabilities":{}}}`)
	srv.want(initialized)
	c.wantAny(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`, `{"jsonrpc":"2.0","id":$r,"method":"roots/list"}`)
	srv.want(`{"jsonrpc":"2.0","id":$x,"method":"x"}`)
	c.send(`{"jsonrpc":"2.0","id":$r,"result":{"roots":[]}}`)
	srv.want(`{"jsonrpc":"2.0","id":"r","result":{"roots":[]}}`)
	srv.send(`{"jsonrpc":"2.0","id":$x,"result":{}}`)
	c.want(`{"jsonrpc":"2.0","id":7,"result":{}}`)
	c.send(initialize("8", "2025-11-25", `{}`))
	c.want(`{"jsonrpc":"2.0","id":8,"error":{"code":-32600,"message":"initialize was sent before on this connection"}}`)
}

// A modern request says of which client it is, each time.
func TestModernRequestsAreWhole(t *testing.T) {
	s := newScene(t, modern)
	c := s.client()
	c.send(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + modernMeta(`{}`, "") + `}}`)
	s.server().greet(modern)
	c.want(`{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"],"capabilities":{}}}`)
	for _, tt := range []struct{ params, want string }{
		{`{}`, `{"code":-32602,"message":"params have no _meta[\"io.modelcontextprotocol/protocolVersion\"]"}`},
		{`{"_meta":{"io.modelcontextprotocol/protocolVersion":"2025-11-25"}}`, `{"code":-32022,"message":"Unsupported protocol version","data":{"supported":["2026-07-28"],"requested":"2025-11-25"}}`},
		{`{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`, `{"code":-32602,"message":"params have no _meta[\"io.modelcontextprotocol/clientCapabilities\"], which is an object"}`},
		{`{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":7}}`, `{"code":-32602,"message":"_meta[\"io.modelcontextprotocol/clientInfo\"] is not an object"}`},
		{`{"notifications":[],` + modernMeta(`{}`, "") + `}`, `{"code":-32602,"message":"subscriptions/listen: params.notifications is not a filter"}`},
	} {
		c.send(`{"jsonrpc":"2.0","id":2,"method":"subscriptions/listen","params":` + tt.params + `}`)
		c.want(`{"jsonrpc":"2.0","id":2,"error":` + tt.want + `}`)
	}
	c.send(initialize("3", legacy, `{}`))
	c.want(`{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"params have no _meta[\"io.modelcontextprotocol/protocolVersion\"]"}}`)
}

// initialize is answered from what an earlier run has learned, and the server starts meanwhile.
func TestInitializeFromTheCatalogue(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "catalogue")
	for _, server := range []string{legacy, modern} {
		with := func(h *host.Config, g *gateway.Config) { h.CatalogueDir, g.Servers[0].Name = dir, "files "+server }
		want := ""
		t.Run("first, "+server, func(t *testing.T) {
			s := newScene(t, server, with)
			c := s.client()
			c.send(initialize("0", legacy, `{}`))
			s.server().greetAs(server)
			want = c.read()
		})
		t.Run("then, "+server, func(t *testing.T) {
			s := newScene(t, server, with)
			c := s.client()
			c.send(initialize("0", legacy, `{}`))
			c.want(want)
			d := s.client()
			d.send(`{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{` + modernMeta(`{}`, "") + `}}`)
			if got := d.read(); !strings.Contains(got, `"supportedVersions":["2026-07-28"]`) || !strings.Contains(got, serverInfo) {
				t.Errorf("discover: %s", got)
			}
			for range 2 {
				s.server().greetAs(server) // which both clients have started
			}
		})
	}
}

// greetAs answers the handshake of an era whatever the client offers.
func (e *end) greetAs(protocol string) {
	e.t.Helper()
	line := e.read()
	e.match(line, `{"jsonrpc":"2.0","id":$hello,"method"`)
	if protocol == modern {
		e.send(`{"jsonrpc":"2.0","id":1,"result":` + discovered + `}`)
		return
	}
	e.send(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":` + capabilities + `,"serverInfo":` + serverInfo + `}}`)
	e.want(initialized)
}

// A server that dies in a call costs that call, with an error that says so. The next one has it
// connected anew, and the client hears that lists may have changed.
func TestServerDies(t *testing.T) {
	s := newScene(t, legacy)
	c := s.client()
	c.send(initialize("0", legacy, `{}`))
	srv := s.server()
	srv.greetLegacy(`{}`)
	c.read()
	c.send(initialized, `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"a:b"}}`)
	srv.want(`{"jsonrpc":"2.0","id":$s,"method":"resources/subscribe","params":{"uri":"a:b"}}`)
	srv.send(`{"jsonrpc":"2.0","id":$s,"result":{}}`)
	c.want(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	c.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t"}}`)
	srv.want(`{"jsonrpc":"2.0","id":$a,"method":"tools/call","params":{"name":"t"}}`)
	srv.conn.Close()
	line := c.read()
	if !strings.HasPrefix(line, `{"jsonrpc":"2.0","id":2,"error":{"code":-32603,`) || !strings.Contains(line, "the server may have acted on the request") {
		t.Errorf("the call ended with %s", line)
	}
	c.send(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"t"}}`)
	again := s.server()
	again.greetAs(legacy)
	for n := 0; n < 2; n++ { // the call, and the subscription that is made again, in either order
		line := again.read()
		id := line[len(`{"jsonrpc":"2.0","id":`):strings.Index(line, `,"method"`)]
		again.send(`{"jsonrpc":"2.0","id":` + id + `,"result":{}}`)
	}
	c.wantAny(`{"jsonrpc":"2.0","id":3,"result":{}}`,
		`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`,
		`{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}`,
		`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:b"}}`)
}

// The stream of a modern client outlives a server that dies: what it subscribed to may have changed.
func TestModernServerDies(t *testing.T) {
	s := newScene(t, modern)
	c := s.client()
	const wanted = `{"toolsListChanged":true,"resourceSubscriptions":["a:b"]}`
	open := func(srv *end) {
		srv.greetModern(editor, `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`)
		srv.want(`{"jsonrpc":"2.0","id":$listen,"method":"subscriptions/listen","params":{"notifications":` + wanted + `,"_meta":{"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}},"io.modelcontextprotocol/clientInfo":` + editor + `,"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`)
		srv.send(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":$listen},"notifications":` + wanted + `}}`)
	}
	c.send(`{"jsonrpc":"2.0","id":"li","method":"subscriptions/listen","params":{` + modernMeta(`{}`, "") + `,"notifications":` + wanted + `}}`)
	srv := s.server()
	open(srv)
	c.want(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":` + wanted + `,"_meta":{"io.modelcontextprotocol/subscriptionId":"li"}}}`)
	srv.conn.Close()
	open(s.server())
	c.want(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"li"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:b","_meta":{"io.modelcontextprotocol/subscriptionId":"li"}}}`)
	c.closeWrite()
	c.want(`{"jsonrpc":"2.0","id":"li","result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":"li"}}}`)
}

// A server takes back its question, and the client hears of that.
func TestServerTakesBackItsQuestion(t *testing.T) {
	s := newScene(t, legacy)
	c := s.client()
	c.send(initialize("0", legacy, `{"sampling":{}}`))
	srv := s.server()
	srv.greetLegacy(`{"sampling":{}}`)
	c.read()
	c.send(initialized)
	srv.send(`{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{}}`)
	c.want(`{"jsonrpc":"2.0","id":$q,"method":"sampling/createMessage","params":{}}`)
	srv.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"q","reason":"s\u0061tisfied"}}`)
	c.want(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":$q,"reason":"s\u0061tisfied"}}`)
}

// parked has a modern client's call parked at a legacy server, and returns both sides. The client
// knows the question as $k, and the state as $state; the server the call as $a.
func parked(t *testing.T, s *scene) (c, srv *end) {
	t.Helper()
	c = s.client()
	c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t",` + modernMeta(`{"sampling":{}}`, "") + `}}`)
	srv = s.server()
	srv.greetLegacy(`{"sampling":{}}`)
	srv.want(`{"jsonrpc":"2.0","id":$a,"method":"tools/call","params":{"name":"t"}}`)
	srv.send(`{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{}}`)
	c.want(`{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{"$k":{"method":"sampling/createMessage","params":{}}},"requestState":"$state"}}`)
	return c, srv
}

// A client that does not come back costs its call: the server hears of both ends.
func TestParkedCallExpires(t *testing.T) {
	s := newScene(t, legacy)
	s.gateway.SetParkTime(time.Millisecond)
	c, srv := parked(t, s)
	srv.wantAny(`{"jsonrpc":"2.0","id":"q","error":{"code":-32603,"message":"the client did not answer in time"}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":$a,"reason":"the client did not answer in time"}}`)
	c.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t",` + modernMeta(`{"sampling":{}}`, "") + `,"requestState":"$state"}}`)
	c.want(`{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"requestState has expired, and the request was cancelled: make it anew, without requestState"}}`)
}

// A state is good for one request, of one client, in one run.
func TestForeignStates(t *testing.T) {
	s := newScene(t, legacy)
	c, srv := parked(t, s)
	for i, tt := range []struct{ params, want string }{
		{`"name":"u",` + modernMeta(`{"sampling":{}}`, "") + `,"requestState":"$state"`, "requestState belongs to another request"},
		{`"name":"t",` + modernMeta(`{"sampling":{}}`, "") + `,"requestState":"x$state"`, "requestState was not given out by this server"},
		{`"name":"t",` + modernMeta(`{"sampling":{}}`, "") + `,"requestState":7`, "requestState was not given out by this server"},
		{`"name":"t",` + modernMeta(`{"sampling":{}}`, "") + `,"inputResponses":{}`, "requestState was not given out by this server"},
	} {
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{%s}}`, 10+i, tt.params))
		c.want(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"error":{"code":-32602,"message":"%s"}}`, 10+i, tt.want))
	}
	other := s.client()
	other.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t",` + modernMeta(`{"sampling":{}}`, "") + `,"requestState":"$state"}}`)
	other.want(`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"requestState belongs to another request"}}`)

	later := newScene(t, legacy)
	later.vars["state"] = s.vars["state"]
	d := later.client()
	d.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t",` + modernMeta(`{"sampling":{}}`, "") + `,"requestState":"$state"}}`)
	later.server().greetAs(legacy)
	d.want(`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"requestState is from before this server was restarted: make the request anew, without it"}}`)

	c.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t",` + modernMeta(`{"sampling":{}}`, "") + `,"inputResponses":{"$k":{}},"requestState":"$state"}}`)
	srv.want(`{"jsonrpc":"2.0","id":"q","result":{}}`)
	srv.send(`{"jsonrpc":"2.0","id":$a,"result":{}}`)
	c.want(`{"jsonrpc":"2.0","id":2,"result":{"resultType":"complete"}}`)
}

// A client that leaves takes its session with it, and no other.
func TestClientLeaves(t *testing.T) {
	s := newScene(t, legacy)
	c, srv := parked(t, s)
	other := s.client()
	other.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + modernMeta(`{}`, "") + `}}`)
	second := s.server()
	second.greetAs(legacy)
	second.want(`{"jsonrpc":"2.0","id":$b,"method":"tools/list","params":{}}`)
	c.conn.Close()
	for range srv.lines { // until the server's connection ends
	}
	second.send(`{"jsonrpc":"2.0","id":$b,"result":{"tools":[]}}`)
	other.want(`{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[]}}`)
}

// A call that the client cancels while it is parked is not parked any more.
func TestParkedCallIsCancelled(t *testing.T) {
	s := newScene(t, legacy)
	c, srv := parked(t, s)
	c.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t",` + modernMeta(`{"sampling":{}}`, "") + `,"inputResponses":{"$k":{"role":"x"}},"requestState":"$state"}}`)
	srv.want(`{"jsonrpc":"2.0","id":"q","result":{"role":"x"}}`)
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2,"reason":"too \u0064ear"}}`)
	srv.want(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":$a,"reason":"too \u0064ear"}}`)
}

// A call that was parked has the log messages that its newest request wants.
func TestLogsOfAParkedCall(t *testing.T) {
	s := newScene(t, legacy)
	c, srv := parked(t, s)
	c.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t",` + modernMeta(`{"sampling":{}}`, `,"io.modelcontextprotocol/logLevel":"warning"`) +
		`,"inputResponses":{"$k":{}},"requestState":"$state"}}`)
	srv.wantAny(`{"jsonrpc":"2.0","id":"q","result":{}}`, `{"jsonrpc":"2.0","id":$level,"method":"logging/setLevel","params":{"level":"warning"}}`)
	srv.send(`{"jsonrpc":"2.0","id":$level,"result":{}}`, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`,
		`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":2}}`, `{"jsonrpc":"2.0","id":$a,"result":{"content":[]}}`)
	c.want(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":2}}`,
		`{"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","content":[]}}`)
}

// A legacy server that does not answer logging/setLevel costs the requests that want logs a few seconds,
// once.
func TestLevelIsNotAnswered(t *testing.T) { synctest.Test(t, levelIsNotAnswered) }

func levelIsNotAnswered(t *testing.T) {
	s := newScene(t, legacy)
	c := s.client()
	meta := modernMeta(`{}`, `,"io.modelcontextprotocol/logLevel":"warning"`)
	c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + meta + `}}`)
	srv := s.server()
	srv.greetAs(legacy)
	srv.want(`{"jsonrpc":"2.0","id":$level,"method":"logging/setLevel","params":{"level":"warning"}}`)
	srv.want(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":$level,"reason":"context deadline exceeded"}}`,
		`{"jsonrpc":"2.0","id":$one,"method":"tools/list","params":{}}`)
	c.send(`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{` + meta + `}}`)
	srv.want(`{"jsonrpc":"2.0","id":$two,"method":"tools/list","params":{}}`)
}
