package main

import (
	"encoding/json"
	"slices"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/args"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/catalogue"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// knownTools returns the tools that a server had when it was last used and that its entry
// permits.
func knownTools(server host.Server) []mcp.Tool {
	snapshot, err := catalogue.Open(catalogueDir()).Load(catalogue.KeyOf(server))
	if err != nil {
		return nil
	}
	return permitted(server, snapshot)
}

// serverOf returns the first server that had a tool of that name when it was last used, or "".
func (s *settings) serverOf(tool string) string {
	for _, server := range s.names() {
		entry, _ := s.find(server)
		if slices.ContainsFunc(knownTools(entry), func(t mcp.Tool) bool { return t.Name == tool }) {
			return server
		}
	}
	return ""
}

func permitted(server host.Server, snapshot *catalogue.Snapshot) []mcp.Tool {
	return slices.DeleteFunc(itemsOf[mcp.Tool](snapshot.Lists[catalogue.Tools]), func(t mcp.Tool) bool {
		return !server.Permits(t.Name)
	})
}

// itemsOf reads a list, and leaves out what cannot be read.
func itemsOf[T any](l catalogue.List) (items []T) {
	var raw []json.RawMessage
	if json.Unmarshal(l.Items, &raw) != nil {
		return nil
	}
	for _, text := range raw {
		var item T
		if json.Unmarshal(text, &item) == nil {
			items = append(items, item)
		}
	}
	return items
}

func namesOfTools(tools []mcp.Tool) []string {
	names := make([]string, len(tools))
	for i := range tools {
		names[i] = tools[i].Name
	}
	return names
}

// knownSchema returns the schema of a tool, which names nothing if the tool is not known.
func knownSchema(server host.Server, tool string) *args.Schema {
	tools := knownTools(server)
	at := slices.IndexFunc(tools, func(t mcp.Tool) bool { return t.Name == tool })
	if at < 0 {
		return args.ReadSchema(nil)
	}
	return args.ReadSchema(tools[at].InputSchema)
}
