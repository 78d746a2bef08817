package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/host/policy"
	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

// forbidden holds what a file of another client forbids outside of the entries of its servers.
// No two clients use the same key for this with different meanings, so the keys count in a file
// of any name.
type forbidden struct {
	file    string            // with the rules
	servers map[string]string // the places that forbid them, by name, as foldName has it
	all     bool              // every server
	allKey  string            // the place that forbids every server, or ""
	only    map[string]string // the only servers that may be used, by such names; nil is all
	onlyKey string            // the place that names them
	rules   []toolRule        // in order: a later one takes precedence
	lists   map[string]bool   // the keys that permit what they name alone
	starts  []any             // Amp's rules about servers; the first rule that fits a server counts
	denied  denials           // in other files
	also    []*forbidden      // what a person's own files of the client forbid
	notes   []*Error
	work    int // bytes of patterns that may still be compared
}

// Bounds of the rules of a file, which may come with a project. Rules beyond them are not
// compared, and forbid everything.
const (
	maxRules   = 1000
	maxPattern = 512     // bytes
	maxCompare = 1 << 19 // bytes of patterns that are compared; each counts once for every server
)

func foldName(name string) string { return strings.ToLower(strings.TrimSpace(name)) }

// toolRule forbids tools of servers, or permits them after all.
type toolRule struct {
	key     string   // the key of the file that holds the rule
	pattern string   // of the name that the client gives to a tool; "*" stands for any characters
	before  []string // what the client puts before a tool's own name, in each of its ways; "%" stands for the server's name
	permits bool
	others  bool    // it forbids what the other rules of its key do not permit, whatever rules of other keys permit
	whole   bool    // a pattern that is the beginning alone, without "__", is about all tools of the server
	denial  *denial // the rule, if it is in a file of its own
}

// The beginnings that clients give to the name of a tool. "%" stands for the name of the server.
var (
	opencodeTool = []string{"%_"}
	crushTool    = []string{"mcp_%_"}
	doubleTool   = []string{"mcp__%__", ""}      // of Amp, which also takes a tool's own name
	geminiTool   = []string{"%__", "mcp_%_", ""} // of Gemini CLI, in all its versions
	zedTool      = []string{"mcp:%:"}
	claudeTool   = []string{"mcp__%__"}
	gooseTool    = []string{"&__"} // "&" stands for the name as name_to_key of crates/goose makes it
	cursorTool   = []string{"%:"}  // in the rules of its CLI
	agentTool    = []string{"@%/"} // of the agents of Amazon Q's CLI and of Kiro
)

// forbiddenIn reads what a file, and others of its client, forbid to the servers of a section.
func forbiddenIn(doc *document, sec section, at place) *forbidden {
	f := &forbidden{
		file:    doc.path,
		servers: make(map[string]string),
		lists:   make(map[string]bool),
		work:    maxCompare,
	}
	in := " in " + doc.path
	if key := offInCode(doc); key != "" {
		f.all, f.allKey = true, key+in
	}
	add := func(set map[string]string, path ...string) {
		for _, name := range doc.texts(path...) {
			set[foldName(name)] = strings.Join(path, ".") + in
		}
	}
	add(f.servers, "mcp", "excluded") // Gemini, now and before, and Qwen Code
	add(f.servers, "excludeMCPServers")
	for _, path := range [][]string{{"mcp", "allowed"}, {"allowMCPServers"}} {
		if _, list := doc.at(path).([]any); list {
			if f.only == nil {
				f.only, f.onlyKey = make(map[string]string), strings.Join(path, ".")+in
			}
			add(f.only, path...)
		}
	}
	for _, folder := range doc.under("projects") { // of Claude Code
		if folder == sec.folder || sec.folder == "" && holds(folder, at.cwd) {
			add(f.servers, "projects", folder, "disabledMcpServers")
		}
	}
	f.opencode(doc)
	f.forbid(crushTool, doc, "options", "disabled_tools")
	f.forbid(geminiTool, doc, "tools", "exclude")
	f.forbid(geminiTool, doc, "excludeTools")
	f.agent(doc)
	f.qwen(doc)
	f.ampEnabled(doc)
	f.forbid(doubleTool, doc, "amp.tools.disable")
	f.amp(doc)
	f.zed(doc)
	f.beside(at.denied)
	if len(f.rules)+len(f.starts)+len(f.denied.deniedServers)+len(slices.Concat(f.denied.allowLists...)) > maxRules {
		f.all = true
		f.notes = append(f.notes, newEntry(doc, "").mistake("", "has more than %d rules about tools and servers, which are not read; its servers are disabled", maxRules))
	}
	for i, r := range f.rules {
		for strings.Contains(r.pattern, "**") {
			r.pattern = strings.ReplaceAll(r.pattern, "**", "*")
		}
		if len(r.pattern) > maxPattern {
			r.pattern = "*" // a rule for all tools permits none that another rule forbids
		}
		f.rules[i] = r
	}
	return f
}

// texts returns the texts of the list at a path. A single text counts as a list.
func (d *document) texts(path ...string) []string { return textsOf(d.at(path)) }

// textsOf returns the texts of a list that are not empty. A single text counts as a list.
func textsOf(v any) (texts []string) {
	list, _ := v.([]any)
	if v, one := v.(string); one {
		list = []any{v}
	}
	for _, item := range list {
		if text, ok := item.(string); ok && text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}

// forbid adds a rule for each name in the list at a path. It passes over a name with a colon or a
// parenthesis, which is one of the client's own tools.
func (f *forbidden) forbid(before []string, doc *document, path ...string) {
	for _, name := range doc.texts(path...) {
		if !strings.ContainsAny(name, ":(") {
			f.rules = append(f.rules, toolRule{key: strings.Join(path, "."), pattern: name, before: before})
		}
	}
}

// apply restricts a server to what its client permits it. name is the client's name for the
// server.
func (f *forbidden) apply(e *entry, s *Server, name string) {
	s.remedies = make(map[string]string)
	for _, one := range append([]*forbidden{f}, f.also...) {
		one.restrict(e, s, name)
	}
}

func (f *forbidden) restrict(e *entry, s *Server, name string) {
	for _, r := range f.rules {
		f.work -= len(r.pattern)
	}
	if forbids, remedy := f.forbidsServer(s, name); forbids {
		if !s.Disabled {
			s.remedies[""] = remedy
		}
		s.Disabled = true
	}
	if !f.all && f.work < 0 {
		e.note("", "is disabled: the file has more rules about tools than are compared")
	}
	if f.all || f.work < 0 {
		return
	}
	forbids := make(map[string]int) // the length of the longest pattern, by the part that the tool's own name has to fit
	var permits []string            // tools that are permitted while all others are forbidden
	var denied []*denial
	for _, r := range f.rules {
		if r.others && len(r.of(name)) > 0 {
			f.permitListed(s, name, r.key)
		}
	}
	for _, r := range f.rules {
		rests := r.of(name)
		if r.others || r.permits && f.lists[r.key] {
			continue
		}
		if r.denial != nil && len(rests) > 0 {
			r.denial.fits = true
			if !r.permits {
				denied = append(denied, r.denial)
			}
		}
		for _, rest := range rests {
			wild := strings.Contains(rest, "*")
			switch most := forbids["*"]; {
			case !r.permits:
				forbids[rest] = max(forbids[rest], len(r.pattern))
				rule, file := r.pattern, f.file
				if r.denial != nil {
					file = r.denial.file
					if len(r.denial.rule) <= maxPattern {
						rule = r.denial.rule
					}
				}
				s.remedies[rest] = fmt.Sprintf("take %q out of %s in %s", rule, r.key, file)
				if rest == "*" { // it comes later than the rules that permitted these
					permits = nil
				}
			case rest == "*":
				maps.DeleteFunc(forbids, func(rest string, length int) bool { return strings.Contains(rest, "*") && length < len(r.pattern) })
			case most > 0 && most < len(r.pattern) && !wild:
				permits = append(permits, rest)
			case wild && len(forbids) > 0:
				e.note("", "%s permits %s, among tools that it forbids; wharf forbids all of those, unless you change the entry", r.key, r.pattern)
			}
		}
	}
	e.noteDenied(denied)
	if forbids["*"] > 0 && len(permits) > 0 {
		delete(forbids, "*")
		slices.Sort(permits)
		s.EnabledTools = slices.DeleteFunc(slices.Compact(permits), func(tool string) bool { return !s.Permits(tool) })
	}
	for _, rest := range slices.Sorted(maps.Keys(forbids)) {
		if !slices.Contains(s.DisabledTools, rest) {
			s.DisabledTools = append(s.DisabledTools, rest)
		}
	}
}

// permitListed restricts a server to the tools that the list of a key permits.
func (f *forbidden) permitListed(s *Server, name, key string) {
	listed := []string{}
	for _, r := range f.rules {
		if r.permits && r.key == key {
			listed = append(listed, r.of(name)...)
		}
	}
	if slices.Contains(listed, "*") {
		return
	}
	slices.Sort(listed)
	s.EnabledTools = slices.DeleteFunc(slices.Compact(listed), func(tool string) bool { return !s.Permits(tool) })
	s.remedies["*"] = "name it in " + key + " in " + f.file
}

// forbidsServer reports whether a server may not be used, and what to change to use it; "" is not known.
func (f *forbidden) forbidsServer(s *Server, name string) (forbids bool, remedy string) {
	key, excluded := f.named(f.servers, name, true)
	_, allowed := f.named(f.only, name, false)
	switch {
	case f.all && f.allKey != "":
		return true, "change " + f.allKey
	case f.all || f.work < 0:
		return true, ""
	case excluded:
		return true, fmt.Sprintf("take %q out of %s", name, key)
	case f.only != nil && !allowed:
		return true, fmt.Sprintf("add %q to %s", name, f.onlyKey)
	case f.rejects(s):
		return true, "change amp.mcpPermissions in " + f.file
	}
	switch file, key := f.denied.deniedBy(s, name); key {
	case "deniedMcpServers":
		return true, fmt.Sprintf("take %q out of %s in %s", name, key, file)
	case "allowedMcpServers":
		return true, fmt.Sprintf("add %q to %s in %s", name, key, file)
	}
	return false, ""
}

// named returns what a set has for the name of a server, which may be a pattern in it. A "?" of a pattern is any one
// character: it is read as a wider "*" where that forbids, and fits nothing where it would permit.
func (f *forbidden) named(set map[string]string, name string, forbids bool) (key string, found bool) {
	name = foldName(name)
	if key, found = set[name]; found {
		return key, true
	}
	for _, pattern := range slices.Sorted(maps.Keys(set)) {
		if forbids {
			pattern = strings.ReplaceAll(pattern, "?", "*")
		}
		if f.work -= len(pattern); strings.Contains(pattern, "*") && len(pattern) <= maxPattern && f.work >= 0 && policy.Fits(pattern, name) {
			return set[pattern], true
		}
	}
	return "", false
}

// rejects reports whether Amp would refuse to start a server with this command or url.
func (f *forbidden) rejects(s *Server) bool {
	is := map[string]string{"command": s.Command, "args": strings.Join(s.Args, " "), "url": s.URL}
	for _, item := range f.starts {
		rule, _ := item.(map[string]any)
		matches, _ := rule["matches"].(map[string]any)
		rejects := rule["action"] == "reject"
		fits := len(matches) > 0
		for key, match := range matches {
			value, known := is[key]
			pattern, text := match.(string)
			if !known || !text { // it may fit or not: a rule that rejects then applies, and one that allows does not
				fits = fits && rejects
				continue
			}
			if f.work -= len(pattern); len(pattern) > maxPattern || f.work < 0 {
				return true
			}
			fits = fits && policy.Fits(pattern, value) && (value != "" || key == "args")
		}
		if fits {
			return rejects
		}
	}
	return false
}

// plainWord matches a character in the name of a server that opencode and others replace by "_".
var plainWord = lazyregexp.New(`[^A-Za-z0-9_-]`)

// gooseKey returns the name of an extension as Goose puts it before the names of its tools: in lower case, without
// blanks, and with "_" for what is no letter, digit, "_" or "-".
func gooseKey(name string) string {
	return strings.ToLower(plainWord.ReplaceAllString(strings.Join(strings.Fields(name), ""), "_"))
}

// of returns the rule as patterns for the own names of a server's tools. It takes the beginning
// that the client puts before these names off the rule's pattern. The result is empty if the rule
// is about other servers.
func (r toolRule) of(server string) (rests []string) {
	for _, before := range r.before {
		if before == "" && strings.HasPrefix(r.pattern, "mcp__") { // a rule about the tools of one server
			continue
		}
		for _, word := range []string{server, plainWord.ReplaceAllString(server, "_")} {
			prefix := strings.ReplaceAll(before, "%", word)
			if strings.HasPrefix(before, "&") {
				prefix = gooseKey(server) + before[1:]
			}
			if r.whole && r.pattern == strings.TrimSuffix(prefix, "__") {
				rests = append(rests, "*")
			}
			for at := range min(len(r.pattern), 2*len(prefix)+2) { // no more of it fits: no two "*" are neighbours
				if !policy.Fits(r.pattern[:at], prefix) {
					continue
				}
				rest := r.pattern[at:]
				if at > 0 && r.pattern[at-1] == '*' {
					rest = "*" + rest
				}
				rests = append(rests, rest)
			}
			if strings.HasSuffix(r.pattern, "*") && policy.Fits(r.pattern, prefix) {
				rests = append(rests, "*")
			}
		}
	}
	for i, rest := range rests {
		if strings.Trim(rest, "*") == "" {
			rests[i] = "*"
		}
	}
	slices.Sort(rests)
	return slices.Compact(rests)
}
