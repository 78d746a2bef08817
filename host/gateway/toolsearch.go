package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/wharf-mcp/wharf/host/catalogue"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// Where there are more tools than a model should read, the aggregate lists three in their place: one
// finds tools, one shows one, and one calls one. Their names have no separator, so no tool of a server
// has them.
const (
	toolSearch   = "search_tools"
	toolDescribe = "describe_tool"
	toolCall     = "call_tool"
)

// Values of [Config].Search: when the aggregate lists three tools in place of all.
const (
	searchOn   = "on"
	searchAuto = "auto" // when the list has more than searchBytes
	searchOff  = "off"
)

const (
	searchBytes   = 40_000 // a list of 10,000 tokens, at four bytes each
	maxFound      = 20     // tools of one result
	foundDefault  = 5
	foundTextSize = 300 // bytes of a description in a result
)

// searchTools are the three tools that are listed.
var searchTools = mergedList{{items: []json.RawMessage{
	[]byte(`{"name":"search_tools","title":"Search tools","description":"Finds tools of all servers by what they do. Search before you say that something cannot be done; then read a tool with describe_tool, and call it with call_tool.","inputSchema":{"type":"object","properties":{"query":{"type":"string","description":"What the tool has to do, in a few words, such as: create an issue"},"limit":{"type":"integer","minimum":1,"maximum":20,"description":"How many tools to return; 5 if absent"}},"required":["query"]},"annotations":{"readOnlyHint":true,"openWorldHint":false}}`),
	[]byte(`{"name":"describe_tool","title":"Describe a tool","description":"Returns the whole definition of a tool that search_tools has found, with the schema of its arguments.","inputSchema":{"type":"object","properties":{"name":{"type":"string","description":"The name, as search_tools returned it"}},"required":["name"]},"annotations":{"readOnlyHint":true,"openWorldHint":false}}`),
	[]byte(`{"name":"call_tool","title":"Call a tool","description":"Calls a tool that search_tools has found, and returns its result.","inputSchema":{"type":"object","properties":{"name":{"type":"string","description":"The name, as search_tools returned it"},"arguments":{"type":"object","description":"The arguments, as describe_tool shows them"}},"required":["name"]}}`),
}}}

// searches reports whether the aggregate lists searchTools in place of these tools.
func (g *Gateway) searches(tools mergedList) bool {
	return g.config.Search == searchOn || g.config.Search == searchAuto && tools.size() > searchBytes
}

// callOfTools handles a call of one of the three tools. It returns the result or, for call_tool, the
// call of the tool that the arguments name. Any other request it returns unchanged as call.
func (a *aggregate) callOfTools(ctx context.Context, r *request) (result json.RawMessage, call *request, err error) {
	if s := a.gateway.config.Search; s != searchAuto && s != searchOn || r.method != mcp.MethodCallTool {
		return nil, r, nil
	}
	given := member(r.params, "arguments")
	switch text(r.params, "name") {
	case toolSearch:
		result, err = a.findTools(ctx, r, given)
		return result, nil, err
	case toolDescribe:
		result, err = a.describeTool(ctx, r, text(given, "name"))
		return result, nil, err
	case toolCall:
		name, own := text(given, "name"), member(given, "arguments")
		if name == "" || own != nil && !isObject(own) {
			return nil, nil, invalidParams("%s: arguments.name is not the name of a tool, or arguments.arguments is no object", toolCall)
		}
		inner := *r
		inner.params = edit(r.params, change{"name", quote(name)}, change{"arguments", own})
		inner.header = nil // the client does not know which arguments this tool wants repeated in headers
		return nil, &inner, nil
	}
	return nil, r, nil
}

// findTools returns the result of search_tools: the tools that match a query best.
func (a *aggregate) findTools(ctx context.Context, r *request, given json.RawMessage) (json.RawMessage, error) {
	query, limit := text(given, "query"), foundDefault
	if wanted := member(given, "limit"); wanted != nil {
		n, err := strconv.Atoi(string(wanted))
		if err != nil || n < 1 {
			return nil, invalidParams("%s: arguments.limit is no number from 1 to %d", toolSearch, maxFound)
		}
		limit = min(n, maxFound)
	}
	if query == "" {
		return nil, invalidParams("%s: arguments.query is missing", toolSearch)
	}
	tools, err := a.allTools(ctx, r)
	if err != nil {
		return nil, err
	}
	index := newToolIndex(tools)
	var found []byte
	for _, at := range index.find(query, limit) {
		about := text(tools[at], "description")
		if len(about) > foundTextSize {
			about = strings.ToValidUTF8(about[:foundTextSize], "") + "…"
		}
		found = append(found, ',')
		found = append(found, edit(nil, change{"name", quote(text(tools[at], "name"))}, change{"description", quote(about)})...)
	}
	if len(found) > 0 {
		found = found[1:]
	}
	return a.toolResult(fmt.Appendf(nil, `{"tools":[%s],"of":%d}`, found, len(tools))), nil
}

// describeTool returns the result of describe_tool: the definition of a tool, as a full list would
// have it.
func (a *aggregate) describeTool(ctx context.Context, r *request, name string) (json.RawMessage, error) {
	tools, err := a.allTools(ctx, r)
	if err != nil {
		return nil, err
	}
	for _, tool := range tools {
		if text(tool, "name") == name {
			return a.toolResult(tool), nil
		}
	}
	return nil, invalidParams("Unknown tool: %s: %s finds the names", name, toolSearch)
}

// allTools returns the tools of all servers whose list was fetched. It waits for the other servers, but no
// longer than [Config].ListWait.
func (a *aggregate) allTools(ctx context.Context, r *request) ([][]byte, error) {
	l := listingOf(catalogue.Tools)
	if err := a.awaitLists(ctx, r, l); err != nil {
		return nil, err
	}
	return a.visible(r, l, a.servers.merged(l)).items(a.servers.owners(), l.kind), nil
}

// toolResult returns the result of one of the three tools, with object as its structured content and
// as text.
func (a *aggregate) toolResult(object json.RawMessage) json.RawMessage {
	block := edit(nil, change{"type", quote("text")}, change{"text", quote(string(object))})
	changes := []change{{"content", append(append([]byte{'['}, block...), ']')}, {"structuredContent", object}}
	if a.era == mcp.Modern {
		changes = append(changes, change{"resultType", quote(string(mcp.ResultComplete))})
	}
	return edit(nil, changes...)
}
