package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Fits reports whether a name fits a pattern. A "*" in the pattern stands for any characters.
func Fits(pattern, name string) bool {
	part, pattern, wild := strings.Cut(pattern, "*")
	if !wild {
		return part == name
	}
	name, fits := strings.CutPrefix(name, part)
	for fits {
		if part, pattern, wild = strings.Cut(pattern, "*"); !wild {
			return strings.HasSuffix(name, part)
		}
		_, name, fits = strings.Cut(name, part)
	}
	return false
}

// FitsAny reports whether one of these names fits a pattern.
func FitsAny(pattern string, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return Fits(pattern, name) })
}

// targets are the words before the patterns of things that are no tools.
var targets = map[string]Target{"prompt": Prompt, "resource": Resource}

// pattern is a pattern of a table.
type pattern struct {
	server string
	whole  bool // all of the server
	target Target
	name   string
}

// readPattern reads a pattern.
func readPattern(text string) (p pattern, err error) {
	word, rest, found := strings.Cut(text, ":")
	target, known := targets[word]
	switch {
	case !known:
		target, rest = Tool, text
		if slash := strings.Index(text, "/"); found && (slash < 0 || slash > len(word)) {
			return p, fmt.Errorf("%q: there is no %q; write server/tool, prompt:server/name, resource:server/uri or server", text, word+":")
		}
	case rest == "":
		return p, fmt.Errorf("%q names no server", text)
	}
	server, name, sliced := strings.Cut(rest, "/")
	switch {
	case server == "":
		return p, fmt.Errorf("%q names no server; write */… for any", text)
	case sliced && name == "":
		return p, fmt.Errorf("%q names nothing behind the /; write %q for all of it", text, text+"*")
	case !sliced && known:
		return p, fmt.Errorf("%q names nothing of the server; write %q for all of it", text, text+"/*")
	}
	return pattern{server: server, whole: !sliced, target: target, name: name}, nil
}

// ParseCall reads what is called from a text of the form of a pattern: "server/tool", "prompt:server/name" or
// "resource:server/uri".
func ParseCall(text string) (c Call, err error) {
	_, name, sliced := strings.Cut(text, "/")
	switch {
	case !sliced:
		return c, fmt.Errorf("%q has no / between a server and what of it is called", text)
	case name == "":
		return c, fmt.Errorf("%q names nothing of the server", text)
	}
	p, err := readPattern(text)
	switch {
	case err != nil:
		return c, err
	case strings.Contains(p.server, "*") || p.target != Resource && strings.Contains(p.name, "*"):
		return c, fmt.Errorf(`%q is a pattern; write what it stands for, without the "*"`, text)
	}
	return Call{Server: p.server, Target: p.target, Name: p.name}, nil
}

// matcher is a match of a table.
type matcher struct {
	kind      Kind   // "" is any
	local     bool   // only the user who runs the program
	name      string // a pattern of the client's name
	principal string // a pattern of a principal, who is not the user
}

var errMatch = errors.New(`expected "*", "local", "command", "bridge", "gateway", "control", "client:NAME" or "principal:NAME"`)

// readMatch reads a match.
func readMatch(text string) (m matcher, err error) {
	switch Kind(text) {
	case Command, Bridge, Gateway, Control:
		return matcher{kind: Kind(text)}, nil
	case "*":
		return m, nil
	case "local":
		return matcher{local: true}, nil
	}
	word, name, _ := strings.Cut(text, ":")
	switch {
	case name == "":
	case word == "client":
		return matcher{name: name}, nil
	case word == "principal":
		return matcher{principal: name}, nil
	}
	return m, fmt.Errorf("%q: %w", text, errMatch)
}

func (m matcher) fits(c *Caller) bool {
	switch {
	case m.kind != "":
		return c.Kind == m.kind
	case m.local:
		return c.Principal == ""
	case m.principal != "":
		return c.Principal != "" && Fits(m.principal, c.Principal)
	}
	return m.name == "" || Fits(m.name, c.Name)
}
