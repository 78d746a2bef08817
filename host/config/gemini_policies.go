package config

import (
	"cmp"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// The files with the policies of Gemini CLI ("Policy engine" in its documentation): those of a project, in its folder; of a
// person; and of an administrator. A rule in a later one of these places goes before one in an earlier place.
var (
	policiesBeside = ".gemini/policies/*.toml"
	policiesOwn    = []string{"~/" + policiesBeside}
	policiesOfAll  = []string{
		"linux:/etc/gemini-cli/policies/*.toml", "darwin:/Library/Application Support/GeminiCli/policies/*.toml",
		"windows:C:/ProgramData/gemini-cli/policies/*.toml",
	}
)

// keyPolicy is the key of a list of such rules.
const keyPolicy = "rule"

// policiesOfGemini returns the paths of the policies of a person and of an administrator.
func policiesOfGemini() (paths []string) {
	for _, pattern := range slices.Concat(policiesOwn, policiesOfAll) {
		paths = append(paths, placesOf(pattern, runtime.GOOS)...)
	}
	return paths
}

// filesOfGemini returns the paths of the settings and policies of Gemini CLI that apply to the servers of a file: those
// beside the file, of the project with the working folder cwd, of the person and of an administrator.
func filesOfGemini(path, cwd string) (files []string) {
	for _, folder := range withProject(filepath.Dir(filepath.Dir(path)), cwd) { // the file is in its .gemini
		files = append(files, placesOf(filepath.Join(folder, filepath.FromSlash(policiesBeside)), runtime.GOOS)...)
	}
	return slices.Concat(files, policiesOfGemini(), placesHere([]string{switchesOfGemini}))
}

// takePolicies adds the rules about tools of servers. It leaves out a rule for a subagent, and one whose modes do not
// include the default one. A rule that denies by arguments or annotations gets no pattern, so that untaken tells of it; one that
// permits by them, or in interactive use alone, is left out.
func (d *denials) takePolicies(path string, doc *document) {
	tier := 0 // of a project
	for i, patterns := range [][]string{policiesOwn, policiesOfAll} {
		if slices.ContainsFunc(placesHere(patterns), func(pattern string) bool { return filepath.Dir(pattern) == filepath.Dir(path) }) {
			tier = i + 1
		}
	}
	for _, rule := range doc.tables(keyPolicy) {
		server, _ := rule["mcpName"].(string)
		modes := textsOf(rule["modes"])
		priority, _ := rule["priority"].(int64)
		permits := rule["decision"] != "deny"
		byArguments := rule["argsPattern"] != nil || rule["toolAnnotations"] != nil
		switch {
		case rule["commandPrefix"] != nil, rule["commandRegex"] != nil: // about its shell
			continue
		case rule["subagent"] != nil, len(modes) > 0 && !slices.Contains(modes, "default"):
			continue
		case permits && (byArguments || rule["interactive"] != nil):
			continue
		}
		tools := textsOf(rule["toolName"])
		if len(tools) == 0 && server != "" {
			tools = []string{"*"}
		}
		for _, tool := range tools {
			pattern, before, ofTools := policyPattern(server, tool)
			if !ofTools {
				continue
			}
			one := &denial{file: path, rule: pattern, key: keyPolicy, pattern: pattern, before: before, permits: permits, rank: 1000*tier + int(min(priority, 999))}
			if byArguments {
				one.pattern = ""
			}
			d.rules = append(d.rules, one)
		}
	}
}

// policyPattern returns the pattern and the beginning for the name of a tool in a policy. ofTools is false for a tool
// of Gemini CLI itself.
func policyPattern(server, tool string) (pattern string, before []string, ofTools bool) {
	switch {
	case server != "":
		return server + ":" + tool, cursorTool, true
	case tool == "*", tool == "mcp_*":
		return "*:*", cursorTool, true
	}
	return tool, geminiTool[:2], strings.HasPrefix(tool, "mcp_") || strings.Contains(tool, "__")
}

// ranked returns the rules sorted by their rank, because a later rule overrides an earlier one. Of two rules with the same
// rank, the one that denies comes later.
func (d denials) ranked() []*denial {
	return slices.SortedStableFunc(slices.Values(d.rules), func(a, b *denial) int {
		strict := map[bool]int{true: 0, false: 1}
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(strict[a.permits], strict[b.permits]))
	})
}

// tables returns the tables of a list of the document.
func (d *document) tables(key string) (tables []map[string]any) {
	switch list := d.root[key].(type) {
	case []map[string]any: // as TOML has it
		return list
	case []any:
		for _, item := range list {
			if t, ok := item.(map[string]any); ok {
				tables = append(tables, t)
			}
		}
	}
	return tables
}
