package gateway_test

import (
	"strings"
	"testing"
)

// greetModern answers the probe of a modern server.
func (e *end) greetModern(info, offered string) {
	e.t.Helper()
	e.want(`{"jsonrpc":"2.0","id":$hello,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":` + offered +
		`,"io.modelcontextprotocol/clientInfo":` + info + `,"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`)
	e.send(`{"jsonrpc":"2.0","id":$hello,"result":` + discovered + `}`)
}

const (
	tasksToo = `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`
	editor   = `{"name":"editor","version":"2"}`
)

// A modern client reaches a modern server: what either says reaches the other byte for byte.
func TestModernClientOfModernServer(t *testing.T) {
	s := newScene(t, modern)
	c := s.client()
	offers := `{"elicitation":{"form":{}},"x":{"a":1e400}}`
	c.send(`{"jsonrpc":"2.0","id":"d","method":"server/discover","params":{` + modernMeta(offers, "") + `}}`)
	srv := s.server()
	srv.greetModern(editor, `{"elicitation":{"form":{}},"extensions":{"io.modelcontextprotocol/tasks":{}},"x":{"a":1e400}}`)
	c.want(`{"jsonrpc":"2.0","id":"d","result":` + discovered + `}`)

	c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"a": 1.0},` + modernMeta(offers, `,"progressToken":9,"io.modelcontextprotocol/logLevel":"debug","traceparent":"00-1"`) + `,"requestState":"mine","inputResponses":{"k":{"action":"accept","x":1e400}}}}`)
	srv.want(`{"jsonrpc":"2.0","id":$a,"method":"tools/call","params":{"name":"t","arguments":{"a": 1.0},"_meta":{"io.modelcontextprotocol/logLevel":"debug","traceparent":"00-1","io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"editor","version":"2","x":1.0},"io.modelcontextprotocol/clientCapabilities":` + offers + `,"progressToken":$token},"requestState":"mine","inputResponses":{"k":{"action":"accept","x":1e400}}}}`)
	srv.send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":$token,"progress":1}}`,
		`{"jsonrpc":"2.0","id":$a,"result":{"resultType":"input_required","inputRequests":{"k":{"method":"elicitation/create","params":{"message":"?"}}},"requestState":"st\u0061te", "x":1}}`)
	c.want(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":9,"progress":1}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{"k":{"method":"elicitation/create","params":{"message":"?"}}},"requestState":"st\u0061te", "x":1}}`)

	c.send(`{"jsonrpc":"2.0","id":"2","method":"resources/read","params":{"uri":"a:b",` + modernMeta(offers, "") + `}}`)
	srv.want(`{"jsonrpc":"2.0","id":$b,"method":"resources/read","params":{"uri":"a:b",` + modernMeta(offers, "") + `}}`)
	srv.send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1.0}}`,
		`{"jsonrpc":"2.0","id":$b,"error":{"code":-32021,"message":"no","data":{"requiredCapabilities":{"roots":{}}},"x":1}}`)
	c.want(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1.0}}`,
		`{"jsonrpc":"2.0","id":"2","error":{"code":-32021,"message":"no","data":{"requiredCapabilities":{"roots":{}}},"x":1}}`)

	// A task, and a cancellation, which is not answered.
	c.send(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"t",` + modernMeta(tasksToo, "") + `}}`)
	srv.want(`{"jsonrpc":"2.0","id":$c,"method":"tools/call","params":{"name":"t",` + modernMeta(tasksToo, "") + `}}`)
	srv.send(`{"jsonrpc":"2.0","id":$c,"result":{"resultType":"task","taskId":"1"}}`)
	c.want(`{"jsonrpc":"2.0","id":3,"result":{"resultType":"task","taskId":"1"}}`)
	c.send(`{"jsonrpc":"2.0","id":4,"method":"tasks/get","params":{"taskId":"1",` + modernMeta(tasksToo, "") + `}}`)
	srv.want(`{"jsonrpc":"2.0","id":$e,"method":"tasks/get","params":{"taskId":"1",` + modernMeta(tasksToo, "") + `}}`)
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4,"reason":"enough"}}`)
	srv.want(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":$e,"reason":"enough"}}`)
	c.send(`{"jsonrpc":"2.0","id":5,"method":"ping","params":{` + modernMeta(`{}`, "") + `}}`)
	c.want(`{"jsonrpc":"2.0","id":5,"error":{"code":-32601,"message":"Method not found: ping is not in protocol 2026-07-28"}}`)
}

// A client that tries initialize after an error of server/discover is told what is wrong with the server.
func TestInitializeAfterAFailedDiscover(t *testing.T) {
	s := newScene(t, modern)
	c := s.client()
	c.send(`{"jsonrpc":"2.0","id":"d","method":"server/discover","params":{` + modernMeta(`{}`, "") + `}}`)
	srv := s.server()
	srv.want(`{"jsonrpc":"2.0","id":$a,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}},"io.modelcontextprotocol/clientInfo":` + editor + `,"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`)
	srv.send(`{"jsonrpc":"2.0","id":$a,"error":{"code":-32603,"message":"license expired"}}`)
	for _, id := range []string{`"d"`, "1"} {
		if line := c.read(); !strings.HasPrefix(line, `{"jsonrpc":"2.0","id":`+id+`,"error":{"code":-32603,"message":"`) || !strings.Contains(line, "license expired") {
			t.Errorf("%s", line)
		}
		c.send(initialize("1", legacy, `{}`))
	}
}

// A stream of a modern client has the id of its request, in every message.
func TestListenToModernServer(t *testing.T) {
	s := newScene(t, modern)
	c := s.client()
	c.send(`{"jsonrpc":"2.0","id":"li","method":"subscriptions/listen","params":{` + modernMeta(`{}`, "") + `,"notifications":{"toolsListChanged":true,"resourceSubscriptions":["a:b"]}}}`)
	srv := s.server()
	srv.greetModern(editor, `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`)
	srv.want(`{"jsonrpc":"2.0","id":$listen,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["a:b"]},"_meta":{"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}},"io.modelcontextprotocol/clientInfo":` + editor + `,"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`)
	srv.send(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":$listen},"notifications":{"toolsListChanged":true,"resourceSubscriptions":["a:b"]}}}`,
		`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":$listen,"x":1.0}}}`,
		`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:b/c","_meta":{"io.modelcontextprotocol/subscriptionId":$listen},"x":1e400}}`)
	c.want(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["a:b"]},"_meta":{"io.modelcontextprotocol/subscriptionId":"li"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"li","x":1.0}}}`,
		`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:b/c","_meta":{"io.modelcontextprotocol/subscriptionId":"li"},"x":1e400}}`)

	// The client ends its side: the stream ends with a result.
	c.closeWrite()
	c.want(`{"jsonrpc":"2.0","id":"li","result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":"li"}}}`)
}
