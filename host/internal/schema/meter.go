package schema

import (
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// The library validates without bounds: a kilobyte of anyOf keeps it busy for
// hours. But before it looks into a value it asks the format of the schema at
// hand, and formats are not asserted here. So each part of a compiled schema gets
// a format that pays for what the part is about to do with the value: for the
// parts that see the same value again, for those that see pieces of it, for
// comparing. With nothing left to pay, a format fails, and that stops the library
// at every part it still comes to: it finds its way out at once, without a panic,
// and what it says then is thrown away.
//
// What a part does before its format is asked takes constant time, and whoever
// leads to it has paid for it. Where that is not so, what comes first is moved into
// a part of its own: an enum, a const, and the type where the library has by then
// listed the members of the value, to see which will be left unevaluated.

// Steps. One takes between 50 and 500 ns, and up to 200 bytes until the next
// collection.
const (
	stepsToJudge   = 1 << 18
	stepsToExplain = 1 << 16 // errors take memory

	comparedPerStep = 8   // values of an enum
	copiedPerStep   = 256 // bytes of a string
	matchedPerStep  = 128 // instructions for a byte, in the worst case
)

// maxChain bounds how many parts may look at the same value within each other.
// Together with the depth of a value it bounds the stack.
const maxChain = 64

// meter counts down the steps of one check.
type meter struct{ left int }

func (m *meter) fill(steps int) { m.left = steps }
func (m *meter) empty() bool    { return m.left < 0 }

// spend reports whether there was that much left.
func (m *meter) spend(steps int) bool {
	if m.left >= 0 {
		m.left -= steps
	}
	return m.left >= 0
}

var errSpent = errors.New("no steps left")

// fit makes sure that the compiled schema is bounded, and puts the meter in.
func (s *Schema) fit() error {
	parts, err := gather(s.root)
	if err != nil {
		return err
	}
	chains := make(map[*jsonschema.Schema]int)
	for _, part := range parts {
		if chain(part, chains) > maxChain {
			return errors.New("it refers to itself for ever, or nearly")
		}
	}
	for _, part := range parts {
		if err := s.fitPart(part); err != nil {
			return err
		}
	}
	return nil
}

// gather returns all parts, and fails where one of them lies elsewhere or cannot
// be foreseen. Nothing must be changed before: the library lends out its own.
func gather(root *jsonschema.Schema) ([]*jsonschema.Schema, error) {
	parts, seen := []*jsonschema.Schema{root}, map[*jsonschema.Schema]bool{root: true}
	for i := 0; i < len(parts); i++ {
		part := parts[i]
		switch {
		case !strings.HasPrefix(part.Location, home+"#"):
			return nil, fmt.Errorf("it refers to %s, which is %w", quote(part.Location), errOutside)
		case part.DynamicRef != nil || part.RecursiveRef != nil:
			return nil, errors.New("it has dynamic references, which are not followed here")
		}
		for _, next := range append(same(part), pieces(part)...) {
			if next != nil && !seen[next] {
				seen[next] = true
				parts = append(parts, next)
			}
		}
	}
	return parts, nil
}

// chain returns how many parts see a value one within the other, from part on. A
// part that comes back to itself has a chain without end.
func chain(part *jsonschema.Schema, known map[*jsonschema.Schema]int) int {
	if part == nil {
		return 0
	}
	if n, ok := known[part]; ok {
		return n
	}
	known[part] = maxChain + 1 // for whoever comes here again before it is known
	longest := 0
	for _, next := range same(part) {
		longest = max(longest, chain(next, known))
	}
	known[part] = min(longest, maxChain) + 1
	return known[part]
}

// same returns the parts that see the same value as part. Some may be nil.
func same(part *jsonschema.Schema) []*jsonschema.Schema {
	list := []*jsonschema.Schema{part.Ref, part.Not, part.If, part.Then, part.Else}
	list = append(list, part.AllOf...)
	list = append(list, part.AnyOf...)
	list = append(list, part.OneOf...)
	for _, next := range part.DependentSchemas {
		list = append(list, next)
	}
	for _, next := range part.Dependencies {
		list = addSchema(list, next)
	}
	return list
}

// pieces returns the parts that see pieces of the value that part sees.
func pieces(part *jsonschema.Schema) []*jsonschema.Schema {
	list := []*jsonschema.Schema{part.PropertyNames, part.Contains, part.Items2020, part.UnevaluatedItems, part.UnevaluatedProperties, part.ContentSchema}
	list = append(list, part.PrefixItems...)
	for _, next := range part.Properties {
		list = append(list, next)
	}
	for _, next := range part.PatternProperties {
		list = append(list, next)
	}
	if items, ok := part.Items.([]*jsonschema.Schema); ok {
		list = append(list, items...)
	}
	for _, next := range []any{part.Items, part.AdditionalItems, part.AdditionalProperties} {
		list = addSchema(list, next)
	}
	return list
}

// addSchema adds what may be a schema, and is something else in some dialects.
func addSchema(list []*jsonschema.Schema, maybe any) []*jsonschema.Schema {
	if next, ok := maybe.(*jsonschema.Schema); ok {
		list = append(list, next)
	}
	return list
}

// fitPart puts the meter into a part. Where one of its patterns could not be read,
// that is noted and left out; without a pattern for the names of properties there
// is no telling which of them are too many.
func (s *Schema) fitPart(part *jsonschema.Schema) error {
	if lost, ok := part.Pattern.(unread); ok {
		part.Pattern = nil
		s.leftOut = append(s.leftOut, fmt.Sprintf("the pattern %s at %s", quote(string(lost)), quote(strings.TrimPrefix(part.Location, home+"#"))))
	}
	for re := range part.PatternProperties {
		if lost, ok := re.(unread); ok {
			return fmt.Errorf("its pattern for the names of properties, %s, cannot be read", quote(string(lost)))
		}
	}
	price := priceOf(part)
	setApart(part)
	part.Format = &jsonschema.Format{Validate: func(v any) error {
		if s.meter.empty() || !s.meter.spend(price.of(v)) {
			return errSpent
		}
		return nil
	}}
	return nil
}

// setApart moves what must be paid for, and comes before formats are asked, into a
// part that is only reached after it. It makes no difference to what is valid.
func setApart(part *jsonschema.Schema) {
	apart := &jsonschema.Schema{DraftVersion: part.DraftVersion, Location: part.Location, Enum: part.Enum, Const: part.Const}
	part.Enum, part.Const = nil, nil
	if part.UnevaluatedProperties != nil || part.UnevaluatedItems != nil {
		apart.Types, part.Types = part.Types, nil
	}
	if apart.Enum != nil || apart.Const != nil || apart.Types != nil {
		part.AllOf = append(part.AllOf[:len(part.AllOf):len(part.AllOf)], apart)
	}
}

// price is what a part does with a value, in steps.
type price struct {
	fixed  int
	each   int  // member or item
	unique bool // items are compared with each other
}

func priceOf(part *jsonschema.Schema) price {
	again := 0
	for _, next := range same(part) {
		if next != nil {
			again++
		}
	}
	p := price{fixed: 1 + again + len(part.Required)/comparedPerStep, unique: part.UniqueItems}
	p.each = 1 + again + len(part.PatternProperties)
	if part.PropertyNames != nil || part.Contains != nil {
		p.each++
	}
	if part.Enum != nil {
		p.fixed += weigh(part.Enum.Values) / comparedPerStep
	}
	if part.Const != nil {
		p.fixed += weigh(*part.Const) / comparedPerStep
	}
	for _, names := range part.DependentRequired {
		p.fixed += 1 + len(names)/comparedPerStep
	}
	for _, names := range part.Dependencies {
		if list, ok := names.([]string); ok {
			p.fixed += 1 + len(list)/comparedPerStep
		}
	}
	return p
}

func (p price) of(value any) int {
	switch v := value.(type) {
	case map[string]any:
		return p.fixed + len(v)*p.each
	case []any:
		if p.unique {
			return p.fixed + len(v)*p.each + weigh(v)*min(len(v), 20)
		}
		return p.fixed + len(v)*p.each
	case string:
		return p.fixed + len(v)/copiedPerStep
	}
	return p.fixed
}

// weigh returns what it takes to compare a value: its members, items and bytes.
func weigh(value any) int {
	weight := 1
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			weight += len(name)/copiedPerStep + weigh(member)
		}
	case []any:
		for _, item := range v {
			weight += weigh(item)
		}
	case string:
		weight += len(v) / copiedPerStep
	}
	return weight
}
