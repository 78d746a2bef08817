package host

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/internal/hosterr"
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
		key, remedy := entry.ToolsKey(false), entry.Remedy(name)
		if key == "" || remedy != "" {
			return hosterr.Errorf(ErrDenied, fmt.Sprintf("%s, or write an entry for %s of your own",
				cmp.Or(remedy, fmt.Sprintf("change what forbids %q in the files of the client", name)), entry.Name),
				"call %s on %s: the configuration of the client that has the entry forbids the tool", tool, entry.Name)
		}
		return hosterr.Errorf(ErrDenied, fmt.Sprintf("take %q out of %s in the entry of %s", name, key, entry.Name),
			"call %s on %s: the tool is among the %s of its entry", tool, entry.Name, key)
	}
	key := entry.ToolsKey(true)
	if remedy := entry.Remedy("*"); key == "" && remedy != "" {
		return hosterr.Errorf(ErrDenied, fmt.Sprintf("%s, or write an entry for %s of your own", remedy, entry.Name),
			"call %s on %s: the configuration of the client that has the entry does not permit the tool", tool, entry.Name)
	}
	key = cmp.Or(key, "enabled_tools")
	return hosterr.Errorf(ErrDenied, fmt.Sprintf("add %q to %s in the entry of %s", tool, key, entry.Name),
		"call %s on %s: the tool is not among the %s of its entry", tool, entry.Name, key)
}

// filters reports whether the entry of a server forbids some tools.
func filters(entry *config.Server) bool {
	return entry.EnabledTools != nil || len(entry.DisabledTools) > 0
}

// warnOfIdle warns once of each entry whose enabled_tools name tools that the server has not.
func (s *Session) warnOfIdle(entry *config.Server, tools []mcp.Tool) {
	key := entry.ToolsKey(true)
	if key == "" {
		return // it is from a list of the client, which has the client's own tools as well
	}
	var idle []string
	for _, pattern := range entry.EnabledTools {
		one := config.Server{EnabledTools: []string{pattern}}
		if !slices.ContainsFunc(tools, func(t mcp.Tool) bool { return one.Permits(t.Name) }) {
			idle = append(idle, fmt.Sprintf("%q", pattern))
		}
	}
	if len(idle) > 0 && s.warned.Swap(entry) != entry {
		s.host.warn(s.Name(), "it has no tool that fits "+strings.Join(idle, ", ")+" in "+key+" of its entry")
	}
}
