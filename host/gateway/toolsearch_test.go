package gateway_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/gateway"
	"github.com/wharf-mcp/wharf/host/mcp"
)

func searching(s string) func(*host.Config, *gateway.Config) {
	return func(_ *host.Config, gc *gateway.Config) { gc.Search = s }
}

// Tools are searched for, read and called through three tools. The arguments go to the server byte for
// byte.
func TestSearchForTools(t *testing.T) {
	t.Parallel()
	for _, era := range []string{legacy, modern} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			p := newPair(t, era, era, searching("on"))
			files := p.play(p.servers, "files", era, `{"name":"read","description":"Reads a file","inputSchema":{"type":"object"},"x":1.50},{"name":"delete","description":"Deletes a file","inputSchema":{"type":"object"}}`, ``)
			p.play(p.notes, "notes", era, `{"name":"add","description":"Adds a note","inputSchema":{"type":"object"}}`, ``)
			c := p.speaker(era)
			c.contains("tools/list", `{}`, `"tools":[{"name":"search_tools",`, `{"name":"describe_tool",`, `{"name":"call_tool",`, `"required":["name"]}}]`)
			c.contains("tools/call", `{"name":"search_tools","arguments":{"query":"read a file","limit":1}}`, `"structuredContent":{"tools":[{"name":"files__read","description":"Reads a file"}],"of":3}`)
			c.contains("tools/call", `{"name":"search_tools","arguments":{"query":"zeppelin"}}`, `"structuredContent":{"tools":[],"of":3}`)
			c.contains("tools/call", `{"name":"describe_tool","arguments":{"name":"files__read"}}`, `"structuredContent":{"name":"files__read","description":"Reads a file","inputSchema":{"type":"object"},"x":1.50,`)
			c.contains("tools/call", `{"name":"call_tool","arguments":{"name":"notes__add","arguments":{"n":1e400}}}`, `notes got `, `\"name\":\"add\"`, `1e400`)
			c.contains("tools/call", `{"name":"notes__add","arguments":{}}`, `notes got `)
			c.contains("tools/call", `{"name":"call_tool","arguments":{"name":"notes__gone"}}`, `notes got `)
			for _, wrong := range []string{
				`{"name":"search_tools"}`, `{"name":"search_tools","arguments":{"query":"a","limit":0}}`, `{"name":"search_tools","arguments":{"query":"a","limit":"9"}}`,
				`{"name":"search_tools","arguments":{"query":7}}`, `{"name":"describe_tool","arguments":{"name":"nobody__read"}}`, `{"name":"describe_tool","arguments":[]}`,
				`{"name":"call_tool"}`, `{"name":"call_tool","arguments":{"name":"call_tool","arguments":{"name":"notes__add"}}}`, `{"name":"call_tool","arguments":{"name":"notes__add","arguments":"{}"}}`,
			} {
				c.contains("tools/call", wrong, `"error":{"code":-32602,`)
			}
			// What is listed stays the same, so the client hears of none of it, but finds it.
			files.mu.Lock()
			files.tools = `{"name":"zeppelin","inputSchema":{"type":"object"}}`
			files.mu.Unlock()
			before := files.timesListed()
			files.tell(mcp.NotificationToolsListChanged, "")
			files.awaitListed(before + 1)
			for found := ""; !strings.Contains(found, "files__zeppelin"); found = c.last {
				c.ask("tools/call", `{"name":"search_tools","arguments":{"query":"zeppelin"}}`)
				c.hears(`"structuredContent":{"tools":[`)
			}
		})
	}
}

// timesListed returns how often a server has listed its tools.
func (f *fake) timesListed() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.listed
}

func (f *fake) awaitListed(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.listed < n {
		f.changed.Wait()
	}
}

// Few tools are listed as they are, and many are searched for.
func TestSearchWhereThereAreManyTools(t *testing.T) {
	t.Parallel()
	p := newPair(t, modern, modern, searching("auto"))
	var many []string
	for i := range 300 {
		many = append(many, fmt.Sprintf(`{"name":"tool%d","description":%q,"inputSchema":{"type":"object"}}`, i, strings.Repeat("x", 200)))
	}
	files := p.play(p.servers, "files", modern, `{"name":"read","inputSchema":{"type":"object"}}`, ``)
	p.play(p.notes, "notes", modern, `{"name":"add","inputSchema":{"type":"object"}}`, ``)
	c := p.speaker(legacy)
	c.contains("tools/list", `{}`, `"files__read"`, `"notes__add"`)
	files.mu.Lock()
	files.tools = strings.Join(many, ",")
	files.mu.Unlock()
	files.tell(mcp.NotificationToolsListChanged, "")
	c.hears(mcp.NotificationToolsListChanged)
	c.contains("tools/list", `{}`, `"search_tools"`, `"call_tool"`)
	if strings.Contains(c.last, "files__") {
		t.Error(c.last)
	}
	c.contains("tools/call", `{"name":"search_tools","arguments":{"query":"tool299"}}`, `files__tool299`)
}

// A call through call_tool reports progress, asks and is cancelled as the tool itself would.
func TestCallThroughSearch(t *testing.T) {
	t.Parallel()
	for _, era := range []string{legacy, modern} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			p := newPair(t, legacy, legacy, searching("on"))
			c := p.speaker(era)
			call := `{"name":"call_tool","arguments":{"name":"files__ask","arguments":{"a":1}}`
			c.ask("tools/call", call+`}`)
			s := p.server()
			s.greet(legacy)
			s.want(`{"jsonrpc":"2.0","id":$call,"method":"tools/call","params":{"name":"ask","arguments":{"a":1}}}`)
			s.send(`{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"who?","requestedSchema":{"type":"object","properties":{}}}}`)
			if era == legacy {
				c.hears(`"method":"elicitation/create","params":{"message":"who?"`)
				_, id, _ := strings.Cut(c.last, `"id":`)
				id, _, _ = strings.Cut(id, ",")
				c.send(`{"jsonrpc":"2.0","id":` + id + `,"result":{"action":"decline"}}`)
			} else {
				c.hears(`"resultType":"input_required"`)
				_, key, _ := strings.Cut(c.last, `"inputRequests":{"`)
				key, rest, _ := strings.Cut(key, `"`)
				_, state, _ := strings.Cut(rest, `"requestState":"`)
				state, _, _ = strings.Cut(state, `"`)
				c.ask("tools/call", call+`,"inputResponses":{"`+key+`":{"action":"decline"}},"requestState":"`+state+`"}`)
			}
			s.want(`{"jsonrpc":"2.0","id":"q","result":{"action":"decline"}}`)
			s.send(`{"jsonrpc":"2.0","id":$call,"result":{"content":[]}}`)
			c.hears(`"content":[]`)

			if era == modern {
				return // its progress and cancellation come by the same way, of one era with the next
			}
			c.send(`{"jsonrpc":"2.0","id":77,"method":"tools/call","params":` + call + `,"_meta":{"progressToken":"p"}}}`)
			s.want(`{"jsonrpc":"2.0","id":$slow,"method":"tools/call","params":{"name":"ask","arguments":{"a":1},"_meta":{"progressToken":$token}}}`)
			s.send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":$token,"progress":1}}`)
			c.hears(`"method":"notifications/progress"`, `"progressToken":"p"`, `"progress":1`)
			c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}`)
			s.want(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":$slow}}`)
		})
	}
}
