package plugintest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// A fieldError is about one field of a profile.
type fieldError struct {
	field string // its path, as in replies[0].to
	err   error
}

func (e *fieldError) Error() string { return e.field + ": " + e.err.Error() }
func (e *fieldError) Unwrap() error { return e.err }

// wrong returns the error for a field. Its text says what is expected of the field.
func wrong(field, format string, args ...any) error {
	return &fieldError{field, fmt.Errorf(format, args...)}
}

// withLine adds the line to an error about a profile, and replaces Go's words by those
// of README.md. lines has the line of each field.
func withLine(text []byte, lines map[string]int, err error) error {
	var field *fieldError
	var kind *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &field):
		if line := lines[field.field]; line > 0 { // a missing field has none
			return fmt.Errorf("line %d, %w", line, err)
		}
	case errors.As(err, &kind):
		return fmt.Errorf("line %d, %s: expected %s, got %s", lineAt(text, kind.Offset), kind.Field, cmp.Or(typeNames[kind.Type.Kind()], "an object"), kind.Value)
	case errors.As(err, &syntax):
		return fmt.Errorf("line %d: %w", lineAt(text, syntax.Offset), err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("line %d: %w", lineAt(text, int64(len(text))), err)
	}
	return err
}

// typeNames are types in the words of README.md. All others are objects.
var typeNames = map[reflect.Kind]string{reflect.String: "a text", reflect.Int: "a whole number", reflect.Slice: "a list"}

// fieldReader reads the JSON of a profile together with the type that it is decoded into, and notes
// the line of each field.
type fieldReader struct {
	text   []byte
	tokens *json.Decoder
	line   map[string]int // of each field, by its path
}

// readFields returns the line of each field of a profile. A field that Profile does not
// have is an error. The text has been decoded before: it is JSON of the right types.
func readFields(text []byte) (map[string]int, error) {
	r := fieldReader{text: text, tokens: json.NewDecoder(bytes.NewReader(text)), line: map[string]int{}}
	err := r.value(reflect.TypeFor[Profile](), "")
	return r.line, err
}

// value reads the next value, which is decoded into a t. t is nil if JSON of any shape is
// accepted.
func (r *fieldReader) value(t reflect.Type, path string) error {
	token, err := r.tokens.Token()
	if err != nil || token != json.Delim('{') && token != json.Delim('[') {
		return err
	}
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	for i := 0; r.tokens.More(); i++ {
		inner, element := fmt.Sprintf("%s[%d]", path, i), reflect.Type(nil)
		switch {
		case token == json.Delim('{'):
			name, err := r.tokens.Token()
			if err != nil {
				return err
			}
			inner = strings.TrimPrefix(fmt.Sprint(path, ".", name), ".")
			r.line[inner] = lineAt(r.text, r.tokens.InputOffset())
			var names []string
			if element, names = member(t, fmt.Sprint(name)); names != nil {
				return wrong(inner, "unknown field; expected one of %s", strings.Join(names, ", "))
			}
		case t != nil && t.Kind() == reflect.Slice:
			element = t.Elem()
		}
		if err := r.value(element, inner); err != nil {
			return err
		}
	}
	_, err = r.tokens.Token()
	return err
}

// member returns the type of a member of an object, or nil if any JSON is accepted. If the object
// has no such member, it returns the names of those that it has.
func member(t reflect.Type, name string) (of reflect.Type, expected []string) {
	switch {
	case t != nil && t.Kind() == reflect.Map:
		return t.Elem(), nil
	case t == nil || t.Kind() != reflect.Struct: // json.RawMessage
		return nil, nil
	}
	for i := range t.NumField() {
		f := t.Field(i)
		switch called, _, _ := strings.Cut(f.Tag.Get("json"), ","); {
		case !f.IsExported():
		case strings.EqualFold(called, name):
			return f.Type, nil
		default:
			expected = append(expected, called)
		}
	}
	return nil, expected
}

// lineAt returns the line that an offset lies in.
func lineAt(text []byte, offset int64) int {
	return 1 + bytes.Count(text[:min(int(offset), len(text))], []byte("\n"))
}
