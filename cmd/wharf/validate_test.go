package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

// serverBreaks promises a number and does not keep it: it answers with the
// arguments. It says on stderr what it is called with.
func serverBreaks() {
	for input := bufio.NewScanner(os.Stdin); input.Scan(); {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Name      string
				Arguments json.RawMessage
			}
		}
		json.Unmarshal(input.Bytes(), &m)
		switch m.Method {
		case "initialize":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"prompts":{},"resources":{}},"serverInfo":{"name":"breaks","version":"1"}}}`+"\n", m.ID)
		case "tools/list":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[`+
				`{"name":"count","inputSchema":{"type":"object","properties":{"n":{"type":"integer","maximum":9},"mode":{"enum":["up","down"]},"at":{"type":"object","properties":{"x":{"type":"integer"}}}}},`+
				`"outputSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}},`+
				`{"name":"odd","inputSchema":{"$ref":"https://example.com/schema.json"}},`+
				`{"name":"wrong","inputSchema":{"type":"object","properties":{"n":{"type":"wat"}}}},`+
				`{"name":"dashed","inputSchema":{"type":"object","required":["--n"],"properties":{"-dash":{"type":"string"},"--n":{"type":"integer"},"":{}}}},`+
				`{"name":"f()","inputSchema":{"type":"object"}},{"name":"-dash","inputSchema":{"type":"object"}},`+
				`{"name":"null","inputSchema":{"type":"object"}}]}}`+"\n", m.ID)
		case "tools/call":
			fmt.Fprintln(os.Stderr, "called with", string(m.Params.Arguments))
			switch m.Params.Name {
			case "f()", "-dash":
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%q}]}}`+"\n", m.ID, m.Params.Name)
				continue
			case "null":
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":null}`+"\n", m.ID)
				continue
			}
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[],"structuredContent":%s}}`+"\n", m.ID, m.Params.Arguments)
		case "prompts/list":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"prompts":[]}}`+"\n", m.ID)
		case "resources/list":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"resources":[]}}`+"\n", m.ID)
		case "resources/read":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"contents":[]}}`+"\n", m.ID)
		case "prompts/get":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"messages":[]}}`+"\n", m.ID)
		default:
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`+"\n", m.ID)
		}
	}
}
