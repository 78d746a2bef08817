package tomledit

import (
	"bytes"
	"errors"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/BurntSushi/toml"
)

// document is a file that is being edited. After every change of its text it is parsed anew.
type document struct {
	text       []byte
	newline    string // of the file
	values     map[string]any
	statements []statement
	arrays     [][]string // the paths of arrays of tables
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// become replaces the text of the document and parses it.
func (d *document) become(text []byte) (err error) {
	d.text, d.values = text, nil
	if _, err := toml.Decode(string(text), &d.values); err != nil {
		return err
	}
	d.statements, d.arrays, err = parse(text)
	return err
}

// target is a path and the value that an edit gives it; nil removes it.
type target struct {
	path  []string
	value any
}

// edit makes a change. It checks the result: that must decode to the values of the file, except
// for the values of the targets. An error names the first of them.
func edit(file []byte, targets []target, change func(*document) error) ([]byte, error) {
	body, marked := bytes.CutPrefix(file, byteOrderMark)
	d := &document{newline: "\n"}
	if end := bytes.IndexByte(body, '\n'); end > 0 && body[end-1] == '\r' {
		d.newline = "\r\n"
	}
	first := targets[0].path
	if err := d.become(bytes.Clone(body)); err != nil {
		return nil, &Error{first, "the file is not TOML: " + err.Error()}
	}
	expected := make(map[string]any)
	_, _ = toml.Decode(string(body), &expected) // as it was decoded above
	for _, t := range targets {
		if len(t.path) == 0 || !utf8.ValidString(strings.Join(t.path, "")) {
			return nil, &Error{t.path, "that is no name of a key"}
		}
		if slices.ContainsFunc(d.arrays, func(a []string) bool { return hasPrefix(t.path, a) || hasPrefix(a, t.path) }) {
			return nil, &Error{t.path, "the file has an array of tables there"}
		}
		put(expected, t.path, t.value)
	}
	var refused *Error
	err := change(d)
	if errors.As(err, &refused) {
		return nil, refused
	}
	for _, t := range targets {
		prune(expected, t.path)
		prune(d.values, t.path)
	}
	if err != nil || !equal(expected, d.values) {
		return nil, &Error{first, "it is written in a way that cannot be changed without touching something else"}
	}
	if marked {
		return slices.Concat(byteOrderMark, d.text), nil
	}
	return d.text, nil
}

// at returns the value at a path.
func at(values map[string]any, path []string) (value any, found bool) {
	value = values
	for _, name := range path {
		table, ok := value.(map[string]any)
		if !ok {
			return nil, false
		}
		if value, found = table[name]; !found {
			return nil, false
		}
	}
	return value, true
}

// put sets the value at a path, or deletes it. If something on the path is no table, it does
// nothing, and the check of edit fails.
func put(values map[string]any, path []string, value any) {
	for _, name := range path[:len(path)-1] {
		next, found := values[name]
		if !found && value != nil {
			next = make(map[string]any)
			values[name] = next
		}
		table, ok := next.(map[string]any)
		if !ok {
			return
		}
		values = table
	}
	name := path[len(path)-1]
	if value == nil {
		delete(values, name)
		return
	}
	values[name] = value
}

// prune removes the empty tables above a path. Whether an empty table exists depends only on how
// the keys were written.
func prune(values map[string]any, path []string) {
	for n := len(path) - 1; n > 0; n-- {
		if v, found := at(values, path[:n]); found {
			if table, ok := v.(map[string]any); !ok || len(table) > 0 {
				return
			}
			put(values, path[:n], nil)
		}
	}
}

// equal reports whether decoded values are equal. NaN equals itself.
func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, equal)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	case []map[string]any:
		b, ok := b.([]map[string]any)
		return ok && slices.EqualFunc(a, b, func(a, b map[string]any) bool { return equal(a, b) })
	case float64:
		b, ok := b.(float64)
		return ok && (a == b || math.IsNaN(a) && math.IsNaN(b))
	case time.Time:
		b, ok := b.(time.Time)
		return ok && a.Equal(b) && a.Location().String() == b.Location().String()
	}
	return reflect.DeepEqual(a, b)
}
