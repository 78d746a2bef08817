package config

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// keyNames are the names that an entry of another client has for Wharf's own keys. Errors have them. The zero value is
// for an entry whose keys are Wharf's.
type keyNames struct {
	names  map[string]string // by Wharf's own
	listed bool              // the command is a list with its arguments
	words  int               // how many that list has

	listing string             // the key of a list of variables that the server gets; "" if its client has none
	passing string             // the line that passes on the variable %[1]s in the table of variables; "" if its client replaces nothing in a value
	table   string             // the line of a table of variables that has the lines %s; "" if the entry has such a table
	longer  map[string]waitKey // see [Server.Longer]
}

// keyNames returns the names of an entry's keys: those that it has, else those that its client would look for.
func (e *entry) keyNames(c *client) keyNames {
	k := keyNames{names: make(map[string]string), listed: c.id == "opencode", longer: e.longer(c)}
	reference := "${%[1]s}"
	switch {
	case c.id == "codex":
		k.listing = foreignKeys.variables[0]
	case c.id == "goose":
		k.listing = gooseVariables
	case c.id == "claude-desktop", c.id == "zed", e.doc.format == formatXML:
		reference = ""
	case c.prefixed:
		reference = "${env:%[1]s}"
	case c.id == "opencode":
		reference = "{env:%[1]s}"
	case c.id == "continue":
		reference = "${{ secrets.%[1]s }}"
	}
	for own, keys := range map[string][]string{
		"command": foreignKeys.command, "dir": foreignKeys.dir, "url": foreignKeys.url, "env": foreignKeys.env,
		"headers": foreignKeys.headers, "env_file": foreignKeys.envFile, "transport": foreignKeys.transport, "message_cap": foreignKeys.cap,
	} {
		k.names[own] = cmp.Or(c.keys[own], own)
		if key := e.first(keys); e.values[key] != nil {
			k.names[own] = key
		}
	}
	if reference != "" {
		k.passing = e.assignment("%[1]s", reference)
	}
	if key := k.names["env"]; e.values[key] == nil {
		k.table = e.assigned(key, "{ %s }")
	}
	list, _ := e.values[k.names["command"]].([]any)
	k.words = len(list)
	return k
}

// of returns what the file calls a field.
func (k keyNames) of(field string) string {
	end := strings.IndexAny(field+".", ".[")
	own, rest := field[:end], field[end:]
	name := cmp.Or(k.names[own], own)
	switch i, err := strconv.Atoi(strings.Trim(rest, "[]")); {
	case k.words == 0:
	case own == "command" && rest == "":
		return name + "[0]"
	case own == "args" && err == nil && i+1 < k.words:
		return fmt.Sprintf("%s[%d]", cmp.Or(k.names["command"], "command"), i+1)
	case own == "args" && err == nil:
		return fmt.Sprintf("args[%d]", i+1-k.words)
	}
	return name + rest
}
