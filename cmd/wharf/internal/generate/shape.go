package generate

// kind is the kind of a shape's values.
type kind int

const (
	unknown kind = iota // any value
	boolean
	integer
	number
	text
	list       // of items
	dictionary // of items by name
	object     // of members, a declared type
	choice     // one of a few texts, a declared type
	union      // one of branches
	reference  // another shape, which is declared
)

// shape is what a schema says of a value, as far as types can say it. If nullable is set, the
// value may also be null.
type shape struct {
	kind     kind
	nullable bool
	about    string

	name     string   // of an object or a choice: the identifier that is declared
	items    *shape   // of a list or a dictionary; of an object: of further members, or nil
	members  []member // of an object
	values   []string // of a choice
	branches []*shape // of a union

	to        *shape // of a reference
	recursive bool   // of an object: it refers to itself
	sent      bool   // it is a part of arguments, and not of a result
}

// member is a member of an object.
type member struct {
	name     string // as it is in JSON
	about    string
	required bool
	shape    *shape
}

// target returns the shape that a reference leads to, or s if it is no reference.
func (s *shape) target() *shape {
	if s.kind == reference {
		return s.to
	}
	return s
}

// isEmpty reports whether an object has no members at all.
func (s *shape) isEmpty() bool {
	return s.kind == object && len(s.members) == 0 && s.items == nil
}
