package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Policy is a plugin that decides on calls, by a table [policy.NAME] of the user's own file.
type Policy struct {
	Name      string
	Plugin    string         // its name
	Servers   []string       // patterns of the servers that it decides on; nil is all
	Arguments bool           // it is shown the arguments of calls
	Settings  map[string]any // string, bool, []string or map[string]string
	Place     string         // where it is written: "wharf.toml:12"
}

// policy reads a table of a policy.
func (e *entry) policy(name string) Policy {
	e.onlyKeys(policyKeys, "what the plugin itself reads goes into [policy."+name+".settings]")
	e.checkName(name)
	p := Policy{Name: name, Plugin: e.text("plugin"), Servers: e.list("servers"), Arguments: e.flag("arguments"), Place: e.doc.path}
	if line := e.lineOf(""); line > 0 {
		p.Place = fmt.Sprintf("%s:%d", e.doc.path, line)
	}
	switch {
	case strings.HasSuffix(p.Plugin, ".wasm"):
		e.fail("plugin", `%q is a file; write [plugins.%s] with file = %[1]q, and plugin = "%[2]s" here`, p.Plugin, name)
	case !names.MatchString(p.Plugin):
		e.fail("plugin", `%q is no name of a plugin; write plugin = "NAME", and where its file is in [plugins.NAME]`, p.Plugin)
	}
	for i, server := range p.Servers {
		if server == "" || strings.Contains(server, "/") {
			e.fail(fmt.Sprintf("servers[%d]", i), `%q is no pattern of a server's name; write "files" or "db-*"`, server)
		}
	}
	settings := valueOf[map[string]any](e, "settings", "expected a table of the plugin's settings, not %s")
	if len(settings) == 0 {
		return p
	}
	p.Settings = make(map[string]any, len(settings))
	e.within("settings", settings, func(inner *entry) {
		for _, key := range slices.Sorted(maps.Keys(settings)) {
			p.Settings[key] = inner.setting(key)
			if _, secret := p.Settings[key].(Reference); secret {
				inner.fail(key, "a policy is given no secret; write a text")
			}
		}
	})
	return p
}
