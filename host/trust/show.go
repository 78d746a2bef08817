package trust

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/config"
)

// Shown returns the facts that mean something to a person. Variables that make programs load
// code come first, because a long list may be cut. Arguments are as the process gets them.
func (e Entry) Shown() []Fact {
	facts := slices.DeleteFunc(slices.Clone(e.Facts), func(f Fact) bool { return f.Hidden })
	for i, f := range facts {
		switch f.Name {
		case "environment":
			facts[i].Values = byLoading(f.Values)
		case "arguments":
			facts[i].Values = config.Shown(f.Values...)
		}
	}
	return facts
}

// lines returns [Entry.Shown] and a hash as text, one fact a line. Nothing is cut, and nothing
// in the lines can move a cursor.
func (e Entry) lines(hash string) []string {
	facts := append(e.Shown(), Fact{Name: "hash", Values: []string{hash}})
	width := 0
	for _, f := range facts {
		width = max(width, utf8.RuneCountInString(cleantext.Visible(f.Name)))
	}
	lines := make([]string, len(facts))
	for i, f := range facts {
		lines[i] = fmt.Sprintf("%-*s  %s", width, cleantext.Visible(f.Name), f.text())
	}
	return lines
}

// text returns the values of a fact as one text, in which a person can tell words apart.
func (f Fact) text() string {
	text, _ := f.Text(0)
	return text
}

// Text returns the values as one line that is safe to show, with quotes around those that would
// not read as one word. It has at most limit bytes of each value, and four times as many of all
// together. left is the number of bytes that are missing. A limit of 0 cuts nothing.
func (f Fact) Text(limit int) (text string, left int) {
	values := make([]string, 0, len(f.Values))
	room := 4 * limit
	for _, value := range f.Values {
		part := value
		if limit > 0 {
			part = cleantext.Cut(value, min(limit, room))
			room -= len(part) + 1
		}
		left += len(value) - len(part)
		switch {
		case room < 0 && part == "":
			continue
		case part != value:
			part += "…"
		}
		values = append(values, part)
	}
	if f.List {
		return cleantext.Words(values), left
	}
	return cleantext.Visible(strings.Join(values, " ")), left
}

// String describes the change in a line that is safe to show.
func (d Difference) String() string {
	name := cleantext.Visible(d.Name())
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

// changeNames returns the names of the facts that changed.
func changeNames(changes []Difference) string {
	names := make([]string, len(changes))
	for i, c := range changes {
		names[i] = cleantext.Visible(c.Name())
	}
	return strings.Join(names, ", ")
}
