package gateway_test

import (
	"testing"
	"testing/synctest"
)

// upstreamMeta is the _meta that a modern server gets from a legacy client.
func upstreamMeta(offered, more string) string {
	return `"_meta":{"io.modelcontextprotocol/clientCapabilities":` + offered + `,"io.modelcontextprotocol/clientInfo":` + editor +
		`,"io.modelcontextprotocol/protocolVersion":"2026-07-28"` + more + `}`
}

// A legacy client reaches a modern server.
func TestLegacyClientOfModernServer(t *testing.T) {
	s := newScene(t, modern)
	c := s.client()
	c.send(initialize("0", "2025-06-18", `{"elicitation":{},"roots":{}}`))
	offered := `{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}},"roots":{}}`
	srv := s.server()
	srv.greetModern(editor, offered)
	c.want(`{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":` + capabilities + `,"serverInfo":` + serverInfo + `,"instructions":"be brief"}}`)
	c.send(initialized)
	// The client need not ask to hear of lists that change.
	srv.want(`{"jsonrpc":"2.0","id":$listen,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true},` + upstreamMeta(offered, "") + `}}`)
	srv.send(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":$listen},"notifications":{"toolsListChanged":true,"resourcesListChanged":true}}}`,
		`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":$listen}}}`)
	c.want(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)

	// The server asks in its result; the client is asked in requests, and the call goes on.
	c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"a": 1.0},"_meta":{"progressToken":"p"}}}`)
	srv.want(`{"jsonrpc":"2.0","id":$a,"method":"tools/call","params":{"name":"t","arguments":{"a": 1.0},` + upstreamMeta(offered, `,"progressToken":$token`) + `}}`)
	srv.send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":$token,"progress":1}}`,
		`{"jsonrpc":"2.0","id":$a,"result":{"resultType":"input_required","inputRequests":{"k1":{"method":"elicitation/create","params":{"message":"?","requestedSchema":{"a":1e400}}},"k2":{"method":"roots/list"}},"requestState":"st\u0061te"}}`)
	c.wantAny(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1}}`,
		`{"jsonrpc":"2.0","id":$x,"method":"elicitation/create","params":{"message":"?","requestedSchema":{"a":1e400}}}`)
	c.send(`{"jsonrpc":"2.0","id":$x,"result":{"action":"accept","content":{"n":1e400}}}`)
	c.want(`{"jsonrpc":"2.0","id":$y,"method":"roots/list"}`)
	c.send(`{"jsonrpc":"2.0","id":$y,"result":{"roots":[]}}`)
	srv.want(`{"jsonrpc":"2.0","id":$b,"method":"tools/call","params":{"name":"t","arguments":{"a": 1.0},` + upstreamMeta(offered, `,"progressToken":$token`) + `,"inputResponses":{"k1":{"action":"accept","content":{"n":1e400}},"k2":{"roots":[]}},"requestState":"st\u0061te"}}`)
	srv.send(`{"jsonrpc":"2.0","id":$b,"result":{"resultType":"complete","content":[],"structuredContent":[1e400]}}`)
	c.want(`{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[],"structuredContent":[1e400]}}`)

	// A resource that is not there.
	c.send(`{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"a:b"}}`)
	srv.want(`{"jsonrpc":"2.0","id":$d,"method":"resources/read","params":{"uri":"a:b",` + upstreamMeta(offered, "") + `}}`)
	srv.send(`{"jsonrpc":"2.0","id":$d,"error":{"code":-32602,"message":"none","data":{"uri":"a:b"}}}`)
	c.want(`{"jsonrpc":"2.0","id":2,"error":{"code":-32002,"message":"none","data":{"uri":"a:b"}}}`)

	// A level holds for all requests from then on.
	c.send(`{"jsonrpc":"2.0","id":3,"method":"logging/setLevel","params":{"level":"notice"}}`)
	c.want(`{"jsonrpc":"2.0","id":3,"result":{}}`)
	c.send(`{"jsonrpc":"2.0","id":4,"method":"tools/list"}`)
	srv.want(`{"jsonrpc":"2.0","id":$e,"method":"tools/list","params":{` + upstreamMeta(offered, `,"io.modelcontextprotocol/logLevel":"notice"`) + `}}`)
	srv.send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"notice","data":1.0}}`,
		`{"jsonrpc":"2.0","id":$e,"result":{"resultType":"complete","tools":[],"ttlMs":5,"cacheScope":"private"}}`)
	c.want(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"notice","data":1.0}}`,
		`{"jsonrpc":"2.0","id":4,"result":{"resultType":"complete","tools":[],"ttlMs":5,"cacheScope":"private"}}`)

	// A subscription to a resource is a stream.
	c.send(`{"jsonrpc":"2.0","id":5,"method":"resources/subscribe","params":{"uri":"a:b"}}`)
	srv.want(`{"jsonrpc":"2.0","id":$f,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["a:b"]},` + upstreamMeta(offered, `,"io.modelcontextprotocol/logLevel":"notice"`) + `}}`)
	srv.send(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":$f},"notifications":{"resourceSubscriptions":["a:b"]}}}`)
	c.want(`{"jsonrpc":"2.0","id":5,"result":{}}`)
	srv.send(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:b","_meta":{"io.modelcontextprotocol/subscriptionId":$f}}}`)
	c.want(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:b"}}`)
	c.send(`{"jsonrpc":"2.0","id":6,"method":"resources/unsubscribe","params":{"uri":"a:b"}}`)
	c.want(`{"jsonrpc":"2.0","id":6,"result":{}}`)
	srv.want(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":$f,"reason":"the subscription is closed: session is closed"}}`)

	c.send(`{"jsonrpc":"2.0","id":7,"method":"tasks/list"}`)
	c.want(`{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"Method not found: tasks/list is not in protocol 2026-07-28"}}`)
}

// A modern client reaches a legacy server: its call is parked while the client answers.
func TestModernClientOfLegacyServer(t *testing.T) { synctest.Test(t, modernClientOfLegacyServer) }

func modernClientOfLegacyServer(t *testing.T) {
	s := newScene(t, legacy)
	c := s.client()
	offers := modernMeta(`{"elicitation":{"form":{}},"roots":{}}`, "")
	c.send(`{"jsonrpc":"2.0","id":"d","method":"server/discover","params":{` + offers + `}}`)
	srv := s.server()
	srv.greetLegacy(`{"elicitation":{"form":{}},"roots":{}}`)
	c.want(`{"jsonrpc":"2.0","id":"d","result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":` + capabilities +
		`,"instructions":"be brief","ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":` + serverInfo + `}}}`)

	// A server may ask before any request is open in which the client can be asked.
	srv.send(`{"jsonrpc":"2.0","id":"early","method":"roots/list"}`)
	c.send(`{"jsonrpc":"2.0","id":0,"method":"tools/list","params":{` + offers + `}}`)
	srv.want(`{"jsonrpc":"2.0","id":$l,"method":"tools/list","params":{}}`)
	srv.send(`{"jsonrpc":"2.0","id":$l,"result":{"tools":[ 1.0 ]}}`)
	c.want(`{"jsonrpc":"2.0","id":0,"result":{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[ 1.0 ]}}`)

	c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"a": 1.0},"task":{"ttl":1},` + modernMeta(`{"elicitation":{"form":{}},"roots":{}}`, `,"progressToken":"p"`) + `}}`)
	srv.want(`{"jsonrpc":"2.0","id":$a,"method":"tools/call","params":{"name":"t","arguments":{"a": 1.0},"_meta":{"progressToken":$token}}}`)
	c.want(`{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{"$k":{"method":"roots/list"}},"requestState":"$state"}}`)
	srv.send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":$token,"progress":1}}`, // which no request of the client waits for
		`{"jsonrpc":"2.0","id":"s","method":"elicitation/create","params":{"message":"?","x":1e400}}`,
		`{"jsonrpc":"2.0","id":"u","method":"elicitation/create","params":{"mode":"url","url":"https://x"}}`)
	srv.want(`{"jsonrpc":"2.0","id":"u","error":{"code":-32602,"message":"the client does not offer elicitation in this mode"}}`)
	synctest.Wait() // so that the progress is there when a request waits for the call again
	retry := func(id, answers, state string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"arguments":{"a": 1.0},"task":{"ttl":1},"name":"t",` + modernMeta(`{"elicitation":{"form":{}},"roots":{}}`, `,"progressToken":"q"`) +
			`,"inputResponses":{` + answers + `},"requestState":"` + state + `"}}`
	}
	c.send(retry("2", `"$k":{"roots":[1e400]}`, "$state"))
	srv.want(`{"jsonrpc":"2.0","id":"early","result":{"roots":[1e400]}}`)
	c.want(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"q","progress":1}}`)
	c.want(`{"jsonrpc":"2.0","id":2,"result":{"resultType":"input_required","inputRequests":{"$second":{"method":"elicitation/create","params":{"message":"?","x":1e400}}},"requestState":"$more"}}`)

	// A client that does not answer is asked again; an old state is refused.
	c.send(retry("3", ``, "$more"))
	c.want(`{"jsonrpc":"2.0","id":3,"result":{"resultType":"input_required","inputRequests":{"$third":{"method":"elicitation/create","params":{"message":"?","x":1e400}}},"requestState":"$last"}}`)
	c.send(retry("4", ``, "$more"))
	c.want(`{"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"requestState was used before"}}`)

	c.send(retry("5", `"$third":{"action":"accept"}`, "$last"))
	srv.want(`{"jsonrpc":"2.0","id":"s","result":{"action":"accept"}}`)
	srv.send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":$token,"progress":2}}`,
		`{"jsonrpc":"2.0","id":$a,"result":{"content":[],"resultType":"odd"}}`)
	c.want(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"q","progress":2}}`,
		`{"jsonrpc":"2.0","id":5,"result":{"content":[],"resultType":"complete"}}`)
	c.send(retry("6", ``, "$last"))
	c.want(`{"jsonrpc":"2.0","id":6,"error":{"code":-32602,"message":"requestState has expired, and the request was cancelled: make it anew, without requestState"}}`)

	// A resource that is not there, and log messages at a level.
	c.send(`{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"a:b",` + modernMeta(`{}`, `,"io.modelcontextprotocol/logLevel":"warning"`) + `}}`)
	srv.want(`{"jsonrpc":"2.0","id":$n,"method":"logging/setLevel","params":{"level":"warning"}}`)
	srv.send(`{"jsonrpc":"2.0","id":$n,"result":{}}`)
	srv.want(`{"jsonrpc":"2.0","id":$o,"method":"resources/read","params":{"uri":"a:b"}}`)
	srv.send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`,
		`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":1.0}}`,
		`{"jsonrpc":"2.0","id":$o,"error":{"code":-32002,"message":"none"}}`)
	c.want(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":1.0}}`,
		`{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"none"}}`)

	// A stream.
	c.send(`{"jsonrpc":"2.0","id":8,"method":"subscriptions/listen","params":{` + offers + `,"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourceSubscriptions":["a:b"]}}}`)
	srv.want(`{"jsonrpc":"2.0","id":$q,"method":"resources/subscribe","params":{"uri":"a:b"}}`)
	srv.send(`{"jsonrpc":"2.0","id":$q,"result":{}}`)
	c.want(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["a:b"]},"_meta":{"io.modelcontextprotocol/subscriptionId":8}}}`)
	srv.send(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	c.want(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":8}}}`)
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":8}}`)
	srv.want(`{"jsonrpc":"2.0","id":$r,"method":"resources/unsubscribe","params":{"uri":"a:b"}}`)
}
