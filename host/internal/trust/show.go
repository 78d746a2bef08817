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
		lines[i] = fmt.Sprintf("%-*s  %s", width, Visible(f.Name), f.text())
	}
	return lines
}

// text returns the values, so that they can be told apart where they are words.
func (f Fact) text() string {
	if f.List {
		return Words(f.Values)
	}
	return Visible(strings.Join(f.Values, " "))
}

// String says what has changed, in a line that is safe to show.
func (d Difference) String() string {
	name := Visible(d.Name())
	hidden := d.Was != nil && d.Was.Hidden || d.Is != nil && d.Is.Hidden
	switch {
	case hidden && d.Was == nil:
		return name + " is new"
	case hidden && d.Is == nil:
		return name + " is gone"
	case hidden:
		return name + " is another"
	case d.Was == nil:
		return fmt.Sprintf("%s: %s (there was none)", name, d.Is.text())
	case d.Is == nil:
		return fmt.Sprintf("%s: none (it was %s)", name, d.Was.text())
	}
	return fmt.Sprintf("%s: %s (it was %s)", name, d.Is.text(), d.Was.text())
}

// Names returns what the changes are in.
func Names(changes []Difference) string {
	names := make([]string, len(changes))
	for i, c := range changes {
		names[i] = Visible(c.Name())
	}
	return strings.Join(names, ", ")
}
