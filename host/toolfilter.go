package host

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/internal/hosterr"
	"github.com/wharf-mcp/wharf/host/internal/strictjson"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// permits returns nil if the entry of a server permits a call of that tool, or else an error
// that says which key of the entry forbids it.
func permits(entry *config.Server, tool string) error {
	if entry.Permits(tool) {
		return nil
	}
	for _, name := range entry.DisabledTools {
		if one := (config.Server{DisabledTools: []string{name}}); one.Permits(tool) {
			continue
		}
		key := entry.ToolsKey(false)
		if key == "" {
			return hosterr.Errorf(ErrDenied, fmt.Sprintf("take %q out of it, or write an entry for %s of your own", name, entry.Name),
				"call %s on %s: the configuration of the client that has the entry forbids the tool", tool, entry.Name)
		}
		return hosterr.Errorf(ErrDenied, fmt.Sprintf("take %q out of %s in the entry of %s", name, key, entry.Name),
			"call %s on %s: the tool is among the %s of its entry", tool, entry.Name, key)
	}
	key := cmp.Or(entry.ToolsKey(true), "enabled_tools")
	return hosterr.Errorf(ErrDenied, fmt.Sprintf("add %q to %s in the entry of %s", tool, key, entry.Name),
		"call %s on %s: the tool is not among the %s of its entry", tool, entry.Name, key)
}

// filters reports whether the entry of a server forbids some tools.
func filters(entry *config.Server) bool {
	return entry.EnabledTools != nil || len(entry.DisabledTools) > 0
}

// permitted returns the tools that the entry permits.
func permitted(entry *config.Server, tools []mcp.Tool) []mcp.Tool {
	if !filters(entry) {
		return tools
	}
	return slices.DeleteFunc(slices.Clone(tools), func(t mcp.Tool) bool { return !entry.Permits(t.Name) })
}

// warnOfIdle warns once of each entry whose enabled_tools name tools that the server has not.
func (s *Session) warnOfIdle(entry *config.Server, tools []mcp.Tool) {
	var idle []string
	for _, pattern := range entry.EnabledTools {
		one := config.Server{EnabledTools: []string{pattern}}
		if !slices.ContainsFunc(tools, func(t mcp.Tool) bool { return one.Permits(t.Name) }) {
			idle = append(idle, fmt.Sprintf("%q", pattern))
		}
	}
	if len(idle) > 0 && s.warned.Swap(entry) != entry {
		s.host.warn(s.Name(), "it has no tool that fits "+strings.Join(idle, ", ")+" in "+cmp.Or(entry.ToolsKey(true), "enabled_tools")+" of its entry")
	}
}

// permitsRequest returns an error if the entry does not permit a request with these params.
// Otherwise it returns their JSON. The caller must send this JSON, and not params, because
// this JSON was checked.
func permitsRequest(entry *config.Server, method string, params any) (any, error) {
	if method != mcp.MethodCallTool || !filters(entry) {
		return params, nil
	}
	text, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	return json.RawMessage(text), permitsText(entry, method, text)
}

// permitsText returns an error if the entry does not permit a request with these params. It also
// refuses params that a server could read in two ways.
func permitsText(entry *config.Server, method string, params []byte) error {
	if method != mcp.MethodCallTool || !filters(entry) {
		return nil
	}
	if err := strictjson.Valid(params, 0); err != nil {
		return fmt.Errorf("params: %w", err)
	}
	var name string
	named := false
	r := strictjson.Read(params)
	for key := range r.Object() {
		switch {
		case string(key) == "name" && !named:
			name, named = r.String(), true
		case strings.EqualFold(string(key), "name"): // many decoders ignore case, and take it for the name
			return hosterr.Errorf(ErrDenied, "write the name of the tool once, as \"name\"",
				"%s on %s: the params have a second %q, which the server may read as the name of the tool", method, entry.Name, key)
		}
	}
	if err := r.Err(); err != nil {
		return fmt.Errorf("params: %w", err)
	}
	return permits(entry, name)
}

// permitsNotification refuses a notification that calls a tool. No revision of the protocol has
// calls without an answer, but some servers run them.
func permitsNotification(entry *config.Server, method string) error {
	if method != mcp.MethodCallTool || !filters(entry) {
		return nil
	}
	return hosterr.Errorf(ErrDenied, "call a tool with a request", "notify %s of %s: its entry names the tools that may be called", entry.Name, method)
}

// permittedResult returns a result of tools/list without the tools that the entry does not permit.
// The rest stays byte for byte.
func permittedResult(entry *config.Server, result json.RawMessage) json.RawMessage {
	var out []byte
	end := 0
	r := strictjson.Read(result).Unbounded()
	for name := range r.Object() {
		if at := r.Offset(); string(name) == "tools" && r.Kind() == '[' {
			out = append(out, result[end:at]...)
			out = append(out, permittedItems(entry, r.Raw())...)
			end = r.Offset()
		}
	}
	return append(out, result[end:]...)
}

// permittedItems returns an array of tools without those that the entry does not permit.
func permittedItems(entry *config.Server, items json.RawMessage) json.RawMessage {
	out, all := []byte{'['}, true
	r := strictjson.Read(items).Unbounded()
	for range r.Array() {
		tool := r.Raw()
		switch {
		case !permitsTool(entry, tool):
			all = false
			continue
		case len(out) > 1:
			out = append(out, ',')
		}
		out = append(out, tool...)
	}
	if all {
		return items
	}
	return append(out, ']')
}

// permitsTool reports whether a tool that a server lists may be called, by each name that it has.
func permitsTool(entry *config.Server, tool []byte) bool {
	named, may := false, true
	r := strictjson.Read(tool)
	for key := range r.Object() {
		if string(key) == "name" {
			named, may = true, may && entry.Permits(r.String())
		}
	}
	return named && may && r.Err() == nil
}
