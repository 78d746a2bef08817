// Package crash knows the ways in which servers commonly fail to start, by what they wrote
// before they did. It reads text and starts nothing.
package crash

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/host/cleantext"
)

// Start is what is known of the start of a process that did not become a server.
type Start struct {
	Server string   // its name, as it is written in a configuration
	Stderr string   // what it wrote there, without secrets
	Stdout []string // the first lines on its stdout that were no message, without secrets
	Exited bool     // it ended by itself
	Clean  bool     // with status 0

	Gets  func(variable string) bool // the process was given it
	Shell func(variable string) bool // this process has it
}

// Cause is why a server did not start, and what to do about it.
type Cause struct {
	What     string   // a part of a sentence; "" where nothing is known
	Hint     string   // a line or a few; "" for nothing
	Known    bool     // another start would end in the same way
	Withheld []string // variables that it asked for, that the shell has and that it did not get
}

// Cause returns the first cause that fits.
func (s *Start) Cause() Cause {
	if names := s.withheld(); len(names) > 0 {
		return Cause{What: "it did not get " + strings.Join(names, ", "), Hint: s.passOn(names), Known: true, Withheld: names}
	}
	for _, k := range known() {
		m := k.says.FindStringSubmatch(s.Stderr)
		if m == nil {
			continue
		}
		name := ""
		for _, group := range m[1:] {
			if name == "" {
				name = cleantext.Line(group, longestName)
			}
		}
		if strings.Contains(k.what, "%s") && name == "" {
			continue
		}
		return Cause{What: filled(k.what, name), Hint: filled(k.hint, name), Known: true}
	}
	switch {
	case len(s.Stdout) > 0:
		c := Cause{What: "it wrote " + quoted(s.Stdout[0]) + " to stdout, where only messages of MCP may be"}
		c.Hint = "an MCP server over stdio writes everything else to stderr; does it need an argument to speak MCP, such as `stdio`?"
		return c
	case s.Exited && s.Clean && strings.TrimSpace(s.Stderr) == "":
		return Cause{What: "it ended without a word", Hint: "is it an MCP server over stdio? Such a server runs until its stdin ends"}
	}
	return Cause{}
}

const longestName = 200 // bytes of what a server names

// quoted shows a line of a server in quotes.
func quoted(line string) string { return `"` + cleantext.Line(line, longestName) + `"` }

func filled(text, name string) string { return strings.ReplaceAll(text, "%s", name) }

// passOn is the hint for variables that the shell has.
func (s *Start) passOn(names []string) string {
	var pairs []string
	for _, name := range names {
		pairs = append(pairs, fmt.Sprintf("%s = \"${%[1]s}\"", name))
	}
	return fmt.Sprintf("%s: set in your shell, but a server gets only the variables that its entry names; write in your configuration:\n[servers.%s]\nenv = { %s }",
		strings.Join(names, ", "), s.Server, strings.Join(pairs, ", "))
}

var variable = regexp.MustCompile(`\b[A-Z][A-Z0-9]*_[A-Z0-9_]*[A-Z0-9]\b`)

// withheld returns the variables in what the server said that it might have had.
func (s *Start) withheld() (names []string) {
	if s.Gets == nil || s.Shell == nil {
		return nil
	}
	for _, name := range variable.FindAllString(s.Stderr, -1) {
		if len(names) < 5 && !slices.Contains(names, name) && s.Shell(name) && !s.Gets(name) {
			names = append(names, name)
		}
	}
	return names
}

// Excerpt returns the lines of what a server wrote to its stderr that say most: the first and
// the last, without the frames of a stack trace.
func Excerpt(stderr string) string {
	const first, last = 6, 6
	var lines []string
	for line := range strings.Lines(strings.TrimSpace(stderr)) {
		if line = strings.TrimRight(line, " \t\r\n"); line != "" && !frame.MatchString(line) {
			lines = append(lines, line)
		}
	}
	if over := len(lines) - first - last; over > 1 {
		lines = slices.Replace(lines, first, first+over, fmt.Sprintf("… (%d lines)", over))
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// frame matches a line of a stack trace of Node.js.
var frame = regexp.MustCompile(`^\s+at .*(:\d+\)?|<anonymous>\)?|\(native\))( \{)?$`)
