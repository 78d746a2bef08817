package plain

import (
	"regexp"
	"strings"
)

// described matches the start of a line of help that describes a flag or a command, up to
// its description.
var described = regexp.MustCompile(`^ +\S.*?  +`)

// Help wraps the help of a command to a number of columns; 0 wraps nothing. Paragraphs are
// filled anew, and descriptions stay right of what they describe. Other indented lines are
// examples, which are copied: the terminal breaks those.
func Help(text string, columns int) string {
	if columns <= 0 {
		return text
	}
	var out strings.Builder
	var paragraph []string
	fill := func() {
		for _, line := range paragraph {
			if Width(line) > columns {
				paragraph = WrapWords(strings.Join(paragraph, " "), columns)
				break
			}
		}
		for _, line := range paragraph {
			out.WriteString(line + "\n")
		}
		paragraph = nil
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if line != "" && line[0] != ' ' {
			paragraph = append(paragraph, line)
			continue
		}
		fill()
		name := described.FindString(line)
		switch at := Width(name); {
		case name == "" || Width(line) <= columns:
			out.WriteString(line + "\n")
		case columns-at >= describing:
			out.WriteString(name)
			hang(&out, line[len(name):], at, columns)
		default:
			out.WriteString(strings.TrimRight(name, " ") + "\n")
			inset(&out, line[len(name):], columns)
		}
	}
	fill()
	return out.String()
}
