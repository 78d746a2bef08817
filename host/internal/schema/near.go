package schema

import (
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// suggest finds the names that were probably meant: for a property that is not
// known one that the schema knows and the value lacks, and for one that is missing
// one that the schema does not know. If the two are each other, that is said once.
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
		f.Near = nearest(name, candidates(f, given, known(root, f.by)))
		if f.Kind == Unknown && f.Near != "" {
			meant[pointer(append(parent, f.Near))] = true
		}
		f.by = ""
	}
	return slices.DeleteFunc(faults, func(f Fault) bool { return f.Kind == Missing && meant[f.Pointer] })
}

// known returns the names of the properties that the part of a schema which lies
// there knows.
func known(root *jsonschema.Schema, location string) map[string]bool {
	names := make(map[string]bool)
	parts, _ := collectParts(root) // has succeeded before
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

// free returns the names that the name of a fault could be a slip of.
func candidates(f *Fault, given map[string]any, known map[string]bool) []string {
	var names []string
	if f.Kind == Unknown {
		for name := range known {
			if _, taken := given[name]; !taken {
				names = append(names, name)
			}
		}
		return names
	}
	for _, name := range slices.Collect(maps.Keys(given)) {
		if !known[name] {
			names = append(names, name)
		}
	}
	return names
}

// Bounds of the search for a name.
const (
	maxName  = 64
	maxNames = 256
)

// nearest returns the name of those that is most like word, "" where none is.
func nearest(word string, names []string) string {
	slices.Sort(names)
	best, least := "", max(1, min(len(word)/3, 3))+1
	for _, name := range names[:min(len(names), maxNames)] {
		if len(word) > maxName || len(name) > maxName {
			continue
		}
		if d := distance(strings.ToLower(word), strings.ToLower(name)); d < least && d < max(len(word), len(name)) {
			best, least = name, d
		}
	}
	return best
}

// distance counts the letters to change, add or drop between two words, in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			changed := diagonal
			if a[i] != b[j] {
				changed++
			}
			diagonal = row[j+1]
			row[j+1] = min(changed, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
