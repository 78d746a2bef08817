package amend

import (
	"fmt"
	"strings"

	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/config/tomledit"
)

// Lines describe an entry to a person who is to agree to it: all of it as it stands in a file, what its
// use does, and what is to be careful about.
func Lines(s config.Server) ([]string, error) {
	text, err := tomledit.Text(tomledit.Server(s))
	if err != nil {
		return nil, err
	}
	lines := indented(text)
	what, argv := Effect(s)
	lines = append(lines, what)
	for i, word := range argv {
		name := "command"
		if i > 0 {
			name = fmt.Sprintf("%7d", i)
		}
		lines = append(lines, "  "+name+"  "+cleantext.Word(word))
	}
	for _, caution := range Cautions(s) {
		lines = append(lines, "! "+caution)
	}
	return lines, nil
}

// Effect says in a sentence what the use of an entry does. If that runs a command, argv is it with its
// arguments, as the process gets them.
func Effect(s config.Server) (what string, argv []string) {
	switch {
	case s.Command != "":
		return "It runs this on your machine, as you, with these arguments:", config.Shown(append([]string{s.Command}, s.Args...)...)
	case strings.Contains(s.URL, "$"):
		return "It sends requests to the url above, with the variables filled in.", nil
	case s.URL != "":
		site, _ := siteOf(s.URL)
		return fmt.Sprintf("It sends requests to %s.", site), nil
	case s.Address != "":
		return fmt.Sprintf("The plugin %s connects to %s.", cleantext.Visible(s.Via()), cleantext.Visible(s.Address)), nil
	}
	return fmt.Sprintf("It uses the plugin %s.", cleantext.Visible(s.Via())), nil
}

// Cautions are what a person should know of an entry before they agree to it, beside what it does.
func Cautions(s config.Server) (cautions []string) {
	add := func(format string, a ...any) { cautions = append(cautions, fmt.Sprintf(format, a...)) }
	if s.URL != "" && !strings.Contains(s.URL, "$") {
		if _, warning := siteOf(s.URL); warning != "" {
			add("%s", warning)
		}
	}
	if len(s.Auth.Command) > 0 {
		add("to sign in, it also runs on your machine: %s", cleantext.Words(s.Auth.Command))
	}
	if len(s.Sampler) > 0 {
		add("where it asks for a model, it also runs on your machine: %s", cleantext.Words(s.Sampler))
	}
	for _, where := range s.PlainSecrets() {
		add("%s looks like a secret and is in the file as it is; `wharf auth secret NAME` keeps it in the vault, and \"${secret:NAME}\" means it", cleantext.Line(where, maxPlace))
	}
	if at := s.Script(); at >= 0 {
		add("%s is looked for in the folder that wharf is started in; write its whole path, unless that is meant", cleantext.Word(s.Args[at]))
	}
	return cautions
}

// siteOf is [cleantext.Site] for the url of an entry, which may be that of a socket or of a WebSocket.
func siteOf(address string) (site, warning string) {
	scheme, rest, _ := strings.Cut(address, ":")
	switch strings.ToLower(scheme) {
	case "unix":
		path, _, _ := strings.Cut(strings.TrimPrefix(rest, "//"), "#")
		return "the socket " + cleantext.Visible(path), ""
	case "wss":
		address = "https:" + rest
	}
	return cleantext.Site(address)
}

// maxPlace is how much of the place of a secret is shown.
const maxPlace = 80

// Unset returns the variables that an entry needs and that are not set.
func Unset(s config.Server, lookup func(string) (string, bool)) (names []string) {
	for _, variable := range s.Variables() {
		if _, set := lookup(variable); set {
			continue
		}
		if s.CheckVariables(func(name string) (string, bool) {
			if name == variable {
				return "", false
			}
			return "x", true // so that this one is all that may be missing
		}) != nil {
			names = append(names, variable)
		}
	}
	return names
}
