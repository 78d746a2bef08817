package schema

import (
	"fmt"
	"strings"
)

// Bounds of what the library compiles. It keeps a list of the parts, in which it
// looks each of them up from the start; it spells out where each of them lies;
// and for each reference into the blue it copies all that it knows.
const (
	maxParts = 2000
	maxPaths = 1 << 20 // bytes of all pointers to the parts
	oddPrice = 100     // parts that a reference to an odd place counts for
)

// survey makes sure that a document can be compiled within reason. It takes every
// object and every boolean for a part, and every $ref for a reference, in
// constants and examples too: a document that is over the bounds only with those
// is none that anybody would miss.
func survey(doc any) error {
	s := surveyor{parts: maxParts, paths: maxPaths, refs: make(map[string]bool)}
	s.visit(doc, 0)
	for ref := range s.refs {
		if !s.usual(ref) {
			s.parts -= oddPrice
		}
	}
	if s.parts < 0 || s.paths < 0 {
		return fmt.Errorf("it has more than %d parts or references", maxParts)
	}
	return nil
}

type surveyor struct {
	parts, paths int // that are left
	refs         map[string]bool
	old          bool // there is a part in a dialect that does not know $defs
}

// visit counts a value that lies behind a pointer of that length.
func (s *surveyor) visit(value any, path int) {
	switch v := value.(type) {
	case map[string]any:
		s.count(path)
		s.refer(v)
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

func (s *surveyor) count(path int) {
	s.parts--
	s.paths -= path
}

func (s *surveyor) refer(object map[string]any) {
	if ref, ok := object["$ref"].(string); ok {
		s.refs[ref] = true
	}
	dialect, _ := object["$schema"].(string)
	s.old = s.old || strings.Contains(dialect, "/draft-0")
}

// usual reports whether a reference leads to the whole, to an anchor, or along a
// pointer on which the dialects expect schemas.
func (s *surveyor) usual(ref string) bool {
	_, path, _ := strings.Cut(ref, "#")
	if !strings.HasPrefix(path, "/") {
		return true
	}
	tokens := strings.Split(path[1:], "/")
	for len(tokens) > 0 {
		n := step[tokens[0]]
		if n == 0 || n > len(tokens) || s.old && tokens[0] == "$defs" {
			return false
		}
		tokens = tokens[n:]
	}
	return true
}

// step has the keywords that lead to schemas, in the dialects that people write
// them in, and how many parts of a pointer that takes.
var step = map[string]int{
	"definitions": 2, "properties": 2, "patternProperties": 2, "allOf": 2, "anyOf": 2, "oneOf": 2,
	"additionalProperties": 1, "not": 1, "items": 1, "contains": 1, "propertyNames": 1,
	"if": 1, "then": 1, "else": 1, "$defs": 2,
}
