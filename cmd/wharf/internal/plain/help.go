package plain

import (
	"strings"

	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

// described matches the start of a line of help that describes a flag or a command, up to
// its description.
var described = lazyregexp.New(`^ +\S.*?  +`)

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
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if line != "" && line[0] != ' ' {
			paragraph = append(paragraph, line)
			continue
		}
		fill()
		name := described.FindString(line)
		at := Width(name)
		if rest := continued(lines[i:], at, columns); len(rest) > 0 {
			line = strings.Join(append([]string{line}, rest...), " ")
			i += len(rest)
		}
		switch {
		case i > 0 && lines[i-1] == "Usage:":
			out.WriteString("  ")
			hang(&out, strings.TrimLeft(line, " "), 2, columns)
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

// continued returns the lines that continue the description of the first line, without their
// margin of at columns. It returns nothing unless the description has to be filled anew
// because one of its lines is too wide.
func continued(lines []string, at, columns int) (rest []string) {
	wide := Width(lines[0]) > columns
	for _, line := range lines[1:] {
		words := strings.TrimLeft(line, " ")
		if at == 0 || words == "" || len(line)-len(words) != at {
			break
		}
		wide = wide || Width(line) > columns
		rest = append(rest, words)
	}
	if !wide {
		return nil
	}
	return rest
}
