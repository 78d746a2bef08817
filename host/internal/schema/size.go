package schema

import (
	"fmt"
	"strings"
)

// Bounds of what the library compiles. It searches a list of all parts for each part; it
// stores the pointer to each part as text; and for each reference that does not lead to a
// known part it copies all parts that it has.
const (
	maxParts   = 2000
	maxPaths   = 1 << 20 // bytes of all pointers to the parts
	oddRefCost = 100     // how many parts a reference counts for that leads to no place for schemas
)

// checkSize makes sure that a document can be compiled within bounds. It counts every
// object and every boolean as a part, and every $ref as a reference, in constants and
// examples too, so it overestimates.
func checkSize(doc any) error {
	s := sizeCheck{parts: maxParts, paths: maxPaths, refs: make(map[string]bool)}
	s.visit(doc, 0)
	for ref := range s.refs {
		if !s.leadsToSchema(ref) {
			s.parts -= oddRefCost
		}
	}
	if s.parts < 0 || s.paths < 0 {
		return fmt.Errorf("it has more than %d parts or references", maxParts)
	}
	return nil
}

type sizeCheck struct {
	parts, paths int // how many are left
	refs         map[string]bool
	old          bool // a part has a dialect that does not know $defs
}

// visit counts a value. path is the length of the pointer to it.
func (s *sizeCheck) visit(value any, path int) {
	switch v := value.(type) {
	case map[string]any:
		s.count(path)
		if ref, ok := v["$ref"].(string); ok {
			s.refs[ref] = true
		}
		dialect, _ := v["$schema"].(string)
		s.old = s.old || strings.Contains(dialect, "/draft-0")
		for name, member := range v {
			s.visit(member, path+len(name)+1)
		}
	case []any:
		for _, item := range v {
			s.visit(item, path+len("/9999"))
		}
	case bool:
		s.count(path)
	}
}

func (s *sizeCheck) count(path int) {
	s.parts--
	s.paths -= path
}

// leadsToSchema reports whether a reference leads to the whole document, to an anchor, or
// along a pointer on which the dialects expect schemas.
func (s *sizeCheck) leadsToSchema(ref string) bool {
	_, path, _ := strings.Cut(ref, "#")
	if !strings.HasPrefix(path, "/") {
		return true
	}
	tokens := strings.Split(path[1:], "/")
	for len(tokens) > 0 {
		n := schemaKeywords[tokens[0]]
		if n == 0 || n > len(tokens) || s.old && tokens[0] == "$defs" {
			return false
		}
		tokens = tokens[n:]
	}
	return true
}

// schemaKeywords are the keywords whose values are schemas, in the common dialects, with
// the number of pointer tokens that lead to one.
var schemaKeywords = map[string]int{
	"definitions": 2, "properties": 2, "patternProperties": 2, "allOf": 2, "anyOf": 2, "oneOf": 2,
	"additionalProperties": 1, "not": 1, "items": 1, "contains": 1, "propertyNames": 1,
	"if": 1, "then": 1, "else": 1, "$defs": 2,
}
