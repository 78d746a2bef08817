// Package tomledit changes a file in TOML and leaves every byte alone that the change is not
// about: comments, order, spaces, line ends and the spelling of values.
//
// [AddTables], [SetKey] and [Remove] go from bytes to bytes. Each decodes its result again and
// compares all values with the expected ones. A file in a style that an edit does not understand
// is therefore refused with an [Error] and not damaged. [File] is a configuration on disk: it is
// read strictly, and replaced as a whole.
package tomledit

import (
	"bytes"
	"fmt"
	"strings"
)

// Table is a table with its values.
type Table struct {
	Path    []string // "servers", "files"
	Comment string   // lines above it, without "#"; "" for no comment
	Keys    []Key    // in the order in which a new table has them
}

// Key is a key and its value: a string, a bool, an int, an int64, a float64, a list of
// them as []string or []any, or a table of them as map[string]string or map[string]any.
type Key struct {
	Name  string
	Value any
}

// Error says that an edit was not made, because of how the file is written.
type Error struct {
	Path   []string // of the table or key
	Reason string   // a clause
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s: %s; change it by hand", dotted(e.Path), e.Reason)
}

// AddTables adds tables to the end of a file, with a blank line before each. A table
// that is there already gets the values of the new one: what is equal stays as it is
// written, and keys that the new one does not have are removed.
func AddTables(file []byte, tables ...Table) ([]byte, error) {
	targets := make([]target, len(tables))
	for i, t := range tables {
		value, err := t.value()
		if err != nil {
			return nil, err
		}
		targets[i] = target{t.Path, value}
	}
	if len(tables) == 0 {
		return file, nil
	}
	text, err := edit(file, targets, func(d *document) error { return d.add(tables, targets) })
	if err == nil || len(tables) == 1 {
		return text, err
	}
	for _, t := range tables { // which one is at fault
		if file, err = AddTables(file, t); err != nil {
			return nil, err
		}
	}
	return file, nil
}

// SetKey sets the value of one key, which need not be there. A table that is replaced
// keeps what is equal in both.
func SetKey(file []byte, path []string, value any) ([]byte, error) {
	plain, err := normal(value)
	if err != nil {
		return nil, &Error{path, err.Error()}
	}
	return edit(file, []target{{path, plain}}, func(d *document) error { return d.set(path, plain) })
}

// Remove removes a table with all that is below it, or a key. The comment lines that
// stand directly above the name of a table go with it, except those that begin the
// file. Where there is nothing at the path, the file stays as it is.
func Remove(file []byte, path ...string) ([]byte, error) {
	return edit(file, []target{{path, nil}}, func(d *document) error { return d.remove(path) })
}

// Lines returns the lines of a file that a table and all below it stand in, with the comments that
// [Remove] would remove. They are empty where nothing is at the path.
func Lines(file []byte, path ...string) (string, error) {
	d := &document{}
	if err := d.become(bytes.TrimPrefix(file, byteOrderMark)); err != nil {
		return "", &Error{path, "the file is not TOML: " + err.Error()}
	}
	spans := d.spans(path)
	if s := d.inlineAbove(path); s != nil {
		spans = []span{s.lines}
	}
	var text strings.Builder
	for _, s := range d.merged(spans) {
		text.Write(d.text[s.start:s.end])
	}
	return text.String(), nil
}

// Text returns a table as [AddTables] would write it into an empty file.
func Text(t Table) (string, error) {
	if _, err := t.value(); err != nil {
		return "", err
	}
	return t.text("\n"), nil
}

func dotted(path []string) string {
	parts := make([]string, len(path))
	for i, p := range path {
		parts[i] = keyText(p)
	}
	return strings.Join(parts, ".")
}
