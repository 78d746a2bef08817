package schema

import (
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// The library validates without bounds: a kilobyte of anyOf keeps it busy for hours,
// and it has no context to cancel. This file gives it a budget through the one callback
// that it makes while it validates: the format.
//
// A compiled schema is a tree of parts (*jsonschema.Schema), one for each subschema. For
// each part and value, Validate works in this order:
//
//  1. type, const and enum;
//  2. format: it calls part.Format.Validate(value), if there is one;
//  3. everything else: $ref, allOf, anyOf, properties, items, pattern and so on, which
//     calls Validate of other parts.
//
// This package does not assert formats, so the callback is free. limitPart sets it on
// each part to a function that subtracts from the meter what step 3 of that part costs
// for that value: one step for each part that will see the same value, some for each
// member or item, and so on (costOf). When the meter is empty, the function returns an
// error. The library then regards the part as invalid and returns without step 3, and so
// does every other part that it still reaches: the whole validation ends soon, without a
// panic. Its result means nothing then, and Schema.validate reports ErrTooMuch instead.
//
// Step 1 comes before the callback, so it must take constant time, which the part that
// leads here has paid for. An enum or a const can be long. afterFormat moves those into
// a part of their own in allOf, which is step 3, and the result stays the same. It moves
// the type as well if there are unevaluated properties or items: the library then lists
// the members of the value before step 1, and a part that fails at step 1 would not pay
// for that.
//
// A recursive schema is no problem: a part that reaches itself by a smaller value pays
// each time. A part that reaches itself by the same value would recurse without end on
// the stack, so limit refuses it (maxChain).

// Steps. One takes between 50 and 500 ns, and up to 200 bytes until the next
// collection.
const (
	stepsToValidate = 1 << 18
	stepsToExplain  = 1 << 16 // errors take memory

	comparedPerStep = 8   // values of an enum
	copiedPerStep   = 256 // bytes of a string
	matchedPerStep  = 128 // instructions for a byte, in the worst case
)

// maxChain bounds how many nested parts of a schema may look at the same value. Together with the
// depth of a value it bounds the stack.
const maxChain = 64

// meter is the budget of one validation, in steps.
type meter struct{ left int }

func (m *meter) fill(steps int) { m.left = steps }
func (m *meter) empty() bool    { return m.left < 0 }

// spend takes steps from the meter, and reports whether it had that many.
func (m *meter) spend(steps int) bool {
	if m.left >= 0 {
		m.left -= steps
	}
	return m.left >= 0
}

var errNoStepsLeft = errors.New("no steps left")

// limit makes each part of the compiled schema spend steps of the meter. It fails for a
// schema that the meter cannot bound.
func (s *Schema) limit() error {
	parts, err := collectParts(s.root)
	if err != nil {
		return err
	}
	chains := make(map[*jsonschema.Schema]int)
	for _, part := range parts {
		if chainLength(part, chains) > maxChain {
			return errors.New("it refers to itself for ever, or nearly")
		}
	}
	for _, part := range parts {
		if err := s.limitPart(part); err != nil {
			return err
		}
	}
	return nil
}

// collectParts returns all parts, each once. It fails if a part lies outside of the
// schema or depends on dynamic references. It runs before anything is changed, because a
// part outside of the schema may be the library's own and shared with other schemas.
func collectParts(root *jsonschema.Schema) ([]*jsonschema.Schema, error) {
	parts, seen := []*jsonschema.Schema{root}, map[*jsonschema.Schema]bool{root: true}
	for i := 0; i < len(parts); i++ {
		part := parts[i]
		switch {
		case !strings.HasPrefix(part.Location, schemaURL+"#"):
			return nil, fmt.Errorf("it refers to %s, which is %w", quote(part.Location), errOutside)
		case part.DynamicRef != nil || part.RecursiveRef != nil:
			return nil, errors.New("it has dynamic references, which are not followed here")
		}
		for _, next := range append(sameValueParts(part), innerParts(part)...) {
			if next != nil && !seen[next] {
				seen[next] = true
				parts = append(parts, next)
			}
		}
	}
	return parts, nil
}

// chainLength returns how many nested parts, from part on, look at the same value, at most
// maxChain+1. It is maxChain+1 for a part that looks at the same value again through other parts.
func chainLength(part *jsonschema.Schema, known map[*jsonschema.Schema]int) int {
	if part == nil {
		return 0
	}
	if n, ok := known[part]; ok {
		return n
	}
	known[part] = maxChain + 1 // the result for a part that is reached again from itself
	longest := 0
	for _, next := range sameValueParts(part) {
		longest = max(longest, chainLength(next, known))
	}
	known[part] = min(longest, maxChain) + 1
	return known[part]
}

// sameValueParts returns the parts that see the same value as part. Some may be nil.
func sameValueParts(part *jsonschema.Schema) []*jsonschema.Schema {
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

// innerParts returns the parts that see members or items of the value that part sees.
func innerParts(part *jsonschema.Schema) []*jsonschema.Schema {
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

// addSchema adds a field that is a schema in some dialects, and something else in others.
func addSchema(list []*jsonschema.Schema, maybe any) []*jsonschema.Schema {
	if next, ok := maybe.(*jsonschema.Schema); ok {
		list = append(list, next)
	}
	return list
}

// limitPart makes a part spend steps. A pattern that was not compiled is removed
// from the part and noted in leftOut. In patternProperties it is an error instead:
// without it the part cannot tell which properties are additional.
func (s *Schema) limitPart(part *jsonschema.Schema) error {
	if lost, ok := part.Pattern.(unsupported); ok {
		part.Pattern = nil
		s.leftOut = append(s.leftOut, fmt.Sprintf("the pattern %s at %s", quote(lost.text), quote(strings.TrimPrefix(part.Location, schemaURL+"#"))))
	}
	for re := range part.PatternProperties {
		if lost, ok := re.(unsupported); ok {
			return fmt.Errorf("its pattern for the names of properties, %s, %s", quote(lost.text), lost.why)
		}
	}
	price := costOf(part)
	afterFormat(part)
	part.Format = &jsonschema.Format{Validate: func(v any) error {
		if s.meter.empty() || !s.meter.spend(price.of(v)) {
			return errNoStepsLeft
		}
		return nil
	}}
	return nil
}

// afterFormat moves enum and const, and sometimes the type, into a part in allOf, so that
// the library looks at them after the format (see the head of this file). It does not
// change which values are valid.
func afterFormat(part *jsonschema.Schema) {
	apart := &jsonschema.Schema{DraftVersion: part.DraftVersion, Location: part.Location, Enum: part.Enum, Const: part.Const}
	part.Enum, part.Const = nil, nil
	if part.UnevaluatedProperties != nil || part.UnevaluatedItems != nil {
		apart.Types, part.Types = part.Types, nil
	}
	if apart.Enum != nil || apart.Const != nil || apart.Types != nil {
		part.AllOf = append(part.AllOf[:len(part.AllOf):len(part.AllOf)], apart)
	}
}

// cost is what a part does with a value, in steps.
type cost struct {
	fixed  int
	each   int  // member or item
	unique bool // items are compared with each other
}

func costOf(part *jsonschema.Schema) cost {
	again := 0
	for _, next := range sameValueParts(part) {
		if next != nil {
			again++
		}
	}
	p := cost{fixed: 1 + again + len(part.Required)/comparedPerStep, unique: part.UniqueItems}
	p.each = 1 + again + len(part.PatternProperties)
	if part.PropertyNames != nil || part.Contains != nil {
		p.each++
	}
	if part.Enum != nil {
		p.fixed += compareCost(part.Enum.Values) / comparedPerStep
	}
	if part.Const != nil {
		p.fixed += compareCost(*part.Const) / comparedPerStep
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

func (p cost) of(value any) int {
	switch v := value.(type) {
	case map[string]any:
		return p.fixed + len(v)*p.each
	case []any:
		if p.unique {
			return p.fixed + len(v)*p.each + compareCost(v)*min(len(v), 20)
		}
		return p.fixed + len(v)*p.each
	case string:
		return p.fixed + len(v)/copiedPerStep
	}
	return p.fixed
}

// compareCost returns the steps that comparing a value takes: for its members, items and
// bytes.
func compareCost(value any) int {
	weight := 1
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			weight += len(name)/copiedPerStep + compareCost(member)
		}
	case []any:
		for _, item := range v {
			weight += compareCost(item)
		}
	case string:
		weight += len(v) / copiedPerStep
	}
	return weight
}
