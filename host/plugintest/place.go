package plugintest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
)

// A fieldError is about one field of a profile.
type fieldError struct {
	field string // its path, as in replies[0].to
	err   error
}

func (e *fieldError) Error() string { return e.field + ": " + e.err.Error() }
func (e *fieldError) Unwrap() error { return e.err }

// wrong says what is expected of a field.
func wrong(field, format string, args ...any) error {
	return &fieldError{field, fmt.Errorf(format, args...)}
}

// located adds the line to an error about a profile, and says it in the words of
// somebody who writes one.
func located(text []byte, err error) error {
	var field *fieldError
	var kind *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &field):
		if line := members(text)[field.field]; line > 0 { // and not a field that is missed
			return fmt.Errorf("line %d, %w", line, err)
		}
	case errors.As(err, &kind):
		return fmt.Errorf("line %d, %s: expected %s, got %s", lineAt(text, kind.Offset), kind.Field, called(kind.Type), kind.Value)
	case errors.As(err, &syntax):
		return fmt.Errorf("line %d: %w", lineAt(text, syntax.Offset), err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("line %d: %w", lineAt(text, int64(len(text))), err)
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return unknownField(text, strings.Trim(name, `"`))
	}
	return err
}

// unknownField is the error for the first member of that name which stands where it
// means nothing.
func unknownField(text []byte, name string) error {
	first, line, expected := name, 0, []string(nil)
	for path, at := range members(text) {
		parent, last := "", path
		if i := strings.LastIndexByte(path, '.'); i >= 0 {
			parent, last = path[:i], path[i+1:]
		}
		fields := fieldsOf(reflect.TypeFor[Profile](), parent)
		if last == name && fields != nil && !slices.Contains(fields, name) && (line == 0 || at < line) {
			first, line, expected = path, at, fields
		}
	}
	return fmt.Errorf("line %d, %s: unknown field; expected one of %s", line, first, strings.Join(expected, ", "))
}

// fieldsOf lists what there can be in the member of a struct that a path leads to.
// There is nothing to list in one that is no struct itself.
func fieldsOf(t reflect.Type, path string) (list []string) {
	for name := range strings.FieldsFuncSeq(path, func(r rune) bool { return r == '.' }) {
		name, _, _ = strings.Cut(name, "[")
		if t = fieldCalled(t, name); t == nil {
			return nil
		}
	}
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	for i := range t.NumField() {
		if name := nameInJSON(t.Field(i)); name != "" {
			list = append(list, name)
		}
	}
	return list
}

func fieldCalled(t reflect.Type, name string) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	for i := 0; t.Kind() == reflect.Struct && i < t.NumField(); i++ {
		if f := t.Field(i); nameInJSON(f) == name {
			return f.Type
		}
	}
	return nil
}

func nameInJSON(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// called is a type in the words of README.md.
func called(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a text"
	case reflect.Int:
		return "a whole number"
	case reflect.Slice:
		return "a list"
	}
	return "an object"
}

// members says on which line each member of a JSON text stands, by its path. It ends
// where the text is no JSON any more.
func members(text []byte) map[string]int {
	m := memberReader{text: text, tokens: json.NewDecoder(bytes.NewReader(text)), line: map[string]int{}}
	_ = m.value("") // what is no JSON has been told
	return m.line
}

type memberReader struct {
	text   []byte
	tokens *json.Decoder
	line   map[string]int
}

// value goes through the value that comes next, which a path leads to.
func (m *memberReader) value(path string) error {
	token, err := m.tokens.Token()
	if err != nil || token != json.Delim('{') && token != json.Delim('[') {
		return err
	}
	for i := 0; m.tokens.More(); i++ {
		inner := fmt.Sprintf("%s[%d]", path, i)
		if token == json.Delim('{') {
			name, err := m.tokens.Token()
			if err != nil {
				return err
			}
			inner = strings.TrimPrefix(fmt.Sprint(path, ".", name), ".")
			m.line[inner] = lineAt(m.text, m.tokens.InputOffset())
		}
		if err := m.value(inner); err != nil {
			return err
		}
	}
	_, err = m.tokens.Token()
	return err
}

// lineAt is the line that an offset lies in.
func lineAt(text []byte, offset int64) int {
	return 1 + bytes.Count(text[:min(int(offset), len(text))], []byte("\n"))
}
