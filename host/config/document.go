package config

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
)

// document is a file as the parser of its format left it: maps, lists and scalars, and the line
// of each key. All formats become this one, so that the meaning of the keys is written down
// once.
type document struct {
	path string
	root map[string]any
	keys *branch                  // every key, in the order of the file
	line func(keys ...string) int // of a key; 0 where it is not known

	format format
	twice  []Error // keys that a JSON file repeats; in other formats the parser refuses them
}

// format is how a file is written.
type format int

const (
	formatTOML format = iota
	formatJSON
	formatYAML
	formatXML
)

// branch holds the keys below a key. There may be as many as the file has room for, so no lookup
// goes through all of them.
type branch struct {
	names []string // in the order of the file
	below map[string]*branch
	line  int // of the key itself; 0 where it is not known
}

// grow adds the key at a path, and those above it that are missing.
func (b *branch) grow(path []string, line int) {
	for _, name := range path {
		next := b.below[name]
		if next == nil {
			next = &branch{}
			if b.below == nil {
				b.below = make(map[string]*branch)
			}
			b.below[name] = next
			b.names = append(b.names, name)
		}
		b = next
	}
	if b.line == 0 {
		b.line = line
	}
}

// cut forgets the line of the key at a path, and the keys below it.
func (b *branch) cut(path []string) { *b.at(path) = branch{} }

// at returns the branch of the key at a path, or nil.
func (b *branch) at(path []string) *branch {
	for _, name := range path {
		if b == nil {
			return nil
		}
		b = b.below[name]
	}
	return b
}

// table returns the table at a path; ok is false for anything else.
func (d *document) table(keys ...string) (t map[string]any, ok bool) {
	t, ok = d.root, true
	for _, key := range keys {
		if t, ok = t[key].(map[string]any); !ok {
			return nil, false
		}
	}
	return t, true
}

// under returns the keys of the table at a path, in the order of the file. It returns nil if
// there is no table.
func (d *document) under(keys ...string) []string {
	if _, ok := d.table(keys...); !ok {
		return nil
	}
	if b := d.keys.at(keys); b != nil {
		return b.names
	}
	return nil
}

// lineOf returns the line of a key. A table may exist only by its keys, such as [servers.x] by
// [servers.x.env]: it has the line of its first key.
func (d *document) lineOf(keys []string) int {
	path := slices.Clone(keys)
	for b := d.keys.at(keys); ; b = b.below[b.names[0]] {
		if line := d.line(path...); line > 0 {
			return line
		}
		if b == nil || len(b.names) == 0 {
			return 0
		}
		path = append(path, b.names[0])
	}
}

// lineAt returns the line of a key; 0 where it is not known.
func (b *branch) lineAt(keys ...string) int {
	if at := b.at(keys); at != nil {
		return at.line
	}
	return 0
}

// formatOf returns the format of a file by its name, or else by its first line with content.
// JSON begins with a brace, or with the slash of a comment. TOML begins with the bracket of a
// table, or with a line that has "=", where YAML has ":".
func formatOf(path string, text []byte) format {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".toml":
		return formatTOML
	case ".json", ".jsonc", ".json5":
		return formatJSON
	case ".yaml", ".yml":
		return formatYAML
	case ".xml":
		if clientOf(path) != nil {
			return formatXML
		}
	}
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		switch {
		case len(line) == 0 || line[0] == '#':
			continue
		case line[0] == '{' || line[0] == '/':
			return formatJSON
		case line[0] == '[':
			return formatTOML
		}
		colon, equals := bytes.IndexByte(line, ':'), bytes.IndexByte(line, '=')
		if bytes.HasPrefix(line, []byte("---")) || bytes.HasPrefix(line, []byte("- ")) || colon >= 0 && (equals < 0 || colon < equals) {
			return formatYAML
		}
		return formatTOML
	}
	return formatTOML
}
