package args

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
)

// Example is a word for the command line that gives the argument a value of its type. A
// value that only the person knows is "…". An object has the members that it must have, and
// an array of objects has one of them.
func (s *Schema) Example(p Property) string {
	value := s.example(p, nil, exampleDepth)
	var text string
	switch known := p.Default != nil || len(p.Enum) > 0 && !slices.Contains(p.Types, "array"); {
	case !Assignable(p.Name):
		return plain.ShellWord(objectOf(p.Name, value))
	case value[0] == '"' && json.Unmarshal(value, &text) == nil && !strings.HasPrefix(text, "@"):
		return plain.ShellWord(p.Name + "=" + text)
	case known:
		return plain.ShellWord(p.Name + ":=" + string(value))
	}
	return plain.ShellWord(p.Name + "=" + string(value))
}

// Examples are the words for the command line that give the arguments which the schema requires, and those of its
// first alternative. One object holds those that no word can give.
func (s *Schema) Examples() (words []string) {
	names := slices.Clone(s.required)
	if len(s.either) > 0 {
		names = append(names, s.either[0]...)
	}
	var members []string
	done := make(map[string]bool)
	for _, name := range names {
		switch p := s.about(name); {
		case done[name]:
		case Assignable(name):
			words = append(words, s.Example(p))
		default:
			members = append(members, plain.Quote(name)+":"+string(s.example(p, nil, exampleDepth)))
		}
		done[name] = true
	}
	if len(members) > 0 {
		words = append(words, plain.ShellWord("{"+strings.Join(members, ",")+"}"))
	}
	return words
}

// alternatives is a hint at what else is required: the arguments that each alternative lacks. It is "" if one has all of
// its arguments, or if there is none.
func (s *Schema) alternatives(given Object) string {
	var all []string
	for _, names := range s.either {
		var words []string
		for _, name := range names {
			if _, has := given[name]; !has {
				words = append(words, s.Example(s.about(name)))
			}
		}
		if len(words) == 0 {
			return ""
		}
		all = append(all, strings.Join(words, " "))
	}
	if len(all) == 0 {
		return ""
	}
	return "write " + strings.Join(all, ", or ")
}

// exampleWith returns an example of an argument whose value has the member at path. path begins
// with the name of the argument.
func (s *Schema) exampleWith(path []string) string {
	p := s.about(path[0])
	if len(path) == 1 {
		return s.Example(p)
	}
	value := s.example(p, path[1:], exampleDepth)
	if !Assignable(p.Name) {
		return plain.ShellWord(objectOf(p.Name, value))
	}
	return plain.ShellWord(p.Name + "=" + string(value))
}

// An example nests objects at most exampleDepth deep, and has at most exampleBytes bytes.
const (
	exampleDepth = 4
	exampleBytes = 1000
)

// example is a value that a property may have, if possible with the member at a path in it.
func (s *Schema) example(p Property, path []string, depth int) json.RawMessage {
	isArray := slices.Contains(p.Types, "array")
	switch {
	case len(p.Enum) > 0 && (!isArray || p.Enum[0][0] == '['):
		return p.Enum[0]
	case p.Default != nil && len(path) == 0:
		return p.Default
	case slices.Contains(p.Types, "string") && len(path) == 0 || len(p.Types) == 0:
		return json.RawMessage(`"…"`)
	case slices.Contains(p.Types, "number"):
		return json.RawMessage(p.bounds.example(false))
	case slices.Contains(p.Types, "integer"):
		return json.RawMessage(p.bounds.example(true))
	case slices.Contains(p.Types, "boolean"):
		return json.RawMessage("true")
	case slices.Contains(p.Types, "null") && (len(p.Types) == 1 || depth < exampleDepth && len(path) == 0): // such as the next of a list
		return json.RawMessage("null")
	case isArray:
		return s.exampleArray(p, path, depth)
	}
	return json.RawMessage(cmp.Or(s.exampleObject(p, path, depth), s.exampleMap(p, depth)))
}

// example returns a number within the bounds, or 1 if that is hard to find.
func (l limits) example(whole bool) string {
	bound := func(n json.Number, without float64) float64 {
		if f, err := n.Float64(); err == nil {
			return f
		}
		return without
	}
	least, most := bound(l.Minimum, math.Inf(-1)), bound(l.Maximum, math.Inf(1))
	above, below := bound(l.ExclusiveMinimum, math.Inf(-1)), bound(l.ExclusiveMaximum, math.Inf(1))
	step := math.Abs(bound(l.MultipleOf, 0))
	from, to := max(least, above), min(most, below)
	candidates := []float64{1, from, to, math.Ceil(from), math.Floor(to), from + 1, to - 1, (from + to) / 2}
	if step > 0 {
		candidates = []float64{step, math.Ceil(from/step) * step, math.Floor(to/step) * step, (math.Floor(from/step) + 1) * step, 0}
	}
	for _, f := range candidates {
		if f >= least && f <= most && f > above && f < below && (!whole || f == math.Trunc(f)) && math.Abs(f) < 1<<53 {
			return strconv.FormatFloat(f, 'f', -1, 64)
		}
	}
	return "1"
}

// exampleItems is the most items that an example has because the schema wants so many.
const exampleItems = 8

// exampleArray returns an example array. It has one item, or as many as the schema wants; an array whose items the
// schema does not describe may have none.
func (s *Schema) exampleArray(p Property, path []string, depth int) json.RawMessage {
	if depth == 0 {
		return json.RawMessage("[]")
	}
	node := s.inside(p.schema, func(n *insides) bool { return n.Items != nil || n.PrefixItems != nil || n.MinItems != "" })
	least, _ := node.MinItems.Int64()
	if node.Items != nil {
		least = max(least, 1)
	}
	var items []string
	for i := range min(max(least, int64(len(node.PrefixItems))), exampleItems) {
		item := node.Items
		if i < int64(len(node.PrefixItems)) {
			item = node.PrefixItems[i]
		}
		of := s.of(item)
		if int(i) < len(of.Enum) {
			of.Enum = of.Enum[i:] // another one each time, for items that have to differ
		}
		text := string(s.example(of, path, depth-1))
		if node.UniqueItems && slices.Contains(items, text) {
			text = another(text, int(i))
		}
		items = append(items, text)
	}
	if text := "[" + strings.Join(items, ",") + "]"; len(text) <= exampleBytes {
		return json.RawMessage(text)
	}
	return json.RawMessage("[]")
}

// another returns a value of the same type as one that is there already, for the item at an index.
func another(text string, at int) string {
	if number, err := strconv.ParseFloat(text, 64); err == nil {
		return strconv.FormatFloat(number+float64(at), 'f', -1, 64)
	}
	switch text {
	case "true":
		return "false"
	case `"…"`:
		return plain.Quote("…" + strconv.Itoa(at+1))
	}
	return text
}

// exampleMap returns an example of an object whose members the schema does not name.
func (s *Schema) exampleMap(p Property, depth int) string {
	if depth == 0 {
		return "{}"
	}
	node := s.inside(p.schema, func(n *insides) bool { return n.MinProperties != "" })
	least, _ := node.MinProperties.Int64()
	var members []string
	for i := range min(least, exampleItems) {
		name := "…"
		if i > 0 {
			name += strconv.FormatInt(i+1, 10)
		}
		members = append(members, plain.Quote(name)+":"+string(s.example(s.of(node.Others), nil, depth-1)))
	}
	return "{" + strings.Join(members, ",") + "}"
}

// insides are the keywords for what an array or an object has in it.
type insides struct {
	Items         json.RawMessage   `json:"items"`
	PrefixItems   []json.RawMessage `json:"prefixItems"`
	MinItems      json.Number       `json:"minItems"`
	UniqueItems   bool              `json:"uniqueItems"`
	Others        json.RawMessage   `json:"additionalProperties"`
	MinProperties json.Number       `json:"minProperties"`
	Ref           string            `json:"$ref"`
	AllOf         []json.RawMessage `json:"allOf"`
	AnyOf         []json.RawMessage `json:"anyOf"`
	OneOf         []json.RawMessage `json:"oneOf"`
}

// inside returns the first schema that is wanted, of one and of those that it refers to or is a union of. It returns
// an empty one if there is none.
func (s *Schema) inside(schema json.RawMessage, wanted func(*insides) bool) *insides {
	next := []json.RawMessage{schema}
	for len(next) > 0 {
		if s.budget -= schemaPrice + len(next[0]); s.budget < 0 {
			break
		}
		node := new(insides)
		lenient(next[0], node)
		if wanted(node) {
			return node
		}
		next = slices.Concat(next[1:], node.AllOf, node.AnyOf, node.OneOf)
		if node.Ref != "" {
			next = append(next, s.resolve(node.Ref))
		}
	}
	return new(insides)
}

// exampleObject returns an example object for a property. It has the members that one of its
// forms requires, and the member at path; the form is the first that has this member. The result
// is "" if the schema names no member, or if the object would be too long.
func (s *Schema) exampleObject(p Property, path []string, depth int) string {
	forms := s.Forms(p)
	if len(forms) == 0 || depth == 0 {
		return ""
	}
	hasMember := func(form []Property, name string) bool {
		return slices.ContainsFunc(form, func(p Property) bool { return p.Name == name })
	}
	form := forms[0]
	for len(path) > 0 {
		if at := slices.IndexFunc(forms, func(form []Property) bool { return hasMember(form, path[0]) }); at >= 0 {
			form = forms[at]
			break
		}
		path = path[1:] // the place in an array
	}
	var members []string
	for _, member := range form {
		var rest []string
		if len(path) > 0 && member.Name == path[0] {
			rest = path[1:]
		} else if !member.Required {
			continue
		}
		members = append(members, plain.Quote(member.Name)+":"+string(s.example(member, rest, depth-1)))
	}
	if object := "{" + strings.Join(members, ",") + "}"; len(object) <= exampleBytes {
		return object
	}
	return ""
}
