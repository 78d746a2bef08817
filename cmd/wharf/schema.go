package main

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// types are the names of JSON Schema types that a value may have. None means
// that the schema does not say, or says it in a way that is not read here.
type types []string

// String lists the types as a sentence does.
func (t types) String() string {
	names := make([]string, len(t))
	for i, name := range t {
		switch name {
		case "null":
			names[i] = name
		case "integer", "array", "object":
			names[i] = "an " + name
		default:
			names[i] = "a " + name
		}
	}
	return strings.Join(names, " or ")
}

// schemaReader answers which types an input schema gives its properties. The
// schema is a server's: it may be large, refer to itself, or be no schema at
// all, and none of that may cost more than the budget.
type schemaReader struct {
	properties map[string]json.RawMessage
	required   []string
	requires   map[string]bool
	defs       map[string]json.RawMessage
	oldDefs    map[string]json.RawMessage

	budget int // bytes of schemas that may still be looked at
}

// schemaBudget is far above what the schema of one argument needs. To look at one of
// them has a price of its own, or a reference to itself would cost nothing.
const (
	schemaBudget = 1 << 20
	schemaPrice  = 4 << 10
)

// readSchema never fails: what it cannot read says nothing about types, and so does
// what is larger than any schema that arguments are compared with.
func readSchema(schema json.RawMessage) *schemaReader {
	if len(schema) > mcp.MaxSchemaBytes {
		schema = nil
	}
	var members struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
		Defs       map[string]json.RawMessage `json:"$defs"`
		OldDefs    map[string]json.RawMessage `json:"definitions"`
	}
	lenient(schema, &members)
	requires := make(map[string]bool, len(members.Required))
	for _, name := range members.Required {
		requires[name] = true
	}
	return &schemaReader{members.Properties, members.Required, requires, members.Defs, members.OldDefs, schemaBudget}
}

// lenient decodes what fits and leaves the rest: encoding/json goes on after a
// member of the wrong type, and the server is the judge of its schema.
func lenient(text json.RawMessage, into any) { _ = json.Unmarshal(text, into) }

// names returns the properties, the required ones first and in the order in
// which the schema requires them.
func (s *schemaReader) names() []string {
	var names []string
	named := make(map[string]bool)
	for _, name := range s.required {
		if _, known := s.properties[name]; known && !named[name] {
			names = append(names, name)
			named[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.properties)) {
		if !s.requires[name] {
			names = append(names, name)
		}
	}
	return names
}

// property returns the types of one property. It looks through unions and
// through references within the schema, and never follows a reference that
// leads out of it.
func (s *schemaReader) property(key string) types {
	found, ok := s.typesOf(s.properties[key])
	if !ok {
		return nil
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// typesOf is false for a schema that takes anything, or that is not understood.
func (s *schemaReader) typesOf(schema json.RawMessage) (types, bool) {
	if s.budget -= schemaPrice + len(schema); s.budget < 0 {
		return nil, false
	}
	var node struct {
		Type  json.RawMessage   `json:"type"`
		AnyOf []json.RawMessage `json:"anyOf"`
		OneOf []json.RawMessage `json:"oneOf"`
		Ref   string            `json:"$ref"`
	}
	lenient(schema, &node)
	if node.Ref != "" {
		return s.typesOf(s.resolve(node.Ref))
	}
	if found := typeNames(node.Type); found != nil {
		return found, true
	}
	return s.union(slices.Concat(node.AnyOf, node.OneOf))
}

func (s *schemaReader) union(branches []json.RawMessage) (types, bool) {
	var all types
	for _, branch := range branches {
		found, ok := s.typesOf(branch)
		if !ok {
			return nil, false
		}
		all = append(all, found...)
	}
	return all, len(all) > 0
}

// resolve returns the definition that a reference names, or nil.
func (s *schemaReader) resolve(ref string) json.RawMessage {
	if name, ok := strings.CutPrefix(ref, "#/$defs/"); ok {
		return s.defs[name]
	}
	if name, ok := strings.CutPrefix(ref, "#/definitions/"); ok {
		return s.oldDefs[name]
	}
	return nil
}

// typeNames reads the value of "type": one name, or a list of them.
func typeNames(text json.RawMessage) types {
	var one string
	if json.Unmarshal(text, &one) == nil && one != "" {
		return types{one}
	}
	var many types
	lenient(text, &many)
	return many
}

// coerce reads what a person typed as one of the wanted types. Text is always
// a string where a string will do, and where nothing is known; everything else
// must be the JSON of what is wanted.
func coerce(text string, wanted types) (json.RawMessage, bool) {
	if len(wanted) == 0 || slices.Contains(wanted, "string") {
		return json.RawMessage(plain.Quote(text)), true
	}
	text = strings.TrimSpace(text)
	if validJSON(text) != nil {
		return nil, false
	}
	kind := kindOf(text)
	if slices.Contains(wanted, kind) || kind == "number" && slices.Contains(wanted, "integer") && whole(text) {
		return json.RawMessage(text), true
	}
	return nil, false
}

// whole is true for a JSON number without a fraction: 1.0 and 1e3 are integers
// in JSON Schema.
func whole(number string) bool {
	f, err := strconv.ParseFloat(number, 64)
	return err == nil && f == math.Trunc(f)
}

// kindOf names the type of a valid JSON value, as JSON Schema does.
func kindOf(value string) string {
	switch strings.TrimSpace(value)[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}
