package main

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/words"
	"github.com/wharf-mcp/wharf/host/registry"
	"github.com/wharf-mcp/wharf/internal/nearest"
)

// flagError is the error of a flag that cmd does not have, or that is written wrongly. The
// flag may be one of a server whose command stands before it without a "--".
func (a *app) flagError(cmd *cobra.Command, err error) error {
	if flag := unknownFlag(err); flag != "" {
		if _, wrong := strconv.ParseFloat(flag, 64); wrong == nil {
			return exit.Usage(fmt.Errorf("wharf has no flag %s", flag), "for a number below zero write key=%s, or the whole call in quotes: 'TOOL(%[1]s, …)'", flag)
		}
		if hint := a.forgotten(cmd); hint != "" {
			return exit.Usage(fmt.Errorf("wharf has no flag %s", flag), "%s", hint)
		}
	}
	root, path := !cmd.HasParent(), cmd.CommandPath()
	if a.shell != nil {
		path = cmd.Name()
	}
	if hint := addedBy[unknownFlag(err)]; hint != "" && cmd.CommandPath() == "wharf add" {
		return exit.Usage(err, "%s", hint)
	}
	near := nearFlag(cmd, unknownFlag(err))
	if near != "" && nearest.Edits(near, unknownFlag(err)) == 1 {
		return exit.Usage(err, "did you mean %s?", near)
	}
	if argument := argumentOf(a.argv, err); argument != "" && (root && !strings.HasPrefix(a.argv[0], "-") || cmd.Name() == "call" || cmd.Name() == "prompt") {
		return exit.Usage(err, "for an argument write %s; see `%s --help`", argument, path)
	}
	if near != "" {
		return exit.Usage(err, "did you mean %s?", near)
	}
	if words := a.argv; root && len(words) > 2 && !strings.HasPrefix(words[0], "-") && !strings.HasPrefix(words[1], "-") {
		return exit.Usage(err, "for an argument write key=value; `wharf tools %s %s` shows the keys", plain.ShellWord(words[0]), plain.ShellWord(words[1]))
	}
	return exit.Usage(err, "see `%s --help`", path)
}

// nearFlag returns the flag of cmd that an unknown one was probably meant to be, or "".
func nearFlag(cmd *cobra.Command, unknown string) string {
	word, long := strings.CutPrefix(unknown, "--")
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	if near := meant(word, names); long && near != "" {
		return "--" + near
	}
	return ""
}

// unknownFlag returns the flag that an error of parsing says is unknown, or "".
func unknownFlag(err error) string {
	var unknown *pflag.NotExistError
	switch {
	case !errors.As(err, &unknown):
		return ""
	case unknown.GetSpecifiedShortnames() != "":
		return "-" + unknown.GetSpecifiedShortnames()
	}
	return "--" + unknown.GetSpecifiedName()
}

// forgotten returns a hint, with the command line that was probably meant, if the command of
// a server stands without a "--", or its name without --name; else "". Other programs take
// both, as in claude mcp add NAME COMMAND….
func (a *app) forgotten(cmd *cobra.Command) string {
	line := []string{"wharf"}
	names := strings.Fields(cmd.CommandPath())[1:] // the names that line still lacks
	if len(names) == 0 {
		line = append(line, "tools")
	}
	adds, named := cmd.CommandPath() == "wharf add", ""
	for rest := a.argv; len(rest) > 0 && a.shell == nil; {
		word, taken := rest[0], 1
		_, address := atAddress(word)
		switch {
		case len(names) > 0 && word == names[0]:
			names, line = names[1:], append(line, word)
		case word != "--" && strings.HasPrefix(word, "-"):
			known, alone := flagOf(cmd, word)
			if !alone {
				taken = min(2, len(rest))
			}
			if known {
				line = append(line, rest[:taken]...)
			} else if !adds || !slices.Contains(foreign, word) {
				return ""
			}
		case !address && word != "--" && a.isCommand(cmd, word, named):
			if at := strings.LastIndex(cmd.Use, " | "); at >= 0 && !strings.ContainsAny(cmd.Use[at+3:at+4], "-[") {
				return "a command goes behind --: " + cmd.CommandPath() + cmd.Use[at+2:] // it is not known which words are for wharf
			}
			if command, err := words.Split(word); err == nil && len(rest) == 1 {
				rest = command // in quotes, as one word
			}
			return nameHint(line, named, append([]string{"--"}, rest...))
		case named != "" && (address || registry.IsName(word) || word == "--" && len(rest) > 1):
			return nameHint(line, named, rest)
		case adds && named == "" && !address && word != "--":
			named = word
		default:
			return ""
		}
		rest = rest[taken:]
	}
	return ""
}

// foreign are flags of claude mcp add that have a value and say nothing that Wharf needs.
var foreign = []string{"--transport", "-t", "--scope", "-s"}

// addedBy is how wharf add takes what other programs have a flag for.
var addedBy = map[string]string{
	"--url":     "a url stands by itself: `wharf add --name NAME URL`",
	"--command": commandBehind, "--args": commandBehind, "--arg": commandBehind,
}

const commandBehind = "a command goes behind --: `wharf add --name NAME -- COMMAND ARGUMENTS…`"

// flagOf reports whether cmd has the flag that a word gives, and whether the word is
// complete: the value is in it, or the flag needs none.
func flagOf(cmd *cobra.Command, word string) (known, alone bool) {
	name, _, given := strings.Cut(word, "=")
	flag := cmd.Flag(strings.TrimLeft(name, "-"))
	if !strings.HasPrefix(word, "--") {
		if flag = cmd.Flags().ShorthandLookup(word[1:min(2, len(word))]); flag == nil && word == "-h" {
			return true, true
		}
		given = len(word) > 2
	}
	if flag == nil {
		return false, given
	}
	return true, given || flag.NoOptDefVal != ""
}

// runners are programs that servers are started with.
var runners = []string{"npx", "bunx", "uvx", "dnx", "pipx", "node", "bun", "deno", "python", "python3", "uv", "docker", "podman", "java", "go"}

// isCommand reports whether a word begins the command line of a server, and is not the name
// of one. What follows a name is a command.
func (a *app) isCommand(cmd *cobra.Command, word string, named string) bool {
	if s, err := a.load(); err == nil && cmd.Name() != "add" && s.has(word) {
		return false
	}
	return slices.Contains(runners, word) || strings.HasPrefix(word, ".") || strings.HasPrefix(word, "/") ||
		named != "" && !registry.IsName(word)
}

// notInRegistry is the error for a word that is the command line of a server, or its address
// without http://. Neither is a name that a registry is asked for.
func (a *app) notInRegistry(cmd *cobra.Command, word string) error {
	if strings.HasPrefix(word, "{") {
		return exit.Usage(errors.New("an entry in JSON is not added"), "%s", elsewhere["add-json"])
	}
	command, err := words.Split(word)
	if err != nil || len(command) == 0 {
		return nil
	}
	where, last := "a command goes behind --", append([]string{"--"}, command...)
	switch {
	case len(command) == 1 && isSite(word):
		where, last = schemeMissing, []string{"http://" + word}
	case len(command) == 1 && !a.isCommand(cmd, word, ""):
		return nil
	}
	line := slices.DeleteFunc(slices.Clone(a.argv), func(w string) bool { return w == word })
	return exit.Usage(fmt.Errorf("%q is no name of a server in a registry", word), "%s", lineHint(append([]string{"wharf"}, line...), where, last))
}

// isSite reports whether a word begins as an address does behind its scheme: with a name and a
// port, an IP address, or localhost.
func isSite(word string) bool {
	site, _, _ := strings.Cut(word, "/")
	name, port, _ := strings.Cut(site, ":")
	_, notIP := netip.ParseAddr(name)
	_, notPort := strconv.ParseUint(port, 10, 16)
	return name != "" && (notPort == nil || port == "" && (notIP == nil || name == "localhost"))
}

// lacksScheme is the command line that was probably meant with a word that is an address but for
// its scheme, or "".
func (a *app) lacksScheme(word string) string {
	scheme, at := "http://", slices.Index(a.argv, word)
	if host, _, path := strings.Cut(word, "/"); !isSite(word) && path && strings.Contains(strings.Trim(host, "."), ".") {
		scheme = "https://"
	} else if !isSite(word) {
		return ""
	}
	if at < 0 || a.shell != nil {
		return schemeMissing
	}
	line := slices.Clone(a.argv)
	line[at] = scheme + word
	return lineHint([]string{"wharf"}, schemeMissing, line)
}

const schemeMissing = "an address begins with http:// or https://"

// nameHint leads on to a command line, which may have --name before its last words. Those
// are a url, or "--" and a command.
func nameHint(line []string, named string, last []string) string {
	where := "a name goes behind --name"
	switch {
	case named == "":
		where = "a command goes behind --"
	case last[0] == "--":
		where = "a command goes behind --, and its name behind --name"
	}
	if named != "" {
		line = append(line, "--name", named)
	}
	return lineHint(line, where, last)
}

// lineHint leads on to the command line of line and last, after what was wrong.
func lineHint(line []string, where string, last []string) string {
	line = slices.Concat(line, last)
	for i := range line {
		line[i] = plain.ShellWord(line[i])
	}
	return where + ": `" + strings.Join(line, " ") + "`"
}

// argumentOf returns what a flag that does not exist is called as an argument of a tool:
// other programs take --key value, Wharf takes key=value.
func argumentOf(argv []string, err error) string {
	flag, _, _ := strings.Cut(unknownFlag(err), "=")
	name := strings.TrimLeft(flag, "-")
	if len(name) < 2 { // -m may be short for anything
		return ""
	}
	for i, word := range argv {
		if value, found := strings.CutPrefix(word, flag+"="); found {
			return plain.ShellWord(name + "=" + value)
		}
		if word == flag && i+1 < len(argv) && !strings.HasPrefix(argv[i+1], "-") {
			return plain.ShellWord(name + "=" + argv[i+1])
		}
	}
	return plain.ShellWord(name + "=…")
}
