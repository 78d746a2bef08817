package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

// target returns the server that a command line is about, and the remaining words for the
// command. The server is a command line after "--", or the first word is its name or its url.
func (a *app) target(cmd *cobra.Command, args []string) (host.Server, []string, error) {
	if a.shell != nil {
		return a.shell.entry, args, nil
	}
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		server, err := adHoc(args[dash:])
		a.server, a.adHoc, a.behind = server.Name, true, flagBehind(cmd, server.Args)
		if err == nil {
			err = a.equip(cmd, &server)
		}
		return server, args[:dash], err
	}
	if len(args) == 0 {
		return host.Server{}, nil, exit.Usage(errors.New("SERVER is missing"), "name a server (see `wharf servers`), or give a command after --")
	}
	if address, ok := atAddress(args[0]); ok {
		server := remote(address)
		a.server, a.address = server.Name, address
		return server, args[1:], a.equip(cmd, &server)
	}
	if len(a.flags.variables)+len(a.flags.headers) > 0 {
		return host.Server{}, nil, exit.Usage(errors.New("-e and -H are for servers that are given on the spot"),
			"write env or headers in the entry of the server")
	}
	args = a.dotted(args)
	hint := serversHint
	if !cmd.HasParent() || strings.Contains(cmd.Use, "COMMAND…") {
		hint += "; a command goes after --"
	}
	server, err := a.named(args[0], hint)
	if s, _ := a.load(); err != nil && s != nil && !s.has(args[0]) && s.whyLeftOut(args[0]) == nil {
		hint := cmp.Or(below[cmd.Name()+" "+args[0]], atSocket(args[0]), a.orMeant(args[0], a.forgotten(cmd)), a.joined(args[0]), a.lacksScheme(args[0]))
		if hint == "" && (cmd.Name() == "call" || cmd.Name() == "tools") {
			hint = a.toolFirst(args)
		}
		if cmd.Name() == "read" && strings.Contains(args[0], "://") {
			hint = "the server comes before the uri: `wharf read SERVER " + plain.ShellWord(args[0]) + "`"
		}
		if hint != "" {
			return server, nil, exit.Usage(err, "%s", hint)
		}
	}
	if err == nil {
		err = a.checkHash(cmd.Context(), server)
	}
	return server, args[1:], err
}

// below maps what other programs have as words below a command to the command here.
var below = map[string]string{
	"tools list": "`wharf tools SERVER` lists them", "tools call": "`wharf call SERVER TOOL` calls one",
	"resources list": "`wharf resources SERVER` lists them", "resources read": "`wharf read SERVER URI` reads one",
	"prompts list": "`wharf prompts SERVER` lists them", "prompts get": "`wharf prompt SERVER PROMPT` fills one in",
}

// atSocket returns a hint if a word is the path of a socket, or "".
func atSocket(word string) string {
	info, err := os.Stat(word)
	path, wrong := filepath.Abs(word)
	if err != nil || wrong != nil || info.Mode().Type() != os.ModeSocket {
		return ""
	}
	return fmt.Sprintf("it is a socket: for HTTP write unix://%s; for MCP without HTTP, as `wharf serve --unix` speaks it, "+
		"write an entry with transport = \"socket\" and address = %q; `wharf plugin add socket` installs that plugin", plain.Word(path), "unix:"+path)
}

// flagBehind returns the first of the words that is a flag with the name of one of cmd's, with its
// value, or nil. Many programs share short flags, so only one counts: -o with a format.
func flagBehind(cmd *cobra.Command, words []string) []string {
	for i, word := range words {
		if word == "-o" && i+1 < len(words) && slices.Contains(formats, words[i+1]) {
			return words[i : i+2]
		}
		name, _, whole := strings.Cut(word, "=")
		if long, is := strings.CutPrefix(name, "--"); is && cmd.Flag(long) != nil {
			if !whole && cmd.Flag(long).NoOptDefVal == "" {
				return words[i:min(i+2, len(words))]
			}
			return words[i : i+1]
		}
	}
	return nil
}

// nameBehind returns the flag that begins a.behind, without its value, or "". lineBefore returns a
// hint with the command line that has the flag before the --.
func (a *app) nameBehind() string {
	if len(a.behind) == 0 {
		return ""
	}
	name, _, _ := strings.Cut(a.behind[0], "=")
	return name
}

func (a *app) lineBefore() string {
	dash := slices.Index(a.argv, "--")
	behind := a.argv[dash+1:]
	at := slices.Index(behind, a.behind[0])
	line := slices.Concat(a.argv[:dash], a.behind, []string{"--"}, behind[:at], behind[at+len(a.behind):])
	return a.redacted(lineHint([]string{"wharf"}, "if it is for wharf, write it before --", line))
}

// dotted splits a first word SERVER.TOOL, if SERVER is configured and the whole word is not.
// Names of servers and tools may have dots: the longest matching server counts.
func (a *app) dotted(words []string) []string {
	s, err := a.load()
	word := words[0]
	if err != nil || !strings.Contains(word, ".") || s.has(word) {
		return words // the error is told when the server is looked up
	}
	name, _, _ := strings.Cut(word, "(")
	for at := strings.LastIndexByte(name, '.'); at > 0; at = strings.LastIndexByte(name[:at], '.') {
		if s.has(word[:at]) && word[at+1:] != "" {
			return append([]string{word[:at], word[at+1:]}, words[1:]...)
		}
	}
	return words
}

// equip gives a server on the spot what the flags have for it. It notes the first text that is a variable, a secret or a
// file only in an entry. In a line for another program such a text may mean something to that program.
func (a *app) equip(cmd *cobra.Command, server *host.Server) error {
	if err := a.flags.equip(server); err != nil || a.Quiet || cmd.Flags().Changed("print-config") {
		return err
	}
	for _, word := range slices.Concat(a.flags.headers, a.flags.variables) {
		if note := textHere(word, server.Command != ""); note != "" {
			a.Tell(term.Dim, "note:", plain.Clip(plain.Line(note), warningLetters), "")
			return nil
		}
	}
	return nil
}

// textHere returns a note about a value of -e or -H, or "". To add -e, ${NAME} is a text too.
func textHere(word string, variable bool) string {
	flag, between, entry := "-H ", ":", "make an entry, in which it is one: `wharf add URL -H …`"
	if variable {
		flag, between, entry = "-e ", "=", "make an entry, in which it is one: `wharf add -e … -- COMMAND…`"
	}
	name, value, _ := strings.Cut(word, between)
	m := entryReference.FindStringSubmatch(value)
	if m == nil {
		return ""
	}
	kind, write := "variable", fmt.Sprintf(`write "$%s", which your shell replaces`, m[3])
	switch {
	case m[1] != "":
		kind, write = m[1], entry
	case m[2] != "" || !variable:
		write += ", or " + entry
	}
	return fmt.Sprintf("%s%s: %s is a text here, and no %s: %s", flag, strings.TrimSpace(name), m[0], kind, write)
}

// entryReference matches what an entry takes for a secret, a file or a variable.
var entryReference = lazyregexp.New(`\$\{(?:(secret|file):[^}]+|(env:)?([A-Za-z_]\w*)(?::-[^}]*)?)\}`)

// equip gives a server the variables and headers of the flags.
func (f *flags) equip(server *host.Server) error {
	if server.Command == "" && len(f.variables) > 0 {
		return exit.Usage(errors.New("-e is for a command after --: a server at a url has no variables"), "-H gives it headers")
	}
	if server.Command != "" && len(f.headers) > 0 {
		return exit.Usage(errors.New("-H is for a server at a url: a command has no headers"), "-e gives it variables")
	}
	for _, word := range f.variables {
		name, value, given := strings.Cut(word, "=")
		if !given {
			value, given = os.LookupEnv(name)
		}
		if name == "" || !given {
			return exit.Usage(fmt.Errorf("-e %q: your shell has no variable of that name", word), "write -e NAME=VALUE")
		}
		if _, before := server.Env[name]; before {
			return exit.Usage(fmt.Errorf("-e %s: it was given before", name), "a variable has one value")
		}
		if server.Env == nil {
			server.Env = make(map[string]string)
		}
		server.Env[name] = value
	}
	for _, word := range f.headers {
		name, value, given := strings.Cut(word, ":")
		if !given || strings.TrimSpace(name) == "" {
			return exit.Usage(errors.New("-H: expected 'Name: value'"), "write -H 'Authorization: Bearer …', in quotes")
		}
		name = strings.TrimSpace(name)
		if config.OfProtocol(name) {
			return ofProtocol(name)
		}
		for before := range server.Headers {
			if strings.EqualFold(before, name) {
				return exit.Usage(fmt.Errorf("-H %s: it was given before", name), "several values of a header go into one, with commas between them")
			}
		}
		if server.Headers == nil {
			server.Headers = make(map[string]string)
		}
		server.Headers[name] = strings.TrimSpace(value)
	}
	return nil
}

// ofProtocol is the error of a header of -H that the protocol sets itself.
func ofProtocol(header string) error {
	return exit.Usage(fmt.Errorf("-H %s: the protocol has this header of its own, and it is not replaced", cleantext.Word(header)), "leave it out")
}

// adHoc returns the server that a command line starts. Its name is that of the program.
func adHoc(argv []string) (host.Server, error) {
	if len(argv) == 0 || argv[0] == "" {
		return host.Server{}, exit.Usage(errors.New("the command after -- is missing"), "write -- COMMAND ARGUMENTS…")
	}
	name := strings.TrimSuffix(filepath.Base(argv[0]), ".exe")
	return host.Server{Name: name, Command: argv[0], Args: argv[1:]}.Literal(), nil
}

// named looks a server up by its name. hint is that of a name that nothing has.
func (a *app) named(name, hint string) (host.Server, error) {
	s, err := a.load()
	if err != nil {
		return host.Server{}, err
	}
	a.server = name
	server, found := s.find(name)
	switch {
	case !found:
		a.warnOf(s) // the name may be that of an entry that could not be used
		return host.Server{}, s.unknownServer(name, hint)
	case server.Disabled:
		err := fmt.Errorf("server %q is disabled", name)
		remedy := cmp.Or(server.Remedy(""), "enable it there")
		if !strings.HasPrefix(remedy, "enable it in ") { // another file of the project
			err = fmt.Errorf("%w in %s", err, s.from(server))
		}
		return host.Server{}, exit.Usage(err, "%s", remedy)
	}
	if wrong := s.behind[name]; wrong != nil && server.Project != nil {
		a.Warn("%s; so %s is that of %s", plain.Clip(wrong.Error(), warningLetters), plain.Name(name, plain.NameColumns), plain.Line(server.Project.Path()))
	}
	if _, err := server.Expand(os.LookupEnv); err != nil { // the host does it again, each time that it connects
		return host.Server{}, exit.Configuration(fmt.Errorf("configuration: %w", err))
	}
	return server, nil
}
