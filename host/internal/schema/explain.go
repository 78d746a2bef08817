package schema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// explain turns the library's errors into faults. The errors are a tree as deep as the schema,
// whose leaves repeat the value; the faults are a short list.
func explain(root *jsonschema.Schema, value any, e *jsonschema.ValidationError) *Mismatch {
	faults := explainer{value}.faults(e)
	if len(faults) == 0 {
		return mismatch(Fault{Want: "a value that fits the schema"})
	}
	slices.SortFunc(faults, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Pointer, b.Pointer), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Want, b.Want))
	})
	faults = slices.Compact(faults)
	m := &Mismatch{More: max(0, len(faults)-maxFaults)}
	m.Faults = suggest(root, value, slices.Clone(faults[:len(faults)-m.More]))
	return m
}

// explainer holds the value that the errors are about.
type explainer struct{ value any }

// faults returns the faults in a tree of errors.
func (x explainer) faults(e *jsonschema.ValidationError) (faults []Fault) {
	switch k := e.ErrorKind.(type) {
	case *kind.AnyOf:
		return x.choose(e)
	case *kind.OneOf:
		if len(k.Subschemas) == 0 {
			return x.choose(e)
		}
	case *kind.Required:
		return properties(e, Missing, k.Missing)
	case *kind.Dependency:
		return properties(e, Missing, k.Missing)
	case *kind.DependentRequired:
		return properties(e, Missing, k.Missing)
	case *kind.AdditionalProperties:
		return properties(e, Unknown, k.Properties)
	case *kind.PropertyNames:
		at := append(slices.Clip(e.InstanceLocation), k.Property)
		return []Fault{{Kind: Unknown, Pointer: pointer(at)}}
	case *kind.FalseSchema:
		return x.forbidden(e)
	case *kind.Contains, *kind.MinContains: // their causes are about items that need not fit
	default:
		for _, cause := range e.Causes {
			faults = append(faults, x.faults(cause)...)
		}
		if len(e.Causes) > 0 {
			return faults
		}
	}
	want, telling := wanted(e.ErrorKind)
	f := Fault{Pointer: pointer(e.InstanceLocation), Want: want}
	if telling {
		f.Got = describe(find(x.value, e.InstanceLocation))
	}
	if of, ok := e.ErrorKind.(*kind.Enum); ok {
		f.Got = another(f.Got, of.Want)
	}
	return []Fault{f}
}

// another turns "a string" into "another string" if one of the values that an enum wants is a string too, and so for each
// kind. got describes the value that was sent, as describe does.
func another(got string, wanted []any) string {
	words := strings.Fields(got)
	for _, value := range wanted {
		if kind := strings.Fields(describe(value)); len(words) > 1 && len(kind) > 1 && kind[1] == words[1] { // behind "a" or "an"
			return strings.Join(append([]string{"another"}, words[1:]...), " ")
		}
	}
	return got
}

// properties returns a fault of kind k for each of the names, which are properties of a value.
func properties(e *jsonschema.ValidationError, k Kind, names []string) (faults []Fault) {
	for _, name := range names {
		at := append(slices.Clip(e.InstanceLocation), name)
		faults = append(faults, Fault{Kind: k, Pointer: pointer(at), by: e.SchemaURL})
	}
	return faults
}

// forbidden returns the fault of a value where no value may be. If the value is a property, the
// schema does not know that property.
func (x explainer) forbidden(e *jsonschema.ValidationError) []Fault {
	at := e.InstanceLocation
	if len(at) == 0 {
		return []Fault{{Want: "nothing: no value fits"}}
	}
	if _, property := find(x.value, at[:len(at)-1]).(map[string]any); property {
		return []Fault{{Kind: Unknown, Pointer: pointer(at)}}
	}
	return []Fault{{Pointer: pointer(at), Want: "fewer items"}}
}

// choose explains that none of several alternatives fits. If the value belongs to one of
// them, choose says what is wrong with it there. If each wants another value in the same
// place, choose says that of all of them.
func (x explainer) choose(e *jsonschema.ValidationError) []Fault {
	var meant [][]Fault
	var wants []string
	for _, branch := range e.Causes {
		faults := x.faults(branch)
		if !x.foreign(branch, len(e.InstanceLocation)) {
			meant = append(meant, faults)
		}
		if len(faults) == 1 && faults[0].Kind == Wrong && faults[0].Pointer == pointer(e.InstanceLocation) {
			wants = append(wants, faults[0].Want)
		}
	}
	if len(meant) == 1 {
		return meant[0]
	}
	f := Fault{Pointer: pointer(e.InstanceLocation), Got: describe(find(x.value, e.InstanceLocation))}
	f.Want = fmt.Sprintf("one of %d alternatives", len(e.Causes))
	if len(wants) == len(e.Causes) {
		slices.Sort(wants)
		f.Want = list(slices.Compact(wants))
	}
	return []Fault{f}
}

// foreign reports whether a branch is for values of another kind: it wants another type, or another
// word in the member that distinguishes the branches.
func (x explainer) foreign(e *jsonschema.ValidationError, depth int) bool {
	switch e.ErrorKind.(type) {
	case *kind.Type:
		return len(e.InstanceLocation) == depth
	case *kind.Const, *kind.Enum:
		return len(e.InstanceLocation) <= depth+1
	case *kind.AnyOf, *kind.OneOf, *kind.Contains, *kind.MinContains:
		return false
	}
	return slices.ContainsFunc(e.Causes, func(cause *jsonschema.ValidationError) bool { return x.foreign(cause, depth) })
}

// wanted describes what a keyword requires, and reports whether a description of the value is worth
// adding.
func wanted(k jsonschema.ErrorKind) (want string, telling bool) {
	switch k := k.(type) {
	case *kind.Type:
		return types(k.Want), true
	case *kind.Enum:
		return words(k.Want), true
	case *kind.Const:
		return words([]any{k.Want}), true
	case *kind.Pattern:
		return "a string that matches " + quote(k.Want), true
	case *kind.Contains, *kind.MinContains, *kind.MaxContains:
		return "another number of items of a certain kind", false
	case *kind.UniqueItems:
		return fmt.Sprintf("items that differ; items %d and %d do not", k.Duplicates[0], k.Duplicates[1]), false
	case *kind.OneOf:
		return "a value that fits one alternative alone", false
	case *kind.Not:
		return "a value that the schema does not rule out", false
	case *kind.Minimum:
		return "at least " + number(k.Want), false
	case *kind.Maximum:
		return "at most " + number(k.Want), false
	case *kind.ExclusiveMinimum:
		return "more than " + number(k.Want), false
	case *kind.ExclusiveMaximum:
		return "less than " + number(k.Want), false
	case *kind.MultipleOf:
		return "a multiple of " + number(k.Want), false
	case *kind.MinLength:
		return "at least " + count(k.Want, "character", "characters"), true
	case *kind.MaxLength:
		return "at most " + count(k.Want, "character", "characters"), true
	case *kind.MinItems:
		return "at least " + count(k.Want, "item", "items"), true
	case *kind.MaxItems:
		return "at most " + count(k.Want, "item", "items"), true
	case *kind.AdditionalItems:
		return count(k.Count, "item", "items") + " less", true
	case *kind.MinProperties:
		return "at least " + count(k.Want, "property", "properties"), true
	case *kind.MaxProperties:
		return "at most " + count(k.Want, "property", "properties"), true
	}
	return "a value that fits the schema", true
}

// types joins types into a phrase.
func types(names []string) string {
	texts := make([]string, len(names))
	articles := map[string]string{"null": "", "integer": "an ", "array": "an ", "object": "an ", "number": "a ", "string": "a ", "boolean": "a "}
	for i, name := range names {
		texts[i] = articles[name] + name
	}
	return list(texts)
}

// words lists the values that a schema allows.
func words(values []any) string {
	texts := make([]string, len(values))
	for i, value := range values[:min(len(values), maxWords+1)] {
		switch v := value.(type) {
		case string:
			texts[i] = quote(v)
		case json.Number:
			texts[i] = clip(v.String(), maxQuote)
		case bool:
			texts[i] = strconv.FormatBool(v)
		case nil:
			texts[i] = "null"
		default:
			texts[i] = "a certain " + strings.Fields(describe(value))[1]
		}
	}
	return list(texts)
}

// maxWords is how many alternatives are named.
const maxWords = 12

func list(texts []string) string {
	if over := len(texts) - maxWords; over > 0 {
		return strings.Join(texts[:maxWords], ", ") + fmt.Sprintf(" or one of %d more", over)
	}
	if n := len(texts) - 1; n > 0 {
		return strings.Join(texts[:n], ", ") + " or " + texts[n]
	}
	return strings.Join(texts, "")
}

func number(n *big.Rat) string {
	if n.IsInt() {
		return clip(n.Num().String(), maxQuote)
	}
	f, _ := n.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// describe describes the kind of a value without quoting it.
func describe(value any) string {
	switch v := value.(type) {
	case map[string]any:
		return "an object of " + count(len(v), "property", "properties")
	case []any:
		return "an array of " + count(len(v), "item", "items")
	case string:
		return "a string of " + count(utf8.RuneCountInString(v), "character", "characters")
	case bool:
		return "a boolean"
	case nil:
		return "null"
	}
	return "a number"
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// find returns the value at a place, or nil.
func find(value any, path []string) any {
	for _, token := range path {
		switch v := value.(type) {
		case map[string]any:
			value = v[token]
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(v) {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}
