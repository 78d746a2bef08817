package generate

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/host/mcp"
)

// Bounds of what is read. A schema that is longer than [mcp.MaxSchemaBytes], or nested
// deeper, is read as any value.
const (
	maxDepth  = 24
	maxShapes = 50_000   // of all tools; beyond them everything is any value
	maxBytes  = 64 << 20 // the same for schemas, which are read once for each level of nesting
	maxValues = 500      // of a choice; one of more is any text
)

// reader turns JSON schemas of a server into shapes. It never fails: anything that it does not
// understand is [unknown], and so is everything once its budget is spent.
type reader struct {
	shapes   int // that may still be made
	bytes    int // of schemas that may still be read
	types    names
	declared []*shape // objects and choices, in the order in which their names were given

	// Of the document that is being read.
	root   json.RawMessage
	tool   string
	sent   bool
	refs   map[string]*shape // by reference: what was read for it
	within map[string]bool   // references that are being read
}

// node is one schema. Members of a wrong type are left out.
type node struct {
	Type        json.RawMessage
	Enum        []json.RawMessage
	Const       json.RawMessage
	Properties  json.RawMessage
	Required    []string
	Additional  json.RawMessage `json:"additionalProperties"`
	Items       json.RawMessage
	Prefix      json.RawMessage `json:"prefixItems"`
	AnyOf       []json.RawMessage
	OneOf       []json.RawMessage
	AllOf       []json.RawMessage
	Ref         string `json:"$ref"`
	Title       string
	Description string
}

// document reads the schema of the arguments or of the result of a tool.
func (r *reader) document(schema json.RawMessage, tool, suffix string, sent bool) *shape {
	if len(schema) > mcp.MaxSchemaBytes {
		return &shape{sent: sent, about: "The schema is too long to be read."}
	}
	r.root, r.tool, r.sent = schema, tool, sent
	r.refs, r.within = make(map[string]*shape), make(map[string]bool)
	var n node
	_ = json.Unmarshal(schema, &n)
	if sent && isPlainObject(&n) && len(ordered(n.Properties)) == 0 && (n.Additional == nil || string(n.Additional) == "false") {
		return &shape{kind: object, sent: true} // a tool without arguments
	}
	return r.definition("#", schema, tool+suffix, 0).target()
}

// read reads one schema. If it declares a type, the type gets name, or a name like it.
func (r *reader) read(schema json.RawMessage, name string, depth int) *shape {
	var n node
	r.shapes--
	if r.bytes -= len(schema); r.bytes < 0 || r.shapes < 0 || depth > maxDepth {
		return &shape{sent: r.sent}
	}
	_ = json.Unmarshal(schema, &n) // goes on behind a member of the wrong type
	s := r.readNode(&n, name, depth)
	if n.Description != "" {
		s.about = n.Description
	} else if s.about == "" {
		s.about = n.Title
	}
	s.sent = r.sent
	return s
}

func (r *reader) readNode(n *node, name string, depth int) *shape {
	types := typeNames(n.Type)
	nullable := slices.Contains(types, "null")
	types = slices.DeleteFunc(types, func(t string) bool { return t == "null" })
	if n.Const != nil {
		n.Enum = []json.RawMessage{n.Const}
	}
	var s *shape
	switch {
	case n.Ref != "":
		return r.refer(n.Ref, depth)
	case len(n.Enum) > 0:
		s = r.enum(n.Enum, name)
	case len(types) > 1:
		s = &shape{kind: union}
		for _, one := range types {
			s.branches = append(s.branches, r.typed(one, n, name, depth))
		}
		s = simplify(s)
	case len(types) == 1:
		s = r.typed(types[0], n, name, depth)
	case n.Properties != nil:
		s = r.typed("object", n, name, depth)
	case len(n.AnyOf)+len(n.OneOf) > 0:
		s = r.union(slices.Concat(n.AnyOf, n.OneOf), name, depth)
	case len(n.AllOf) == 1:
		s = r.read(n.AllOf[0], name, depth+1)
	default:
		s = &shape{}
	}
	s.nullable = s.nullable || nullable
	return s
}

// typed reads a schema whose "type" is the given one.
func (r *reader) typed(name string, n *node, hint string, depth int) *shape {
	switch name {
	case "boolean":
		return &shape{kind: boolean}
	case "integer":
		return &shape{kind: integer}
	case "number":
		return &shape{kind: number}
	case "string":
		return &shape{kind: text}
	case "array":
		items := &shape{sent: r.sent}
		if n.Items != nil && n.Prefix == nil {
			items = r.read(n.Items, hint+"Item", depth+1)
		}
		return &shape{kind: list, items: items}
	case "object":
		return r.object(n, hint, depth)
	}
	return &shape{}
}

// object reads an object with members of its own, or a dictionary.
func (r *reader) object(n *node, name string, depth int) *shape {
	var further *shape
	var closed bool
	if n.Additional != nil {
		if closed = string(n.Additional) == "false"; !closed {
			further = r.read(n.Additional, name+"Value", depth+1)
		}
	}
	properties := ordered(n.Properties)
	if len(properties) == 0 && !closed {
		if further == nil {
			further = &shape{sent: r.sent}
		}
		return &shape{kind: dictionary, items: further}
	}
	s := r.declare(&shape{kind: object, items: further}, name)
	r.members(s, properties, n.Required, depth)
	return s
}

// members reads the members of an object that is declared.
func (r *reader) members(s *shape, properties []property, required []string, depth int) {
	for _, p := range properties {
		read := r.read(p.schema, s.name+camel(p.name), depth+1)
		s.members = append(s.members, member{p.name, read.about, slices.Contains(required, p.name), read})
	}
}

// declare gives an object or a choice its name.
func (r *reader) declare(s *shape, name string) *shape {
	s.name, s.sent = r.types.take(name), r.sent
	r.declared = append(r.declared, s)
	return s
}

// enum reads the values of "enum" or "const". Texts become a choice, and other values the kind
// that they have in common.
func (r *reader) enum(values []json.RawMessage, name string) *shape {
	s := &shape{kind: choice}
	kinds := make(map[string]bool)
	for _, value := range values {
		kind := mcp.KindOf(value)
		kinds[kind] = true
		var word string
		if kind != "string" || len(s.values) > maxValues || json.Unmarshal(value, &word) != nil {
			continue // of too many values none is kept
		}
		if !slices.Contains(s.values, word) {
			s.values = append(s.values, word)
		}
	}
	s.nullable = kinds["null"]
	delete(kinds, "null")
	switch {
	case len(kinds) != 1:
		s.kind = unknown
	case kinds["string"] && len(s.values) <= maxValues:
		return r.declare(s, name)
	case kinds["string"]:
		s.kind = text
	case kinds["boolean"]:
		s.kind = boolean
	case kinds["number"]:
		s.kind = integer
		if slices.ContainsFunc(values, func(v json.RawMessage) bool { return bytes.ContainsAny(v, ".eE") }) {
			s.kind = number
		}
	default:
		s.kind = unknown
	}
	return s
}

// union reads "anyOf" and "oneOf". Values with a title each are a choice: that is how choices
// for people are written.
func (r *reader) union(branches []json.RawMessage, name string, depth int) *shape {
	var values []json.RawMessage
	for _, branch := range branches {
		var n node
		if _ = json.Unmarshal(branch, &n); n.Const != nil {
			values = append(values, n.Const)
		}
	}
	if len(values) == len(branches) {
		return r.enum(values, name)
	}
	s := &shape{kind: union}
	for _, branch := range branches {
		var n node
		if _ = json.Unmarshal(branch, &n); slices.Equal(typeNames(n.Type), []string{"null"}) {
			s.nullable = true
			continue
		}
		s.branches = append(s.branches, r.read(branch, name, depth+1))
	}
	return simplify(s)
}

// simplify returns a simpler shape for a union if there is one: its only branch; the simple kind
// that all branches have; number for integer and number; any value if a branch may be anything or
// there is none.
func simplify(s *shape) *shape {
	kinds := make(map[kind]bool)
	for _, b := range s.branches {
		s.nullable = s.nullable || b.nullable
		kinds[b.kind] = true
	}
	first := unknown
	if len(s.branches) > 0 {
		first = s.branches[0].kind
	}
	switch {
	case len(s.branches) == 0 || kinds[unknown]:
		return &shape{nullable: s.nullable}
	case len(s.branches) == 1:
		one := *s.branches[0] // a copy: it may be nullable here and not elsewhere
		if one.kind == object || one.kind == choice {
			one = shape{kind: reference, to: s.branches[0]}
		}
		one.nullable = s.nullable
		return &one
	case len(kinds) == 1 && (first == text || first == integer || first == number || first == boolean):
		return &shape{kind: first, nullable: s.nullable}
	case len(kinds) == 2 && kinds[integer] && kinds[number]:
		return &shape{kind: number, nullable: s.nullable}
	}
	return s
}

// refer reads, once, the schema that a reference within the document names. An object may refer
// to itself. Any other reference to a schema that is still being read becomes any value.
func (r *reader) refer(ref string, depth int) *shape {
	if known := r.refs[ref]; known != nil {
		known.recursive = known.recursive || r.within[ref]
		return pointTo(known)
	}
	schema := json.RawMessage(nil)
	if r.bytes -= len(r.root); r.bytes >= 0 && !r.within[ref] {
		schema = r.resolve(ref)
	}
	if schema == nil {
		return &shape{}
	}
	return r.definition(ref, schema, r.tool+camel(ref[strings.LastIndexByte(ref, '/')+1:]), depth)
}

// definition reads a schema that references can name.
func (r *reader) definition(ref string, schema json.RawMessage, name string, depth int) *shape {
	r.within[ref] = true
	defer delete(r.within, ref)
	var n node
	_ = json.Unmarshal(schema, &n)
	if properties := ordered(n.Properties); isPlainObject(&n) && len(properties) > 0 {
		s := r.declare(&shape{kind: object, about: n.Description}, name)
		r.refs[ref] = s // before its members are read, which may refer to it
		if n.Additional != nil && string(n.Additional) != "false" {
			s.items = r.read(n.Additional, s.name+"Value", depth+1)
		}
		r.members(s, properties, n.Required, depth)
		return pointTo(s)
	}
	s := r.read(schema, name, depth+1)
	r.refs[ref] = s
	return pointTo(s)
}

// isPlainObject reports whether a schema is that of objects by its type or properties.
func isPlainObject(n *node) bool {
	types := typeNames(n.Type)
	return n.Ref == "" && len(n.Enum) == 0 && n.Const == nil &&
		(slices.Equal(types, []string{"object"}) || len(types) == 0 && n.Properties != nil)
}

// pointTo returns a reference to a declared shape, and a copy of any other.
func pointTo(s *shape) *shape {
	if s.kind == object || s.kind == choice {
		return &shape{kind: reference, to: s, nullable: s.nullable}
	}
	same := *s
	return &same
}

// resolve returns the part of the document that a JSON pointer names, or nil. It follows no
// other reference.
func (r *reader) resolve(ref string) json.RawMessage {
	fragment, ok := strings.CutPrefix(ref, "#")
	pointer, err := url.PathUnescape(fragment)
	if !ok || err != nil || pointer != "" && pointer[0] != '/' || strings.Count(pointer, "/") > maxDepth {
		return nil
	}
	at := r.root
	for _, word := range strings.Split(pointer, "/")[1:] {
		var members map[string]json.RawMessage
		if json.Unmarshal(at, &members) != nil {
			return nil
		}
		at = members[strings.NewReplacer("~1", "/", "~0", "~").Replace(word)]
	}
	return at
}

// property is a member of "properties".
type property struct {
	name   string
	schema json.RawMessage
}

// ordered returns the members of an object in their order, each name once.
func ordered(text json.RawMessage) (found []property) {
	d := json.NewDecoder(bytes.NewReader(text))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil
	}
	seen := make(map[string]bool)
	for d.More() {
		key, err := d.Token()
		var p property
		if err != nil || d.Decode(&p.schema) != nil {
			return found
		}
		if p.name, _ = key.(string); !seen[p.name] {
			seen[p.name] = true
			found = append(found, p)
		}
	}
	return found
}

// typeNames reads the value of "type": one name, or a list of them.
func typeNames(text json.RawMessage) []string {
	var one string
	if json.Unmarshal(text, &one) == nil && one != "" {
		return []string{one}
	}
	var many []string
	_ = json.Unmarshal(text, &many)
	return many
}
