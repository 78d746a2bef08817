package config

import (
	"maps"
	"slices"
	"strings"
)

// enabledTools reads a list of tools. A "*" in it stands for all tools; to Goose, an empty list
// does too.
func (e *entry) enabledTools(c *client) []string {
	if _, table := e.values["tools"].(map[string]any); table { // of Codex: how each of them is approved
		e.note("tools", "%s", notTaken)
		delete(e.values, "tools")
	}
	list := e.list(e.first(foreignKeys.enabledTools))
	if c.id == "gemini" || c.id == "qwen" { // which has the arguments of a tool behind its name, and heeds them for its own tools only
		for i := range list {
			list[i], _, _ = strings.Cut(list[i], "(")
		}
	}
	if slices.Contains(list, "*") || c.id == "goose" && len(list) == 0 {
		return nil
	}
	return list
}

// disabledTools reads a list of tools, and those that a table of tools turns off.
func (e *entry) disabledTools() []string {
	list := e.list(e.first(foreignKeys.disabledTools))
	table, _ := e.values["tools"].(map[string]any)
	for _, tool := range slices.Sorted(maps.Keys(table)) {
		how, _ := table[tool].(map[string]any)
		if table[tool] == false || how["enabled"] == false {
			list = append(list, tool)
		}
	}
	return list
}
