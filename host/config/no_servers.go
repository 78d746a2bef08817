package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// noServers is the error of a file in which no servers are found.
func noServers(doc *document) error {
	if doc.format == formatXML {
		return &Error{File: doc.path, noServers: true, Problem: "has no servers: since 2025.3 the AI Assistant of JetBrains keeps them in .ai/mcp/mcp.json of the home folder"}
	}
	var found []string
	if doc.keys != nil {
		found = doc.keys.names
	}
	const few = 5
	text := "nothing"
	if len(found) > few {
		text = strings.Join(found[:few], ", ") + ", …"
	} else if len(found) > 0 {
		text = strings.Join(found, ", ")
	}
	if list, ok := doc.at(rootMCPServers).([]any); ok && len(list) > 0 {
		if _, table := list[0].(map[string]any); !table {
			return newEntry(doc, "", append(slices.Clone(rootMCPServers), "0")...).notServer(list[0])
		}
	}
	if wrong := misplaced(doc); wrong != nil {
		return wrong
	}
	e := &Error{File: doc.path, noServers: true}
	if dir, name := filepath.Split(doc.path); filepath.Base(dir) == ".claude" && strings.HasPrefix(name, "settings.") {
		e.Problem = "is a file of Claude Code, which keeps servers in ~/.claude.json, and in the .mcp.json of a project"
		return e
	}
	switch {
	case doc.root["manifest_version"] != nil && doc.root["server"] != nil:
		e.Problem = "is the manifest of a bundle (.mcpb), which says how its own program is started, and no configuration"
		return e
	case doc.root["packages"] != nil || doc.root["remotes"] != nil:
		e.Problem = "describes a server for a registry, and is no configuration; `wharf add NAME` adds one that a registry has"
		return e
	}
	for _, key := range found {
		if key != rootMCPServers[0] && strings.EqualFold(key, rootMCPServers[0]) {
			e.noServers, text = false, text+fmt.Sprintf(" (did you mean %s?)", rootMCPServers[0]) // servers were meant
		}
	}
	if c := clientOf(doc.path); c != nil {
		e.Problem = fmt.Sprintf("is a file of %s, and has no servers: expected them under %s; it has %s", c.name, strings.Join(c.rootPaths()[0], "."), text)
		return e
	}
	e.Problem = fmt.Sprintf("has no servers: it has %s; servers are found under %s, and in files of Wharf under [servers.NAME]", text, rootsText())
	return e
}

// misplaced returns the mistake of a file that has servers in a place where Wharf does not look,
// or nil. It knows a server without a name, one without a table of servers around it, and a
// table of servers that is inside another table or is no table.
func misplaced(doc *document) *Error {
	e, root := newEntry(doc, ""), rootMCPServers[0]
	if v, given := doc.root[root]; given {
		wrong := e.mistake(root, "expected a table of servers, not %s", sort(v))
		_, isText := v.(string)
		wrong.noServers = !isText // a text is meant as a server
		if argv := commandLine(v); len(argv) > 0 {
			wrong.Problem += "; write " + strconv.Quote(root) + ": {" + doc.example("NAME", argv) + "}"
		}
		return wrong
	}
	if c := clientOf(doc.path); c != nil {
		if !strings.Contains(filepath.Base(doc.path), "mcp") || len(c.rootPaths()[0]) > 1 {
			return nil // it has settings of all kinds
		}
		root = c.rootPaths()[0][0]
	}
	if wrong := nameless(doc, nil); wrong != nil {
		return wrong
	}
	for _, key := range doc.under() {
		table, _ := doc.table(key)
		switch {
		case table["command"] != nil || table["url"] != nil:
			return e.mistake(key, `looks like a server; write {%q: {%q: {…}}}`, root, key)
		case table[root] != nil:
			return e.mistake(key+"."+root, "is not where servers are looked for; write %s at the top of the file", root)
		}
	}
	return nil
}
