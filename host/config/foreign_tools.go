package config

import (
	"maps"
	"slices"
	"strings"
)

// enabledTools reads a list of tools. A "*" in it stands for all tools; to Goose, an empty list
// does too.
func (e *entry) enabledTools(c *client) []string {
	if table, is := e.values["tools"].(map[string]any); is { // of Codex: which are off, and how each is approved
		for _, value := range table {
			how, _ := value.(map[string]any)
			if _, known := how["enabled"]; len(how) > 1 || len(how) == 1 && !known {
				e.note("tools", "%s", notTaken)
				break
			}
		}
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
