package gateway_test

import "testing"

// A legacy client reaches a legacy server: what either says reaches the other byte for byte.
func TestLegacyClientOfLegacyServer(t *testing.T) {
	s := newScene(t, legacy)
	c := s.client()
	c.send(`{"jsonrpc":"2.0","id":"p","method":"ping"}`)
	c.want(`{"jsonrpc":"2.0","id":"p","result":{}}`)
	c.send(initialize("0", "2025-11-25", `{"roots":{"listChanged":true},"sampling":{"tools":{}},"experimental":{"x":{"a":1e400}}}`))
	srv := s.server()
	srv.greetLegacy(`{"experimental":{"x":{"a":1e400}},"roots":{"listChanged":true},"sampling":{"tools":{}}}`)
	c.want(`{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":` + capabilities + `,"serverInfo":` + serverInfo + `,"instructions":"be brief"}}`)
	c.send(initialized)

	// A result, with a token of the client's own, which is a string, and progress before the result.
	c.send(`{"jsonrpc":"2.0","id":"a-1","method":"tools/call","params":{"name":"t", "arguments":{"n":1e400,"n":2},"_meta":{"progressToken":"tök","x":[ 1 ]},"more":1}}`)
	srv.want(`{"jsonrpc":"2.0","id":$a,"method":"tools/call","params":{"name":"t", "arguments":{"n":1e400,"n":2},"_meta":{"x":[ 1 ],"progressToken":$token},"more":1}}`)
	srv.send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":$token,"progress":0.50,"x":"y"}}`,
		`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":{"a":  1}}}`,
		`{"jsonrpc":"2.0","id":$a,"result":{"content":[],"structuredContent":{"big":9223372036854775808,"big":1},"isError":false, "x":"\u00e9"}}`)
	c.wantAny(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"tök","progress":0.50,"x":"y"}}`,
		`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":{"a":  1}}}`)
	c.want(`{"jsonrpc":"2.0","id":"a-1","result":{"content":[],"structuredContent":{"big":9223372036854775808,"big":1},"isError":false, "x":"\u00e9"}}`)

	// An error.
	c.send(`{"jsonrpc":"2.0","id":1.50,"method":"x/own"}`)
	srv.want(`{"jsonrpc":"2.0","id":$b,"method":"x/own"}`)
	srv.send(`{"jsonrpc":"2.0","id":$b,"error":{"code":-32042,"message":"no\u002e","data":{"a": 1e400},"more":true}}`)
	c.want(`{"jsonrpc":"2.0","id":1.50,"error":{"code":-32042,"message":"no\u002e","data":{"a": 1e400},"more":true}}`)

	// Requests of the server: one that the client answers, one that it refuses, one that it did not
	// offer.
	srv.send(`{"jsonrpc":"2.0","id":"s1","method":"sampling/createMessage","params":{"messages":[], "_meta":{"progressToken":7}}}`)
	c.want(`{"jsonrpc":"2.0","id":$s,"method":"sampling/createMessage","params":{"messages":[], "_meta":{"progressToken":7}}}`)
	c.send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":1}}`)
	srv.want(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":1}}`)
	c.send(`{"jsonrpc":"2.0","id":$s,"result":{"role":"assistant","x":1e400}}`)
	srv.want(`{"jsonrpc":"2.0","id":"s1","result":{"role":"assistant","x":1e400}}`)
	srv.send(`{"jsonrpc":"2.0","id":"s2","method":"roots/list"}`)
	c.want(`{"jsonrpc":"2.0","id":$r,"method":"roots/list"}`)
	c.send(`{"jsonrpc":"2.0","id":$r,"error":{"code":-1,"message":"not now","more":[1]}}`)
	srv.want(`{"jsonrpc":"2.0","id":"s2","error":{"code":-1,"message":"not now","more":[1]}}`)
	srv.send(`{"jsonrpc":"2.0","id":"s3","method":"elicitation/create","params":{"message":"?"}}`)
	srv.want(`{"jsonrpc":"2.0","id":"s3","error":{"code":-32601,"message":"Method not found: the client does not offer elicitation"}}`)

	// Notifications.
	c.send(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
	srv.want(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
	srv.send(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"v":1.0}}}`)
	c.want(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"v":1.0}}}`)
}
