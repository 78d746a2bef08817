package args

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/internal/nearest"
)

// Types are the names of JSON Schema types that a value may have. None means that the
// schema does not say, or says it in a way that is not read here.
type Types []string

// String lists the types as a sentence does.
func (t Types) String() string {
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

// exist reports whether JSON Schema has all of the types. A server may name others.
func (t Types) exist() bool {
	return !slices.ContainsFunc(t, func(name string) bool {
		return !slices.Contains([]string{"string", "integer", "number", "boolean", "array", "object", "null"}, name)
	})
}

// Schema tells the types of an input schema's properties. A server wrote the schema: it may be
// large, refer to itself, or be anything else. Reading it never costs more than the budget. It
// is for one goroutine.
type Schema struct {
	properties map[string]json.RawMessage // nil where the schema has none
	order      []string                   // of the properties, as the server wrote them
	required   []string
	requires   map[string]bool
	either     [][]string // what else is required, one of these lists
	defs       map[string]json.RawMessage
	oldDefs    map[string]json.RawMessage

	texts  bool // the arguments are those of a prompt
	empty  bool // the schema is of an object, and says nothing of its members
	budget int  // bytes of schemas that may still be read
}

// schemaBudget is far above what the schema of one argument needs. Each read of a schema costs its
// length and a fixed price, because a reference to itself would otherwise cost nothing.
const (
	schemaBudget = 1 << 20
	schemaPrice  = 1 << 10
)

// ReadSchema reads a schema and never fails. A part that it cannot read says nothing about
// types, nor does a schema that is too large to check arguments against.
func ReadSchema(schema json.RawMessage) *Schema {
	if len(schema) > mcp.MaxSchemaBytes {
		schema = nil
	}
	var members struct {
		Properties json.RawMessage            `json:"properties"`
		Required   []string                   `json:"required"`
		Defs       map[string]json.RawMessage `json:"$defs"`
		OldDefs    map[string]json.RawMessage `json:"definitions"`
		AnyOf      []alternative              `json:"anyOf"`
		OneOf      []alternative              `json:"oneOf"`
	}
	lenient(schema, &members)
	requires := make(map[string]bool, len(members.Required))
	for _, name := range members.Required {
		requires[name] = true
	}
	var either [][]string
	for _, one := range slices.Concat(members.AnyOf, members.OneOf) {
		if len(one.Required) > 0 {
			either = append(either, one.Required)
		}
	}
	s := &Schema{nil, nil, members.Required, requires, either, members.Defs, members.OldDefs, false, false, schemaBudget}
	lenient(members.Properties, &s.properties)
	s.order = keysOf(members.Properties)
	var all map[string]json.RawMessage
	lenient(schema, &all)
	s.empty = string(all["type"]) == `"object"` && !hasAny(all, append(elsewhere, "properties", "additionalProperties"))
	return s
}

// alternative is a branch of a union.
type alternative struct {
	Required []string `json:"required"`
}

// elsewhere are keywords for parts of a schema that are not read here, but may name arguments.
var elsewhere = []string{"patternProperties", "unevaluatedProperties", "propertyNames",
	"allOf", "anyOf", "oneOf", "if", "dependentSchemas", "$ref"}

func hasAny(members map[string]json.RawMessage, keys []string) bool {
	return slices.ContainsFunc(keys, func(key string) bool { return members[key] != nil })
}

// TextSchema is the schema of arguments that are texts, in their order.
func TextSchema(names, required []string) *Schema {
	s := ReadSchema(nil)
	s.texts = true
	s.properties, s.order, s.required = make(map[string]json.RawMessage, len(names)), names, required
	for _, name := range names {
		s.properties[name] = json.RawMessage(`{"type":"string"}`)
	}
	for _, name := range required {
		s.requires[name] = true
	}
	return s
}

// keysOf returns the names of the members of an object, in their order. One may come twice.
func keysOf(object json.RawMessage) (keys []string) {
	decoder := json.NewDecoder(bytes.NewReader(object))
	if open, err := decoder.Token(); err != nil || open != json.Delim('{') {
		return nil
	}
	for decoder.More() {
		name, err := decoder.Token()
		key, isText := name.(string)
		if err != nil || !isText || decoder.Decode(new(json.RawMessage)) != nil {
			return keys
		}
		keys = append(keys, key)
	}
	return keys
}

// lenient decodes the members that fit and leaves the rest: encoding/json goes on after a member
// of the wrong type.
func lenient(text json.RawMessage, into any) { _ = json.Unmarshal(text, into) }

// Names returns the properties: the required ones first, in the order in which the schema
// requires them, and then the others in the order in which it has them.
func (s *Schema) Names() []string {
	var names []string
	named := make(map[string]bool)
	for _, name := range slices.Concat(s.required, s.order) {
		if _, known := s.properties[name]; known && !named[name] {
			names = append(names, name)
			named[name] = true
		}
	}
	return names
}

// Required reports whether a property is required.
func (s *Schema) Required(key string) bool { return s.requires[key] }

// near returns the property that a name was probably meant to be, or "".
func (s *Schema) near(name string) string {
	return nearest.Name(name, s.Names(), max(1, len(name)/3))
}

// takesNone reports whether the schema says that there are no arguments.
func (s *Schema) takesNone() bool { return s.properties != nil && len(s.properties) == 0 }

// Types returns the types of one property. It follows unions and references within
// the schema, and never a reference that leads out of it.
func (s *Schema) Types(key string) Types { return s.typesIn(s.properties[key]) }

func (s *Schema) typesIn(schema json.RawMessage) Types {
	found, ok := s.typesOf(schema)
	if !ok {
		return nil
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// typesOf returns the types of a schema, or false if it accepts anything or is not understood.
func (s *Schema) typesOf(schema json.RawMessage) (Types, bool) {
	if s.budget -= schemaPrice + len(schema); s.budget < 0 {
		return nil, false
	}
	var node struct {
		Type  json.RawMessage   `json:"type"`
		AllOf []json.RawMessage `json:"allOf"`
		AnyOf []json.RawMessage `json:"anyOf"`
		OneOf []json.RawMessage `json:"oneOf"`
		Ref   string            `json:"$ref"`
		Enum  []json.RawMessage `json:"enum"`
		Const json.RawMessage   `json:"const"`
	}
	lenient(schema, &node)
	if node.Ref != "" {
		return s.typesOf(s.resolve(node.Ref))
	}
	if found := typeNames(node.Type); found != nil {
		return found, found.exist()
	}
	var all Types
	for _, value := range append(node.Enum, node.Const) {
		if value != nil {
			all = append(all, mcp.KindOf(value))
		}
	}
	if len(all) == 0 {
		for _, part := range node.AllOf { // the value fits them all, so the types of one are enough
			if found, ok := s.typesOf(part); ok {
				return found, true
			}
		}
	}
	for _, branch := range slices.Concat(node.AnyOf, node.OneOf) {
		found, ok := s.typesOf(branch)
		if !ok {
			return nil, false
		}
		all = append(all, found...)
	}
	return all, len(all) > 0
}

// resolve returns the definition that a reference names, or nil.
func (s *Schema) resolve(ref string) json.RawMessage {
	if name, ok := strings.CutPrefix(ref, "#/$defs/"); ok {
		return s.defs[name]
	}
	if name, ok := strings.CutPrefix(ref, "#/definitions/"); ok {
		return s.oldDefs[name]
	}
	return nil
}

// typeNames reads the value of "type": one name, or a list of them.
func typeNames(text json.RawMessage) Types {
	var one string
	if json.Unmarshal(text, &one) == nil && one != "" {
		return Types{one}
	}
	var many Types
	lenient(text, &many)
	return many
}

// coerce returns typed text as JSON of one of the wanted types. If a string is wanted, or no
// type is known, the result is a string. Otherwise the text must be JSON of a wanted type, or
// coerce returns false.
func coerce(text string, wanted Types) (json.RawMessage, bool) {
	if len(wanted) == 0 || slices.Contains(wanted, "string") {
		return json.RawMessage(plain.Quote(text)), true
	}
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "-.") { // JSON wants a digit there, and people do not
		text = strings.Replace(text, ".", "0.", 1)
	}
	if validJSON(text) != nil {
		return nil, false
	}
	kind := mcp.KindOf([]byte(text))
	if slices.Contains(wanted, kind) || kind == "number" && slices.Contains(wanted, "integer") && whole(text) {
		return json.RawMessage(text), true
	}
	return nil, false
}

// whole reports whether a JSON number has no fraction: 1.0 and 1e3 are integers in JSON Schema.
func whole(number string) bool {
	f, err := strconv.ParseFloat(number, 64)
	return err == nil && f == math.Trunc(f)
}
