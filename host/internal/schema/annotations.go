package schema

import "github.com/wharf-mcp/wharf/host/internal/strictjson"

// StripAnnotations returns the text of a schema without its titles, descriptions and comments,
// which are often most of it. The result compiles to the same schema. The text must be valid JSON,
// nested no deeper than a message may be. StripAnnotations does not keep it.
func StripAnnotations(text []byte) string {
	b := annotationStripper{Reader: strictjson.Read(text).Unbounded(), out: make([]byte, 0, len(text))}
	b.part()
	return string(b.out)
}

// annotations are the members that are removed if they are strings, as the dialects require.
var annotations = map[string]bool{"title": true, "description": true, "$comment": true}

// annotationStripper copies a schema without its annotations. It looks for them in the
// schema and in the values of schemaKeywords only: a member called description may be
// part of a constant, or a property of that name.
type annotationStripper struct {
	*strictjson.Reader
	out []byte
}

// part copies the next value to out. A schema, alone or in a list, loses its
// annotations; any other value is copied as it is.
func (b *annotationStripper) part() {
	switch b.Kind() {
	case '{':
		b.object(true)
	case '[':
		b.out = append(b.out, '[')
		for range b.Array() {
			b.next('[')
			b.part()
		}
		b.out = append(b.out, ']')
	default:
		b.out = append(b.out, b.Raw()...)
	}
}

// object copies an object: a schema, or a map of schemas, whose names are no keywords.
func (b *annotationStripper) object(isSchema bool) {
	b.out = append(b.out, '{')
	for name := range b.Object() {
		if isSchema && b.Kind() == '"' && annotations[string(name)] {
			continue // the loop steps over it
		}
		b.next('{')
		b.out = append(strictjson.AppendString(b.out, string(name)), ':')
		switch tokens := schemaKeywords[string(name)]; {
		case isSchema && tokens == 0:
			b.out = append(b.out, b.Raw()...)
		case isSchema && tokens == 2 && b.Kind() == '{':
			b.object(false)
		default:
			b.part()
		}
	}
	b.out = append(b.out, '}')
}

// next writes a comma, unless the text ends with the opening bracket.
func (b *annotationStripper) next(bracket byte) {
	if b.out[len(b.out)-1] != bracket {
		b.out = append(b.out, ',')
	}
}
