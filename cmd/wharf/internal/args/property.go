package args

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
)

// Property describes one argument for people, by its schema. Texts are the server's words, not
// cleaned.
type Property struct {
	Name        string
	Required    bool
	Types       Types  // none where the schema does not say
	Items       Types  // of an array
	Description string // may have several lines
	Default     json.RawMessage
	Enum        []json.RawMessage // what the value may be; none where it may be anything
	Limits      []string          // "at least 1", "a date"
	Ref         string            // the definition that its members come from, "" for its own

	of     []string // kinds of the items, or of the values of members that have no name
	bounds limits
	schema json.RawMessage
}

// Properties returns all arguments, in the order of [Schema.Names].
func (s *Schema) Properties() (all []Property) {
	for _, name := range s.Names() {
		all = append(all, s.about(name))
	}
	return all
}

func (s *Schema) about(name string) Property {
	p := s.of(s.properties[name])
	p.Name, p.Required = name, s.requires[name]
	return p
}

// of returns what a schema says, as that of a property without a name.
func (s *Schema) of(schema json.RawMessage) Property {
	p := s.property(schema, kindDepth)
	p.Types, p.schema = s.typesIn(schema), schema
	return p
}

// listed returns the value of an enum whose JSON is text, such as 1 for the text 1. It returns nil if
// there is none, or if the enum also has that text as a string.
func (s *Schema) listed(key, text string) (value json.RawMessage) {
	for _, raw := range s.about(key).Enum {
		switch string(raw) {
		case plain.Quote(text):
			return nil
		case text:
			value = raw
		}
	}
	return value
}

// NoName is how an argument is shown whose name is empty. It can be given as JSON only.
const NoName = `""`

// Forms returns the members of the objects that the value, or an item of it, may be: one list
// for each kind of object. It returns nil if the schema names no member.
func (s *Schema) Forms(p Property) [][]Property { return s.formsOf(p.schema, formsDepth) }

// formsDepth is how many references, arrays and unions may lie between a value and its members.
const formsDepth = 12

func (s *Schema) formsOf(schema json.RawMessage, depth int) (forms [][]Property) {
	if s.budget -= schemaPrice + len(schema); s.budget < 0 || depth == 0 {
		return nil
	}
	var node struct {
		Properties json.RawMessage   `json:"properties"`
		Items      json.RawMessage   `json:"items"`
		Ref        string            `json:"$ref"`
		AllOf      []json.RawMessage `json:"allOf"`
		AnyOf      []json.RawMessage `json:"anyOf"`
		OneOf      []json.RawMessage `json:"oneOf"`
	}
	lenient(schema, &node)
	if node.Ref != "" {
		return s.formsOf(s.resolve(node.Ref), depth-1)
	}
	var whole []Property // of the parts that an object has all of
	for _, part := range node.AllOf {
		if of := s.formsOf(part, depth-1); len(of) > 0 {
			whole = append(whole, of[0]...)
		}
	}
	if node.Properties != nil {
		of := ReadSchema(schema)
		of.defs, of.oldDefs, of.budget = s.defs, s.oldDefs, s.budget
		whole = append(whole, of.Properties()...)
		s.budget = of.budget
	}
	forms = append(forms, whole)
	if node.Items != nil {
		forms = append(forms, s.formsOf(node.Items, depth-1)...)
	}
	for _, branch := range slices.Concat(node.AnyOf, node.OneOf) {
		forms = append(forms, s.formsOf(branch, depth-1)...)
	}
	return slices.DeleteFunc(forms, func(members []Property) bool { return len(members) == 0 })
}

// takesText reports whether a property may be any text.
func (s *Schema) takesText(key string) bool {
	p := s.about(key)
	return (len(p.Types) == 0 || slices.Contains(p.Types, "string")) && len(p.Enum) == 0
}

// follows reports whether a word behind a text is meant for a property, and no part of that text: the
// property is a required text, or takes only other values, and the word is one.
func (s *Schema) follows(key, text string) bool {
	if s.takesText(key) {
		return s.Required(key)
	}
	if len(s.about(key).Enum) > 0 {
		return s.choice(key, text)
	}
	_, fits := coerce(text, s.Types(key))
	return fits
}

// choice reports whether a text is a value of a property's enum.
func (s *Schema) choice(key, text string) bool {
	return s.listed(key, text) != nil || slices.ContainsFunc(s.about(key).Enum, func(raw json.RawMessage) bool { return string(raw) == plain.Quote(text) })
}

// kindDepth is how many levels of arrays, and of objects that map names to values, a kind tells of.
const kindDepth = 4

// property reads everything that a schema says besides its types. If a branch of a union names
// values, they are added.
func (s *Schema) property(schema json.RawMessage, depth int) (p Property) {
	if s.budget -= schemaPrice + len(schema); s.budget < 0 {
		return p
	}
	var node struct {
		Description string            `json:"description"`
		Default     json.RawMessage   `json:"default"`
		Enum        []json.RawMessage `json:"enum"`
		Const       json.RawMessage   `json:"const"`
		Items       json.RawMessage   `json:"items"`
		Others      json.RawMessage   `json:"additionalProperties"`
		Ref         string            `json:"$ref"`
		AllOf       []json.RawMessage `json:"allOf"`
		AnyOf       []json.RawMessage `json:"anyOf"`
		OneOf       []json.RawMessage `json:"oneOf"`
		limits
	}
	lenient(schema, &node)
	if node.Ref != "" {
		p = s.property(s.resolve(node.Ref), depth)
		p.Ref = node.Ref
	}
	for i, branch := range slices.Concat(node.AllOf, node.AnyOf, node.OneOf) {
		of := s.property(branch, depth)
		p.Enum = append(p.Enum, of.Enum...)
		p.Items = append(p.Items, of.Items...)
		p.of = append(p.of, of.of...)
		p.Ref = cmp.Or(p.Ref, of.Ref)
		if i < len(node.AllOf) { // what bounds a branch of a union does not bound the others
			p.Limits, p.bounds = append(p.Limits, of.Limits...), cmp.Or(p.bounds, of.bounds)
		}
	}
	p.Description = cmp.Or(node.Description, p.Description)
	if node.Default != nil {
		p.Default = node.Default
	}
	p.Enum = append(p.Enum, node.Enum...)
	if node.Const != nil {
		p.Enum = append(p.Enum, node.Const)
	}
	for i, inner := range []json.RawMessage{node.Items, node.Others} {
		if inner == nil || depth == 0 {
			continue
		}
		of := s.property(inner, depth-1)
		of.Types, _ = s.typesOf(inner)
		p.Ref = cmp.Or(p.Ref, of.Ref)
		if i == 0 {
			p.Items, p.Enum = of.Types, append(p.Enum, of.Enum...)
		}
		if len(of.Types) > 0 {
			p.of = append(p.of, of.Kind())
		}
	}
	if words := node.limits.words(); len(words) > 0 {
		p.Limits, p.bounds = append(p.Limits, words...), node.limits
	}
	return p
}

// limits are the keywords of JSON Schema that bound a value.
type limits struct {
	Minimum          json.Number `json:"minimum"`
	Maximum          json.Number `json:"maximum"`
	ExclusiveMinimum json.Number `json:"exclusiveMinimum"`
	ExclusiveMaximum json.Number `json:"exclusiveMaximum"`
	MultipleOf       json.Number `json:"multipleOf"`
	MinLength        json.Number `json:"minLength"`
	MaxLength        json.Number `json:"maxLength"`
	MinItems         json.Number `json:"minItems"`
	MaxItems         json.Number `json:"maxItems"`
	Pattern          string      `json:"pattern"`
	Format           string      `json:"format"`
}

func (l limits) words() (words []string) {
	for _, limit := range []struct{ format, value string }{
		{"at least %s", string(l.Minimum)}, {"at most %s", string(l.Maximum)},
		{"more than %s", string(l.ExclusiveMinimum)}, {"less than %s", string(l.ExclusiveMaximum)},
		{"a multiple of %s", string(l.MultipleOf)},
		{"at least %s letters", string(l.MinLength)}, {"at most %s letters", string(l.MaxLength)},
		{"at least %s items", string(l.MinItems)}, {"at most %s items", string(l.MaxItems)},
		{"format %s", l.Format}, {"pattern %s", l.Pattern},
	} {
		if text := fmt.Sprintf(limit.format, limit.value); limit.value == "1" {
			words = append(words, strings.TrimSuffix(text, "s"))
		} else if limit.value != "" {
			words = append(words, text)
		}
	}
	return words
}

// Kind names the types of the value as a signature does: "string", "integer|null",
// "array of string", "object of integer" where all members have that type.
func (p Property) Kind() string {
	kind := strings.Join(slices.Compact(slices.Sorted(slices.Values(p.Types))), "|")
	if len(p.of) > 0 && (slices.Contains(p.Types, "array") || slices.Contains(p.Types, "object")) {
		kind += " of " + strings.Join(slices.Compact(slices.Sorted(slices.Values(p.of))), "|")
	}
	return cmp.Or(kind, "any value")
}

// usage shows how the arguments are written, the required ones first: "write a=… [b=…]". It
// returns "" if the schema names none.
func (s *Schema) usage() string {
	var words []string
	for _, name := range s.Names() {
		value := "…"
		switch types := s.Types(name); {
		case len(types) == 1 && types[0] == "object":
			value = "{…}"
		case len(types) == 1 && types[0] == "array":
			value = "[…]"
		}
		word := plain.Clip(plain.Line(name), 40) + "=" + value
		if !Assignable(name) {
			word = objectOf(plain.Clip(plain.Line(name), 40), json.RawMessage(value))
		}
		word = plain.ShellWord(word)
		if !s.Required(name) {
			word = "[" + word + "]"
		}
		if words = append(words, word); len(words) == usageWords {
			words = append(words, "…")
			break
		}
	}
	if len(words) == 0 {
		return ""
	}
	return "write " + strings.Join(words, " ")
}

const usageWords = 8 // more of them explain nothing
