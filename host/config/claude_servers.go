package config

import (
	"path/filepath"
	"slices"

	"github.com/wharf-mcp/wharf/host/policy"
)

// serverRule names servers in the deniedMcpServers or allowedMcpServers of Claude Code's settings, by one of its
// fields ("Control MCP server access for your organization").
type serverRule struct {
	file    string
	name    string
	command []string // with its arguments
	url     string   // "*" stands for any characters
}

// takeServers adds what settings of Claude Code say of whole servers.
func (d *denials) takeServers(path string, doc *document) {
	for _, name := range doc.texts("disabledMcpjsonServers") {
		d.disable(name, "disabledMcpjsonServers in "+path)
	}
	d.deniedServers = append(d.deniedServers, serverRules(path, doc.root["deniedMcpServers"])...)
	if list, there := doc.root["allowedMcpServers"].([]any); there {
		d.allowFiles = append(d.allowFiles, path)
		d.allowLists = append(d.allowLists, serverRules(path, list))
	}
}

// readProjects adds the servers of the .mcp.json at a path that its person rejects in a file of Claude Code with the
// states of projects.
func (d *denials) readProjects(path string, files ...string) {
	for _, file := range placesHere(files) {
		data, err := readFile(file)
		if err != nil {
			continue // it need not be there, and import tells of one that cannot be read
		}
		doc, err := readDocument(file, data)
		if err != nil {
			continue
		}
		// The first is for .mcp.json by the documentation, the second is what /mcp writes; whether Claude Code
		// goes by that for these servers too is not told, and what a person has turned off stays off.
		for _, key := range []string{"disabledMcpjsonServers", "disabledMcpServers"} {
			for _, name := range doc.texts("projects", filepath.ToSlash(filepath.Dir(path)), key) {
				d.disable(name, key+" in "+file)
			}
		}
	}
}

// disable notes that a file turns a server off. place is the file, with the key in it where that is not clear.
func (d *denials) disable(name, place string) {
	if d.servers == nil {
		d.servers = make(map[string]string)
	}
	d.servers[foldName(name)] = place
}

// statesOfClaude are the files of Claude Code with the states of projects.
var statesOfClaude = []string{"~/.claude.json", "$CLAUDE_CONFIG_DIR/.claude.json"}

func serverRules(file string, list any) (rules []serverRule) {
	items, _ := list.([]any)
	for _, item := range items {
		fields, _ := item.(map[string]any)
		r := serverRule{file: file}
		r.name, _ = fields["serverName"].(string)
		r.url, _ = fields["serverUrl"].(string)
		words, _ := fields["serverCommand"].([]any)
		for _, word := range words {
			text, _ := word.(string)
			r.command = append(r.command, text)
		}
		rules = append(rules, r)
	}
	return rules
}

// fits reports whether a rule names a server, which has this name at the client.
func (r serverRule) fits(s *Server, name string) bool {
	switch {
	case r.command != nil:
		return s.Command != "" && slices.Equal(r.command, slices.Concat([]string{s.Command}, s.Args))
	case r.url != "":
		return s.URL != "" && len(r.url) <= maxPattern && policy.Fits(r.url, s.URL)
	}
	return r.name != "" && r.name == name
}

// deniedBy returns the file whose deniedMcpServers name a server, or else the first whose allowedMcpServers do not.
func (d denials) deniedBy(s *Server, name string) (file, key string) {
	for _, r := range d.deniedServers {
		if r.fits(s, name) {
			return r.file, "deniedMcpServers"
		}
	}
	for i, list := range d.allowLists { // one by one: the list of a project must not permit what another one forbids
		if !allows(list, s, name) {
			return d.allowFiles[i], "allowedMcpServers"
		}
	}
	return "", ""
}

// allows reports whether a list of allowedMcpServers has a server. Where the list has commands, the name of a process
// does not count, and where it has urls, that of a remote server does not.
func allows(list []serverRule, s *Server, name string) bool {
	byCommand := slices.ContainsFunc(list, func(r serverRule) bool { return r.command != nil })
	byURL := slices.ContainsFunc(list, func(r serverRule) bool { return r.url != "" })
	nameCounts := !(s.Command != "" && byCommand || s.URL != "" && byURL)
	return slices.ContainsFunc(list, func(r serverRule) bool {
		return r.fits(s, name) && (nameCounts || r.command != nil || r.url != "")
	})
}
