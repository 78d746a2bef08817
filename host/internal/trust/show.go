package trust

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Lines returns the facts of an entry that say something to a person, a line
// each. Nothing is cut, and nothing in them can move a cursor.
func (e Entry) Lines() []string {
	facts := slices.DeleteFunc(slices.Clone(e.Facts), func(f Fact) bool { return f.Hidden })
	facts = append(facts, Fact{Name: "hash", Values: []string{e.Hash()}})
	width := 0
	for _, f := range facts {
		width = max(width, utf8.RuneCountInString(Visible(f.Name)))
	}
	lines := make([]string, len(facts))
	for i, f := range facts {
		lines[i] = fmt.Sprintf("%-*s  %s", width, Visible(f.Name), Words(f.Values))
	}
	return lines
}

// String says what has changed, in a line that is safe to show.
func (d Difference) String() string {
	name := Visible(d.Name)
	switch {
	case d.Was == nil && d.Is == nil:
		return name
	case d.Was == nil && d.Unspoken:
		return name + " is new"
	case d.Is == nil && d.Unspoken:
		return name + " is gone"
	case d.Unspoken:
		return name + " is another"
	case d.Was == nil:
		return fmt.Sprintf("%s: %s (there was none)", name, Words(d.Is))
	case d.Is == nil:
		return fmt.Sprintf("%s: none (it was %s)", name, Words(d.Was))
	}
	return fmt.Sprintf("%s: %s (it was %s)", name, Words(d.Is), Words(d.Was))
}

// Names returns what the changes are in.
func Names(changes []Difference) string {
	names := make([]string, len(changes))
	for i, c := range changes {
		names[i] = Visible(c.Name)
	}
	return strings.Join(names, ", ")
}
