package main

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/args"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/words"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/registry"
)

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
	if cmd.HasParent() && !adds && !strings.Contains(cmd.Use, "SERVER") {
		return "" // it is about no server
	}
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
				if command, own := ownWords(rest); len(own) > 0 && len(names) == 0 && (cmd.Name() == "call" || cmd.Name() == "prompt") {
					return nameHint(append(line, own...), "", append([]string{"--"}, command...))
				}
				return "a command goes after --: " + cmd.CommandPath() + cmd.Use[at+2:] // it is not known which words are for wharf
			}
			if command, err := words.Split(word); err == nil && len(rest) == 1 {
				rest = command // in quotes, as one word
			}
			if script := runner(rest[0], rest[1:]); script != nil {
				rest = script
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

// orMeant puts the server that was probably meant before a hint that takes a word for a command.
func (a *app) orMeant(word, hint string) string {
	s, err := a.load()
	if hint == "" || err != nil {
		return hint
	}
	if near := meant(word, s.names()); near != "" {
		return fmt.Sprintf("did you mean %q? %s", near, hint)
	}
	return hint
}

// ownWords splits the command line of a server from the words behind it that are probably for
// wharf: a name, and key=value. If that is not clear, own is nil.
func ownWords(line []string) (command, own []string) {
	at, program := len(line)-1, 1
	if slices.Contains(runners, line[0]) {
		program = 2 // with the server that it runs
	}
	for ; at > 0; at-- {
		if key, _, pair := strings.Cut(line[at], "="); !strings.HasPrefix(line[at], "{") && (!pair || !args.IsKey(strings.TrimSuffix(key, ":"))) {
			break
		}
	}
	behind := line[max(at-1, 0)]
	if at < program || filepath.Ext(line[at]) != "" || !args.IsKey(line[at]) || strings.HasPrefix(behind, "-") || behind == "run" {
		return line, nil
	}
	return line[:at], line[at:]
}

// joined returns the command line that was probably meant, if a word joins a server and a tool in
// another way than SERVER.TOOL, or mistypes the server; else "".
func (a *app) joined(word string) string {
	s, err := a.load()
	at := slices.Index(a.argv, word)
	if err != nil || at < 0 || a.shell != nil {
		return ""
	}
	name, inside, call := strings.Cut(word, "(")
	server, tool, dotted := strings.Cut(name, ".")
	if _, err := os.Stat(word); dotted && err == nil {
		return "" // a file of this folder
	}
	where := "a dot stands between a server and its tool"
	if near := meant(server, s.names()); dotted && len(server) > 2 && near != "" {
		server, where = near, fmt.Sprintf("did you mean the server %q?", near)
	} else if i := strings.IndexAny(name, "/:"); i > 0 {
		server, tool = name[:i], name[i+1:]
	} else if before, after, listed := strings.Cut(strings.TrimPrefix(name, "mcp__"), "__"); listed { // as a client of `wharf serve` has it
		server, tool = before, after
	}
	if !s.has(server) || !args.IsKey(tool) {
		return ""
	}
	line := slices.Clone(a.argv)
	if line[at] = server + "." + tool; call {
		line[at] += "(" + inside
	}
	return strings.Replace(lineHint([]string{"wharf"}, where, line), "?:", "?", 1)
}

// toolFirst returns the command line that was probably meant, if the name of a tool stands where
// that of its server should, and the server is missing or stands behind it; else "".
func (a *app) toolFirst(words []string) string {
	s, err := a.load()
	at := slices.Index(a.argv, words[0])
	if err != nil || at < 0 || a.shell != nil {
		return ""
	}
	line := slices.Clone(a.argv)
	name, _, _ := strings.Cut(words[0], "(")
	if len(words) > 1 && s.has(words[1]) && at+1 < len(line) && line[at+1] == words[1] {
		server, _ := s.find(words[1])
		tools, where, tool := namesOfTools(knownTools(server)), "the server comes before the tool", name
		switch {
		case len(tools) == 0: // it was never used
			where = fmt.Sprintf("if %s is a tool of %s, the server comes before it", plain.Word(name), words[1])
		case !slices.Contains(tools, name):
			tool = meant(name, tools)
		}
		if tool == "" {
			return ""
		}
		line[at], line[at+1] = words[1], tool+strings.TrimPrefix(words[0], name)
		return lineHint([]string{"wharf"}, where, line)
	}
	if tool, dotted := strings.CutPrefix(name, "."); dotted && s.serverOf(tool) != "" {
		line[at] = s.serverOf(tool) + words[0]
		return lineHint([]string{"wharf"}, "the server stands before the dot", line)
	}
	if server := s.serverOf(name); server != "" {
		return lineHint([]string{"wharf"}, fmt.Sprintf("%s has a tool of that name", server), slices.Insert(line, at, server))
	}
	return ""
}

// foreign are flags of claude mcp add that have a value which Wharf does not need.
var foreign = []string{"--transport", "-t", "--scope", "-s"}

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

// isCommand reports whether a word probably begins the command line of a server, and is not the
// name of a server. named is the name before the word, or "". Behind a name, every word that is no
// name in a registry counts as a command.
func (a *app) isCommand(cmd *cobra.Command, word string, named string) bool {
	if s, err := a.load(); err == nil && cmd.Name() != "add" && s.has(word) {
		return false
	}
	return slices.Contains(runners, word) || strings.HasPrefix(word, "./") || strings.HasPrefix(word, "../") || strings.HasPrefix(word, "/") ||
		named != "" && !registry.IsName(word)
}

// notInRegistry is the error for a word that is the command line of a server, or its address
// without http://. Neither is a name that a registry is asked for.
func (a *app) notInRegistry(cmd *cobra.Command, word string) error {
	if strings.HasPrefix(word, "{") {
		return exit.Usage(errors.New("add takes no entry in JSON"), "%s", elsewhere["add-json"])
	}
	command, err := words.Split(word)
	if err != nil || len(command) == 0 {
		return nil
	}
	where, last := "a command goes after --", append([]string{"--"}, command...)
	_, missing := os.Stat(word)
	var script []string
	if len(command) == 1 && (missing == nil || !registry.IsName(word)) {
		script = interpreted(word)
	}
	if script == nil {
		script = runner(word, nil)
	}
	switch {
	case script != nil:
		if missing != nil {
			where += ", and there is no such file here"
		}
		last = append([]string{"--"}, script...)
		if !cmd.Flag("name").Changed {
			last = append([]string{"--name", strings.TrimSuffix(filepath.Base(word), filepath.Ext(word))}, last...)
		}
	case len(command) == 1 && isSite(word):
		where, last = schemeMissing, []string{"http://" + word}
	case len(command) == 1 && !a.isCommand(cmd, word, ""):
		return nil
	}
	line := slices.DeleteFunc(slices.Clone(a.argv), func(w string) bool { return w == word })
	return exit.Usage(fmt.Errorf("%q is not the name of a server in a registry", word), "%s", lineHint(append([]string{"wharf"}, line...), where, last))
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

// lacksScheme returns the command line that was probably meant, if a word is an address without
// its scheme; else "". Where the command line cannot be shown, it says what the address begins with.
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

// nameHint returns a hint with the command line that was probably meant: line, --name and named
// unless that is "", and last, which is a url, or "--" and a command.
func nameHint(line []string, named string, last []string) string {
	where := "a name goes after --name"
	switch {
	case named == "":
		where = "a command goes after --"
	case last[0] == "--":
		where = "a command goes after --, and its name after --name"
	}
	if named != "" && !slices.Contains(line, "--name") {
		line = append(line, "--name", named)
	}
	return lineHint(line, where, last)
}

// lineHint returns a hint: where says what was wrong, and line with last is the command line to
// type instead.
func lineHint(line []string, where string, last []string) string {
	line = slices.Concat(line, last)
	for i := range line {
		line[i] = plain.ShellWord(line[i])
	}
	return where + ": `" + strings.Join(line, " ") + "`"
}

// runner returns the command line that probably runs a file of this folder, if the file was given
// as a command and the system does not find it as one; else nil.
func runner(command string, args []string) []string {
	info, err := os.Stat(command)
	_, missing := host.Locate(host.Server{Command: command})
	if err != nil || info.IsDir() || filepath.IsAbs(command) || missing == nil {
		return nil
	}
	if line := interpreted(command); line != nil {
		return append(line, args...)
	} else if filepath.Base(command) != command {
		return nil
	}
	return append([]string{"./" + command}, args...)
}

// interpreted returns the command line that usually runs a script with the ending of the file; nil
// for other endings.
func interpreted(file string) []string {
	switch filepath.Ext(file) {
	case ".js", ".mjs", ".cjs":
		return []string{"node", file}
	case ".ts", ".mts":
		return []string{"npx", "-y", "tsx", file}
	case ".py":
		return []string{"python3", file}
	case ".sh":
		return []string{"sh", file}
	case ".rb":
		return []string{"ruby", file}
	}
	return nil
}
