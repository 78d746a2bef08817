// Package form is a form that a server wants filled in: its fields as the schema
// describes them, and the answers a person types (2025-11-25/client/elicitation). It
// neither prints nor asks.
package form

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// Form has the fields that a server asks for, in the order of the server's schema.
type Form []Field

// Read reads a requested schema: an object whose properties are not objects. A schema
// without properties asks only for a yes. Each field begins with the default of its
// schema, if that fits. Read ends with ctx: checking a default may take a second.
func Read(ctx context.Context, schema json.RawMessage) (Form, error) {
	var object struct {
		Properties orderedObject `json:"properties"`
		Required   []string      `json:"required"`
	}
	if len(schema) > mcp.MaxFormBytes {
		return nil, fmt.Errorf("the requested schema: want at most %d bytes, got %d", mcp.MaxFormBytes, len(schema))
	}
	if len(schema) > 0 {
		if err := json.Unmarshal(schema, &object); err != nil {
			return nil, fmt.Errorf("the requested schema: %w", err)
		}
	}
	if n := len(object.Properties); n > mcp.MaxFormFields {
		return nil, fmt.Errorf("the requested schema: want at most %d properties, got %d", mcp.MaxFormFields, n)
	}
	required := make(map[string]bool, len(object.Required))
	for _, name := range object.Required {
		required[name] = true
	}
	fields := make(Form, 0, len(object.Properties))
	for _, member := range object.Properties {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		f, err := readField(member.value)
		if err != nil {
			return nil, fmt.Errorf("the requested schema: %s: %w", plain.Clip(plain.Line(member.key), 60), err)
		}
		f.name, f.required = member.key, required[member.key]
		f.value, f.given = f.proposal()
		fields = append(fields, f)
	}
	return fields, nil
}

func readField(schema json.RawMessage) (f Field, err error) {
	if err := json.Unmarshal(schema, &f.schema); err != nil {
		return f, err
	}
	s := &f.schema
	switch s.Type {
	case "string":
		if f.options = options(s.Enum, s.EnumNames, s.OneOf); f.options != nil {
			f.kind = choiceField
		}
	case "number":
		f.kind = numberField
	case "integer":
		f.kind = integerField
	case "boolean":
		f.kind = boolField
	case "array":
		f.kind = choicesField
		if f.options = options(s.Items.Enum, nil, append(s.Items.AnyOf, s.Items.OneOf...)); f.options == nil {
			return f, errors.New("an array without the values to choose from cannot be asked for")
		}
	default:
		return f, fmt.Errorf("type %q cannot be asked for", plain.Clip(s.Type, 60))
	}
	if n := len(f.options); n > mcp.MaxOptions {
		return f, fmt.Errorf("want at most %d values to choose from, got %d", mcp.MaxOptions, n)
	}
	return f, nil
}

// options joins the ways in which values and their titles are written.
func options(values, titles []string, titled []Option) []Option {
	var all []Option
	for i, value := range values {
		o := Option{Value: value}
		if i < len(titles) {
			o.Title = titles[i]
		}
		all = append(all, o)
	}
	return append(all, titled...)
}

// Content is the answer to the form.
func (fields Form) Content() map[string]any {
	content := make(map[string]any)
	for _, f := range fields {
		if f.given {
			content[f.name] = f.value
		}
	}
	return content
}

// orderedObject is a JSON object whose members stay in order.
type orderedObject []struct {
	key   string
	value json.RawMessage
}

// UnmarshalJSON keeps the last of several members of one name, as others do.
func (o *orderedObject) UnmarshalJSON(text []byte) error {
	values := make(map[string]json.RawMessage)
	if err := json.Unmarshal(text, &values); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.Token() // skips the brace: the text is known to be an object
	for d.More() {
		token, _ := d.Token()
		key, _ := token.(string)
		if value, ok := values[key]; ok {
			delete(values, key)
			*o = append(*o, struct {
				key   string
				value json.RawMessage
			}{key, value})
		}
		var skipped json.RawMessage
		if err := d.Decode(&skipped); err != nil {
			return err
		}
	}
	return nil
}
