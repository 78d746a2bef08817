package form

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
)

// Fill makes the members of a JSON object the answers to the form, or says what does not fit. A field
// that the object lacks has no answer, whatever its default.
func (fields Form) Fill(content map[string]json.RawMessage) error {
	filled := 0
	for i := range fields {
		f := &fields[i]
		value, given := content[f.name]
		if given {
			filled++
		}
		if err := f.take(value, given); err != nil {
			return fmt.Errorf("%s: %w", plain.Clip(plain.Line(f.name), 60), err)
		}
	}
	if filled == len(content) {
		return nil
	}
	for name := range content {
		if !slices.ContainsFunc(fields, func(f Field) bool { return f.name == name }) {
			return fmt.Errorf("it has no field %q", plain.Clip(name, 60))
		}
	}
	return nil
}

// take makes a JSON value the answer to the field, or says what is wrong with it.
func (f *Field) take(value json.RawMessage, given bool) (err error) {
	f.value, f.given = nil, false
	text, fits := f.written(value)
	switch {
	case !given && f.required:
		return errors.New("an answer is required")
	case !given:
		return nil
	case !fits:
		return fmt.Errorf("want %s", f.wanted())
	case f.kind == textField: // an empty text is an answer too
		f.value, err = text, f.schema.checkText(text)
	case f.kind == choicesField:
		f.value, err = f.chooseAny(text)
	default:
		return f.Answer(text)
	}
	f.given = err == nil
	return err
}

// namedOptions is how many values to choose from an error names.
const namedOptions = 20

// wanted returns what a program may answer to the field, in the words of JSON: it sees no list of options.
func (f *Field) wanted() string {
	if len(f.options) == 0 {
		return strings.Join(f.Terms(), ", ")
	}
	var names []string
	for _, o := range f.options[:min(len(f.options), namedOptions)] {
		names = append(names, fmt.Sprintf("%q", plain.Clip(o.Value, 60)))
	}
	if more := len(f.options) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	if f.kind == choicesField {
		return "an array of any of " + strings.Join(names, ", ")
	}
	return "one of " + strings.Join(names, ", ")
}
