package config

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
)

// document is a file as its format's parser left it: maps, lists and scalars,
// and where each key stands. Both formats become one, so that what the keys
// mean is written down only once for each.
type document struct {
	path string
	root map[string]any
	keys *branch                  // every key, in the order of the file
	line func(keys ...string) int // of a key; 0 where it is not known

	json  bool    // and not TOML, which has no key twice
	twice []Error // of keys that were there before
}

// branch is the keys below a key. A file may have as many as it has room for, so
// nothing here looks at all of them to find one.
type branch struct {
	names []string // in the order of the file
	below map[string]*branch
	line  int // of the key itself; 0 where it is not known
}

// grow adds a key and those above it.
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

// at returns the keys below a path; it may be nil.
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

// under returns the keys of the table at a path, in the order of the file;
// none where there is no table.
func (d *document) under(keys ...string) []string {
	if _, ok := d.table(keys...); !ok {
		return nil
	}
	if b := d.keys.at(keys); b != nil {
		return b.names
	}
	return nil
}

// lineOf returns the line of a key, or of the first key below it where it has
// none of its own: [servers.x.env] without [servers.x].
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

var byteOrderMark = []byte("\xef\xbb\xbf")

// isJSON tells the format of a file that is not named after it by its first
// character: no TOML begins with a brace, and a comment of JSON with a slash.
func isJSON(path string, data []byte) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".toml":
		return false
	case ".json", ".jsonc":
		return true
	}
	data = bytes.TrimLeft(bytes.TrimPrefix(data, byteOrderMark), " \t\r\n")
	return len(data) > 0 && (data[0] == '{' || data[0] == '/')
}
