package schema

import "github.com/wharf-mcp/wharf/host/internal/strictjson"

// Bare returns the text of a schema without what it says to people alone, which is
// most of many a schema: what is left compiles to the same, for whoever keeps it
// until then. The text is valid, and as deep as a message may be; it stays the
// caller's.
func Bare(text []byte) string {
	b := bare{Reader: strictjson.Read(text).Unbounded(), out: make([]byte, 0, len(text))}
	b.part()
	return string(b.out)
}

// forPeople has the members that are left out where they are strings, which they
// have to be.
var forPeople = map[string]bool{"title": true, "description": true, "$comment": true}

// bare copies a schema. It goes where references are expected to lead (see step)
// and copies all else as it is: what looks like a description may be a constant, or
// a property of that name.
type bare struct {
	*strictjson.Reader
	out []byte
}

// part copies a schema, or a list of them.
func (b *bare) part() {
	switch b.Kind() {
	case '{':
		b.object()
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

func (b *bare) object() {
	b.out = append(b.out, '{')
	for name := range b.Object() {
		if b.Kind() == '"' && forPeople[string(name)] {
			continue // the loop steps over it
		}
		b.name(name)
		switch tokens := step[string(name)]; {
		case tokens == 0:
			b.out = append(b.out, b.Raw()...)
		case tokens == 2 && b.Kind() == '{':
			b.named()
		default:
			b.part()
		}
	}
	b.out = append(b.out, '}')
}

// named copies schemas that have names, which say nothing of them.
func (b *bare) named() {
	b.out = append(b.out, '{')
	for name := range b.Object() {
		b.name(name)
		b.part()
	}
	b.out = append(b.out, '}')
}

// next separates what comes from what came before, unless that is the bracket.
func (b *bare) next(bracket byte) {
	if b.out[len(b.out)-1] != bracket {
		b.out = append(b.out, ',')
	}
}

func (b *bare) name(name []byte) {
	b.next('{')
	b.out = append(strictjson.AppendString(b.out, string(name)), ':')
}
