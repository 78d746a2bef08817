package schema

import (
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/wharf-mcp/wharf/internal/nearest"
)

// suggest finds the names that were probably meant. For an unknown property it looks for a property
// that the schema knows and the value lacks. For a missing property it looks for a property that
// the schema does not know. It drops the fault of a missing property that is the suggestion for an
// unknown one.
func suggest(root *jsonschema.Schema, value any, faults []Fault) []Fault {
	meant := make(map[string]bool) // pointers to the properties
	for i := range faults {
		f := &faults[i]
		if f.Kind == Wrong {
			continue
		}
		tokens := f.Path()
		parent, name := tokens[:len(tokens)-1], tokens[len(tokens)-1]
		given, _ := find(value, parent).(map[string]any)
		properties := known(root, f.by)
		var names []string // the names that this one may be a slip of
		for property := range properties {
			if _, taken := given[property]; f.Kind == Unknown && !taken {
				names = append(names, property)
			}
		}
		for other := range given {
			if f.Kind == Missing && !properties[other] {
				names = append(names, other)
			}
		}
		f.Near = nearestTo(name, names)
		if f.Kind == Unknown && f.Near != "" {
			meant[pointer(append(parent, f.Near))] = true
		}
		f.by = ""
	}
	return slices.DeleteFunc(faults, func(f Fault) bool { return f.Kind == Missing && meant[f.Pointer] })
}

// known returns the names of the properties that a schema knows at a place: location is a pointer
// into the schema.
func known(root *jsonschema.Schema, location string) map[string]bool {
	names := make(map[string]bool)
	parts, _ := collectParts(root) // this call has succeeded before
	for _, part := range parts {
		if part.Location != location {
			continue
		}
		for name := range part.Properties {
			names[name] = true
		}
		for _, name := range part.Required {
			names[name] = true
		}
	}
	return names
}

// maxNames is how many names a word is compared with.
const maxNames = 256

// nearestTo returns the name that is most like a word: up to a third of its letters may
// be wrong, and no more than three.
func nearestTo(word string, names []string) string {
	slices.Sort(names)
	return nearest.Name(word, names[:min(len(names), maxNames)], max(1, min(len(word)/3, 3)))
}
