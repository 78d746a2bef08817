package config

import (
	"maps"
	"slices"
	"strings"
)

// qwen reads the rules of Qwen Code about tools, in which mcp__SERVER means all that a server has. It joins the first
// three lists (packages/cli/src/config/config.ts).
func (f *forbidden) qwen(doc *document) {
	first := len(f.rules)
	for _, path := range [][]string{{"permissions", "deny"}, {"tools", "exclude"}, {"excludeTools"}, {"tools", "disabled"}} {
		f.forbid(claudeTool, doc, path...)
	}
	for i := range f.rules[first:] {
		f.rules[first+i].whole = true
	}
}

// agent reads the list of the tools that an agent of Amazon Q's CLI or of Kiro has: "*" is all, @SERVER all those of a
// server, and @SERVER/TOOL one. A file without a list forbids nothing here.
func (f *forbidden) agent(doc *document) {
	list, listed := doc.root["tools"].([]any)
	if !listed || slices.Contains(list, any("*")) {
		return
	}
	switch c := clientOf(doc.path); {
	case c == nil && looksLikeAgent(doc):
		f.notes = append(f.notes, newEntry(doc, "").mistake("tools", "is read as the list of an agent of Amazon Q or Kiro: tools that it leaves out are disabled"))
	case c == nil || c.id != "amazonq" && c.id != "kiro":
		return
	}
	f.onlyListed(toolRule{key: "tools", pattern: "@*", before: agentTool})
	for _, name := range doc.texts("tools") {
		if strings.HasPrefix(name, "@") && !strings.Contains(name, "/") {
			name += "/*"
		}
		f.rules = append(f.rules, toolRule{key: "tools", pattern: name, before: agentTool, permits: true})
	}
}

// looksLikeAgent reports whether a file has what only agents of Amazon Q's CLI and of Kiro have.
func looksLikeAgent(doc *document) bool {
	isOfAgent := func(key string) bool { return doc.root[key] != nil }
	isOfServer := func(tool string) bool { return strings.HasPrefix(tool, "@") }
	return slices.ContainsFunc([]string{"allowedTools", "toolsSettings", "toolAliases", "useLegacyMcpJson", "includeMcpJson"}, isOfAgent) ||
		slices.ContainsFunc(doc.texts("tools"), isOfServer)
}

// opencode reads opencode's tables of tools and of permissions, those for all agents and then those of the agent that
// it begins with ("Agents" in its documentation; mode is their older name).
func (f *forbidden) opencode(doc *document) {
	f.opencodeTables(doc)
	agent, named := doc.root["default_agent"].(string)
	if !named {
		agent = "build"
	}
	f.opencodeTables(doc, "mode", agent)
	f.opencodeTables(doc, "agent", agent)
}

// opencodeTables reads the tables below a path. Among the permissions, "ask" permits.
func (f *forbidden) opencodeTables(doc *document, path ...string) {
	tools, permission := append(slices.Clip(path), "tools"), append(slices.Clip(path), "permission")
	add := func(of []string, pattern string, permits bool) {
		if !permits { // "?" is one character: a wider pattern may forbid, but not permit
			pattern = strings.ReplaceAll(pattern, "?", "*")
		}
		f.rules = append(f.rules, toolRule{key: strings.Join(of, "."), pattern: pattern, before: opencodeTool, permits: permits})
	}
	for _, pattern := range doc.under(tools...) {
		if permits, ok := doc.at(append(slices.Clip(tools), pattern)).(bool); ok {
			add(tools, pattern, permits)
		}
	}
	if doc.at(permission) == "deny" {
		add(permission, "*", false)
	}
	for _, pattern := range doc.under(permission...) {
		v := doc.at(append(slices.Clip(permission), pattern))
		if of, table := v.(map[string]any); table { // by arguments: "*" is any
			v = of["*"]
		}
		if what, ok := v.(string); ok {
			add(permission, pattern, what != "deny")
		}
	}
}

// onlyListed adds the rule that forbids what its key does not name.
func (f *forbidden) onlyListed(r toolRule) {
	r.others = true
	f.lists[r.key] = true
	f.rules = append(f.rules, r)
}

// ampEnabled reads Amp's list of the tools that are on. Without it all are (amp --help).
func (f *forbidden) ampEnabled(doc *document) {
	const key = "amp.tools.enable"
	if _, listed := doc.root[key].([]any); !listed {
		return
	}
	f.onlyListed(toolRule{key: key, pattern: "*", before: doubleTool})
	for _, pattern := range doc.texts(key) {
		f.rules = append(f.rules, toolRule{key: key, pattern: pattern, before: doubleTool, permits: true})
	}
}

// amp reads Amp's rules about tools and those about servers. The first rule that fits a tool
// counts.
func (f *forbidden) amp(doc *document) {
	f.starts, _ = doc.root["amp.mcpPermissions"].([]any)
	const key = "amp.permissions"
	list, _ := doc.root[key].([]any)
	for _, item := range slices.Backward(list) {
		rule, _ := item.(map[string]any)
		tool, _ := rule["tool"].(string)
		rejects := rule["action"] == "reject"
		switch {
		case tool == "":
		case rule["matches"] == nil:
			f.rules = append(f.rules, toolRule{key: key, pattern: tool, before: doubleTool, permits: !rejects})
		case rejects:
			e := newEntry(doc, "")
			f.notes = append(f.notes, e.mistake(key, "rejects %s by its arguments, which wharf does not do; forbid it with disabled_tools, if you mean all of it", tool))
		}
	}
}

// zed reads Zed's permissions of tools, except those that depend on arguments, and what its default profile has off.
func (f *forbidden) zed(doc *document) {
	permissions := []string{"agent", "tool_permissions"}
	if what, ok := doc.at(append(permissions, "default")).(string); ok {
		f.rules = append(f.rules, toolRule{key: "agent.tool_permissions", pattern: "mcp:*", before: zedTool, permits: what != "deny"})
	}
	for _, name := range doc.under(append(permissions, "tools")...) {
		if what, ok := doc.at(append(permissions, "tools", name, "default")).(string); ok {
			f.rules = append(f.rules, toolRule{key: "agent.tool_permissions", pattern: name, before: zedTool, permits: what != "deny"})
		}
		if list, _ := doc.at(append(permissions, "tools", name, "always_deny")).([]any); len(list) > 0 && strings.HasPrefix(name, "mcp:") {
			f.notes = append(f.notes, newEntry(doc, "").mistake("agent.tool_permissions.tools", "always_deny of %s is by arguments, which wharf does not look at; forbid the tool with disabled_tools, if you mean all of it", name))
		}
	}
	profile, named := doc.at([]string{"agent", "default_profile"}).(string)
	if !named {
		profile = "write" // Zed's own
	}
	path := []string{"agent", "profiles", profile}
	key := strings.Join(path, ".")
	table, _ := doc.at(path).(map[string]any)
	all, given := table["enable_all_context_servers"]
	some := all == false || table != nil && !given && profile != "write" && profile != "ask" // Zed's own two have it
	if some {
		f.onlyListed(toolRule{key: key, pattern: "mcp:*", before: zedTool})
	}
	servers, _ := table["context_servers"].(map[string]any)
	for _, server := range slices.Sorted(maps.Keys(servers)) {
		settings, _ := servers[server].(map[string]any)
		tools, _ := settings["tools"].(map[string]any)
		for _, tool := range slices.Sorted(maps.Keys(tools)) {
			if on, ok := tools[tool].(bool); ok && (some || !on) {
				f.rules = append(f.rules, toolRule{key: key, pattern: "mcp:" + server + ":" + tool, before: zedTool, permits: on})
			}
		}
	}
}
