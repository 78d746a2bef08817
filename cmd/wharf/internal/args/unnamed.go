package args

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host"
)

// Unnamed returns a sentence about the arguments of a call that the tool's schema does not name,
// or "". A server may accept them, but most ignore them. If the schema allows others, or has
// them in parts that are not read here, the sentence is only about names that are nearly right.
func Unnamed(tool string, schema json.RawMessage, object Object) string {
	var members map[string]json.RawMessage
	lenient(schema, &members)
	reader, names := ReadSchema(schema), []string{}
	if len(reader.properties) == 0 || string(members["additionalProperties"]) == "false" { // which is an error of its own
		return ""
	}
	others := members["additionalProperties"] != nil || hasAny(members, elsewhere)
	for _, name := range slices.Sorted(maps.Keys(object)) {
		near := reader.near(name)
		_, known := reader.properties[name]
		switch {
		case known || near == "" && others:
		case near == "" || object[near] != nil:
			names = append(names, fmt.Sprintf("%q", plain.Clip(name, 40)))
		default:
			names = append(names, fmt.Sprintf("%q (did you mean %q?)", plain.Clip(name, 40), near))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("tool %q names no argument %s; it is sent all the same", tool, strings.Join(names, ", "))
}

// Unnamed returns the names of texts that the schema does not have, in quotes. A nil schema has all.
func (s *Schema) Unnamed(texts map[string]string) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if s != nil && s.properties[name] == nil {
			names = append(names, fmt.Sprintf("%q", plain.Clip(name, 40)))
		}
	}
	return names
}

// slips returns the faults of arguments that a schema does not name but that look like a slip:
// their names are nearly those of arguments that the object lacks, or lead into one ("at.x").
// open reports whether the schema still lets a server accept them. If the schema may name them
// in parts that are not read here, there are no such faults.
func slips(schema json.RawMessage, reader *Schema, object Object) (faults []host.Fault, open bool) {
	var members map[string]json.RawMessage
	lenient(schema, &members)
	if hasAny(members, elsewhere) {
		return nil, false
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		near := reader.near(name)
		if object[near] != nil {
			near = ""
		}
		if _, known := reader.properties[name]; !known && (near != "" || reader.member(name) != nil) {
			faults = append(faults, host.Fault{Kind: host.FaultUnknown, Pointer: pointerTo(name), Near: near})
		}
	}
	return faults, string(members["additionalProperties"]) != "false"
}

// missing returns the faults of arguments that a schema requires. It leaves out those that a
// slip in others probably means.
func (s *Schema) missing(object Object, others []host.Fault) (faults []host.Fault) {
	for _, name := range s.required {
		meant := slices.ContainsFunc(others, func(f host.Fault) bool {
			head, _, _ := strings.Cut(f.Path()[0], ".")
			return f.Near == name || f.Path()[0] == name || f.Near == "" && head == name
		})
		if _, known := s.properties[name]; known && object[name] == nil && !meant {
			faults = append(faults, host.Fault{Kind: host.FaultMissing, Pointer: pointerTo(name)})
		}
	}
	return faults
}

// member returns the path that a name with dots has in an argument that may be an object. It
// returns nil for any other name.
func (s *Schema) member(name string) []string {
	path := strings.Split(name, ".")
	types := s.Types(path[0])
	if len(path) > 1 && (slices.Contains(types, "object") || slices.Contains(types, "array")) {
		return path
	}
	return nil
}

// pointerTo is the pointer (RFC 6901) to an argument.
func pointerTo(name string) string {
	return "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}
