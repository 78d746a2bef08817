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
	keys [][]string               // the path of every key, in the order of the file
	line func(keys ...string) int // of a key; 0 where it is not known
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
	var names []string
	seen := make(map[string]bool)
	for _, key := range d.keys {
		n := len(keys)
		if len(key) <= n || !slices.Equal(key[:n], keys) || seen[key[n]] {
			continue
		}
		seen[key[n]] = true
		names = append(names, key[n])
	}
	return names
}

// lineOf returns the line of a key, or of the first key below it where it has
// none of its own: [servers.x.env] without [servers.x].
func (d *document) lineOf(keys []string) int {
	if line := d.line(keys...); line > 0 {
		return line
	}
	for _, key := range d.keys {
		if len(key) > len(keys) && slices.Equal(key[:len(keys)], keys) {
			return d.line(key...)
		}
	}
	return 0
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
