package config

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// section is a table of servers in a file of a client.
type section struct {
	client *client
	path   []string
	folder string // of the project that it is for; "" is any

	names map[string]string // of the servers of this file that are called otherwise here

	request, start time.Duration // of the servers that have no timeout of their own
}

// parseForeign reads a file of another client. Values that only this client understands are no
// mistake: they are left out with a warning, or with a note where that does no harm.
func parseForeign(doc *document, at place) (*File, error) {
	f := &File{Path: doc.path}
	for _, w := range doc.twice {
		w.File = doc.path
		f.Warnings = append(f.Warnings, w.Error())
	}
	sections := sectionsOf(doc)
	if len(sections) == 0 {
		return nil, noServers(doc)
	}
	f.Client = sections[0].client.name
	if clientOf(doc.path) == nil && sections[0].client.id != "" && slices.Equal(sections[0].path, rootMCPServers) {
		f.note("%s: is read as a file of %s, by the keys of its servers", doc.path, f.Client)
	}
	if imports, ok := doc.root["imports"].([]any); ok && f.Client == byID("mcporter").name && len(imports) > 0 {
		f.note("%v", newEntry(doc, "").mistake("imports", "mcporter adds servers of other clients' files by it; `wharf import` copies those"))
	}
	inputs := f.inputs(doc)
	var elsewhere []string
	here := nearestProject(sections, at.cwd)
	sections = slices.DeleteFunc(sections, func(s section) bool {
		other := s.folder != "" && s.folder != here
		if other {
			elsewhere = append(elsewhere, fmt.Sprintf("%s: the servers of the project %s are imported by `wharf import` in that folder", doc.path, s.folder))
		}
		return other
	})
	names := renamed(doc, sections)
	for _, s := range sections {
		s.names = names
		s.request, s.start = f.sharedTimeouts(doc, s.client)
		f.addSection(doc, s, inputs, forbiddenIn(doc, s, at), at)
	}
	f.Warnings = append(f.Warnings, at.denied.warnings...)
	f.Notes = append(f.Notes, at.denied.untaken()...)
	if len(f.Servers) == 0 {
		f.Warnings = append(f.Warnings, elsewhere...)
	} else {
		f.Notes = append(f.Notes, elsewhere...)
	}
	return f, nil
}

// addSection adds the servers of a section, which is a table or a list.
func (f *File) addSection(doc *document, sec section, inputs []Input, limits *forbidden, where place) {
	for _, n := range limits.notes {
		f.note("%v", n)
	}
	if list, ok := doc.at(sec.path).([]any); ok {
		for i, item := range list {
			values, table := item.(map[string]any)
			if !table {
				e := newEntry(doc, "", append(slices.Clone(sec.path), strconv.Itoa(i))...)
				f.Warnings = append(f.Warnings, e.notServer(item).Error()+"; it is left out")
				continue
			}
			at := append(slices.Clone(sec.path), strconv.Itoa(i))
			name, _ := values["name"].(string)
			e := &entry{doc: doc, path: at, subject: "server " + cmp.Or(name, strconv.Itoa(i+1)), values: values}
			f.addForeign(e, sec, listedName(i, item), inputs, limits, where)
		}
		return
	}
	if wrong := nameless(doc, sec.path); wrong != nil {
		f.Warnings = append(f.Warnings, wrong.Error())
		return
	}
	for _, name := range doc.under(sec.path...) {
		e := newServer(doc, name, sec.path...)
		f.addForeign(e, sec, name, inputs, limits, where)
	}
}

// notServer returns the error for an element of a list of servers that does not describe a
// server.
func (e *entry) notServer(item any) *Error {
	what := sort(item)
	if _, nested := item.([]any); nested && e.doc.format == formatYAML {
		what = listInList
	}
	if argv := commandLine(item); len(argv) > 0 && e.doc.format == formatJSON {
		what += "; write " + strconv.Quote(e.path[0]) + ": {" + e.doc.example("NAME", argv) + "}"
	}
	return &Error{File: e.doc.path, Line: e.lineOf(""), Field: strings.Join(e.path, "."), Problem: "expected the keys of a server, not " + what}
}

// addForeign adds a server if it can be used.
func (f *File) addForeign(e *entry, sec section, name string, inputs []Input, limits *forbidden, where place) {
	if sec.client.id == "goose" && e.ofGoose() {
		f.note("%v", e.mistake("", "is run by Goose itself, and is no server"))
		return
	}
	if block, named := e.values["uses"].(string); sec.client.id == "continue" && named {
		f.Warnings = append(f.Warnings, e.mistake("uses", "%q is a block of Continue's hub, which wharf does not fetch; write its server into the file; it is left out", block).Error())
		return
	}
	own := cmp.Or(sec.names[name], name)
	if own != name {
		e.note("", "is called %s here", own)
	}
	s := e.foreign(sec.client, own)
	s.Timeout, s.StartTimeout = cmp.Or(s.Timeout, sec.request), cmp.Or(s.StartTimeout, sec.start)
	called := name
	if sec.client.id == "goose" { // its key does not count
		called = cmp.Or(e.text("name"), name)
	}
	limits.apply(e, &s, called)
	folder := where.words
	if sec.folder != "" {
		folder = filepath.FromSlash(sec.folder)
	} else if where.isUser {
		s.refuseWorkspace(e)
		s.replaceWords("") // only the home folder is replaced
	}
	if at := slices.IndexFunc(f.Servers, func(o Server) bool { return o.Name == s.Name }); at >= 0 {
		e.fail("", "stands twice in this file")
	} else if first, twice := sameName(f.Servers, s.Name); twice && len(e.wrong) == 0 {
		e.note("", "differs from the server %s in the case of its letters only", first.Name)
	}
	if len(e.wrong) > 0 {
		if f.LeftOut == nil {
			f.LeftOut = make(map[string]error)
		}
		f.LeftOut[s.Name] = &Error{Field: e.wrong[0].Field, Problem: e.wrong[0].Problem}
		first := len(f.Warnings)
		e.wrong[len(e.wrong)-1].Problem += "; this server is left out"
		for _, w := range e.wrong {
			f.Warnings = append(f.Warnings, w.Error())
		}
		f.Warnings = append(f.Warnings, e.misspelt()...)
		if f.about == nil {
			f.about = make(map[int]string)
		}
		for i := first; i < len(f.Warnings); i++ {
			f.about[i] = s.Name
		}
		return
	}
	if sec.folder != "" && s.Command != "" {
		s.Dir = cmp.Or(s.Dir, literal(folder))
	}
	if where.isUser || where.words != "" {
		s.noteScript(e)
	}
	switch {
	case s.Command == "": // its variables may be named by its headers
		e.noteIdle("command", []string{"args"}, foreignKeys.dir, foreignKeys.envFile)
	case s.URL == "":
		e.noteIdle("url", foreignKeys.headers, foreignKeys.headerVariables)
		s.Headers = nil
	}
	s.place(folder)
	e.noteUnset(&s, sec.client)
	s.settleSecrets(where.folder)
	s.takeInputs(inputs)
	f.Servers = append(f.Servers, s)
	for _, n := range append(e.noted, e.unused()...) {
		f.Notes = append(f.Notes, n.Error())
	}
}

// noteIdle notes the keys that say nothing in an entry without a companion.
func (e *entry) noteIdle(companion string, keys ...[]string) {
	for _, key := range slices.Concat(keys...) {
		if e.values[key] != nil {
			e.note(key, "does nothing without a %s", companion)
		}
	}
}

func (f *File) note(format string, a ...any) { f.Notes = append(f.Notes, fmt.Sprintf(format, a...)) }

// at returns the value at a path, or nil.
func (d *document) at(path []string) any {
	var v any = d.root
	for _, key := range path {
		table, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = table[key]
	}
	return v
}

// isForeignTOML reports whether a file has a client's table of servers and no key of Wharf's
// own.
func isForeignTOML(doc *document) bool { return !isOwnTOML(doc) && len(sectionsOf(doc)) > 0 }

// isMisshapen reports whether a file in TOML is a client's file without tables of servers: it has the
// name of one, or the key that such tables stand under.
func isMisshapen(doc *document) bool {
	return !isOwnTOML(doc) && (clientOf(doc.path) != nil || slices.ContainsFunc(clients, func(c client) bool {
		return slices.ContainsFunc(c.rootPaths(), func(root []string) bool { return doc.at(root) != nil })
	}))
}

// isOwnTOML reports whether a file has the name of Wharf's own, or its tables. Codex has a table of plugins
// too, none of which has a file.
func isOwnTOML(doc *document) bool {
	if doc.root["servers"] != nil || filepath.Base(doc.path) == "wharf.toml" {
		return true
	}
	plugins, isTable := doc.root["plugins"].(map[string]any)
	for _, plugin := range plugins {
		if keys, _ := plugin.(map[string]any); keys["file"] != nil {
			return true
		}
	}
	return !isTable && doc.root["plugins"] != nil
}

// sectionsOf finds the tables of servers in a file. First come those that its path announces,
// then the others, and last those of the projects that Claude Code keeps in one file.
func sectionsOf(doc *document) (sections []section) {
	owner := clientOf(doc.path)
	var taken []string
	add := func(c *client, root []string) {
		key := strings.Join(root, ".")
		if slices.Contains(taken, key) || !doc.hasServers(c, root) {
			return
		}
		taken = append(taken, key)
		sections = append(sections, section{client: c, path: root})
	}
	if owner != nil {
		for _, root := range owner.rootPaths() {
			add(owner, root)
		}
	}
	for i := range clients {
		for _, root := range clients[i].rootPaths() {
			add(ownerOf(doc, &clients[i], root, owner), root)
		}
	}
	for _, folder := range doc.under("projects") {
		path := []string{"projects", folder, "mcpServers"}
		if t, ok := doc.table(path...); ok && len(t) > 0 && doc.format == formatJSON {
			sections = append(sections, section{client: byID("claude-code"), path: path, folder: folder})
		}
	}
	return sections
}

// ownerOf returns the client that a table belongs to. That is c, unless several clients use the key
// root. Then the format of the file decides, its path (of which owner is the client), or what the
// entries look like. It is nil if none of these decides.
func ownerOf(doc *document, c *client, root []string, owner *client) *client {
	switch {
	case slices.Equal(root, rootMCPServers) && doc.format == formatYAML:
		return doc.ownerOfYAML(owner)
	case slices.Equal(root, rootMCPServers) && owner == nil:
		return doc.ownerByMarks(root)
	case slices.Equal(root, rootMCPServers):
		return owner
	case slices.Equal(root, rootNested) && !doc.anyEntry(root, isOpencode):
		return byID("vscode")
	case slices.Equal(root, rootFlat) && !doc.anyEntry(root, isOpencode):
		return byID("crush")
	case slices.Equal(root, rootNested), slices.Equal(root, rootFlat):
		return byID("opencode")
	}
	return c
}

// ownerOfYAML returns the client that a table of rootMCPServers in YAML belongs to: owner, if it keeps its servers there.
// Else a list is one of Continue, and a table is one of no client that is known.
func (d *document) ownerOfYAML(owner *client) *client {
	_, list := d.at(rootMCPServers).([]any)
	switch {
	case owner != nil && slices.ContainsFunc(owner.rootPaths(), func(root []string) bool { return slices.Equal(root, rootMCPServers) }):
		return owner
	case list:
		return byID("continue")
	}
	return &unknownClient
}

// ownerByMarks returns the only client that uses a key which one of the entries has, or nil.
func (d *document) ownerByMarks(root []string) *client {
	gemini := d.anyEntry(root, func(t map[string]any) bool {
		_, trusted := t["trust"].(bool)
		return trusted || t["httpUrl"] != nil
	})
	mcporter := d.anyEntry(root, func(t map[string]any) bool {
		return t["baseUrl"] != nil || t["bearerTokenEnv"] != nil || t["bearerToken"] != nil
	})
	switch {
	case gemini && !mcporter:
		return byID("gemini")
	case mcporter && !gemini:
		return byID("mcporter")
	}
	return &unknownClient
}

// hasServers reports whether there is a table of servers at a path, or a list of them.
func (d *document) hasServers(c *client, root []string) bool {
	switch v := d.at(root).(type) {
	case map[string]any:
		switch {
		case slices.Equal(root, rootFlat):
			return d.anyEntry(root, isServer)
		case c.id == "goose":
			return d.format == formatYAML || clientOf(d.path) == c
		}
		return true
	case []any:
		return d.anyEntry(root, isServer) && (len(v) > 0)
	}
	return false
}

// anyEntry reports whether is holds for an entry of a table or list.
func (d *document) anyEntry(root []string, is func(map[string]any) bool) bool {
	match := func(v any) bool {
		t, ok := v.(map[string]any)
		return ok && is(t)
	}
	switch v := d.at(root).(type) {
	case map[string]any:
		for _, entry := range v {
			if match(entry) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, match)
	}
	return false
}

func isServer(t map[string]any) bool {
	return t["command"] != nil || t["url"] != nil || t["type"] != nil
}

func isOpencode(t map[string]any) bool {
	_, list := t["command"].([]any)
	return list || t["environment"] != nil || t["type"] == "local" || t["type"] == "remote"
}

// nearestProject returns the innermost folder of the sections that contains folder, or "" if none
// does.
func nearestProject(sections []section, folder string) (nearest string) {
	for _, s := range sections {
		if holds(s.folder, folder) && len(s.folder) > len(nearest) {
			nearest = s.folder
		}
	}
	return nearest
}

// holds reports whether other is folder or lies in it. It is false if either is "".
func holds(folder, other string) bool {
	rel, err := filepath.Rel(folder, other)
	return folder != "" && other != "" && err == nil && filepath.IsLocal(rel)
}
