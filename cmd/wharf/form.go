package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// form is what a server wants to know, in the order in which it asks.
type form []field

// fieldKind is how a field is answered.
type fieldKind int

const (
	textField fieldKind = iota
	numberField
	integerField
	boolField
	choiceField  // one of the options
	choicesField // any of them
)

// field is one question of a form: its schema as a server may write it
// (2025-11-25/client/elicitation), and the answer.
type field struct {
	name     string
	required bool
	kind     fieldKind
	schema   fieldSchema
	options  []option

	given bool
	value any
}

// option is one of the values that a field can have.
type option struct {
	Value string `json:"const"`
	Title string `json:"title"`
}

// fieldSchema is all that the schema of a field may hold.
type fieldSchema struct {
	Type        string          `json:"type"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Default     json.RawMessage `json:"default"`

	Format    string `json:"format"`
	Pattern   string `json:"pattern"`
	MinLength *int   `json:"minLength"`
	MaxLength *int   `json:"maxLength"`

	Minimum *float64 `json:"minimum"`
	Maximum *float64 `json:"maximum"`

	Enum      []string `json:"enum"`
	EnumNames []string `json:"enumNames"` // before 2025-11-25
	OneOf     []option `json:"oneOf"`

	MinItems *int `json:"minItems"`
	MaxItems *int `json:"maxItems"`
	Items    struct {
		Enum  []string `json:"enum"`
		AnyOf []option `json:"anyOf"`
		OneOf []option `json:"oneOf"`
	} `json:"items"`
}

// readForm reads a requested schema: an object with properties that are no
// objects. One without properties asks for a yes alone. It ends with ctx: to look at
// what a server proposes may take a second for a field.
func readForm(ctx context.Context, schema json.RawMessage) (form, error) {
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
	required := setOf(object.Required)
	fields := make(form, 0, len(object.Properties))
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

// setOf is for names that are looked up often.
func setOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

func readField(schema json.RawMessage) (f field, err error) {
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
func options(values, titles []string, titled []option) []option {
	var all []option
	for i, value := range values {
		o := option{Value: value}
		if i < len(titles) {
			o.Title = titles[i]
		}
		all = append(all, o)
	}
	return append(all, titled...)
}

// label is the name of a field for people.
func (f *field) label() string {
	if f.schema.Title != "" {
		return f.schema.Title
	}
	return f.name
}

// content is the answer to the form.
func (fields form) content() map[string]any {
	content := make(map[string]any)
	for _, f := range fields {
		if f.given {
			content[f.name] = f.value
		}
	}
	return content
}

// secretWords are parts of the names of what no form may ask for.
var secretWords = []string{"passw", "passphrase", "secret", "token", "api key", "apikey", "credential", "private key", "access key", "pin code", "card number", "cvv", "cvc"}

// secretive reports whether a field seems to want a secret.
func (f *field) secretive() bool {
	words := strings.NewReplacer("_", " ", "-", " ").Replace(strings.ToLower(f.name + "\n" + f.schema.Title + "\n" + f.schema.Description))
	return f.schema.Format == "password" || f.kind == textField && slices.ContainsFunc(secretWords, func(word string) bool {
		return strings.Contains(words, word)
	})
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
	d.Token() // the brace; that the text is an object is known
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
