package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/args"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/internal/nearest"
)

// flagError returns the error of a flag that cmd does not have, or that is malformed. The flag
// may belong to a server whose command stands before it without a "--", or follow a word that is
// no subcommand of cmd.
func (a *app) flagError(cmd *cobra.Command, err error) error {
	err = plainFlagError(err)
	if words := cmd.Flags().Args(); cmd.HasParent() && cmd.HasSubCommands() && len(words) > 0 {
		return unknownCommand(cmd, words)
	}
	if flag := unknownFlag(err); flag != "" {
		if value := a.dashed(cmd, flag); value != "" {
			hint, word := a.keyed(cmd, value), plain.ShellWord(plain.Clip(value, 40))
			if hint == "" && belowZero(value) {
				hint = fmt.Sprintf("for a number below zero write key=%s, or the whole call in quotes: 'TOOL(%[1]s, …)'", value)
			}
			return exit.Usage(fmt.Errorf("wharf has no flag %s", word), "%s", cmp.Or(hint, "for a text that begins with - write "+plain.ShellWord(plain.Clip("key="+value, 80))))
		}
		if hint := a.forgotten(cmd); hint != "" {
			return exit.Usage(fmt.Errorf("wharf has no flag %s", flag), "%s", hint)
		}
		if err := a.unknownBefore(cmd); err != nil {
			return err
		}
		if hint := addedBy[flag]; hint != "" && cmd.CommandPath() == "wharf add" {
			return exit.Usage(err, "%s", hint)
		}
		if hint := a.asElsewhere(cmd, flag); hint != "" {
			return exit.Usage(err, "%s", hint)
		}
	}
	root, path := !cmd.HasParent(), cmd.CommandPath()
	if a.shell != nil {
		path = cmd.Name()
	}
	near := nearFlag(cmd, unknownFlag(err))
	if near != "" && nearest.Edits(near, unknownFlag(err)) == 1 {
		return exit.Usage(err, "did you mean %s?", near)
	}
	if argument := a.argumentOf(cmd, err); argument != "" && (root && !strings.HasPrefix(a.argv[0], "-") || cmd.Name() == "call" || cmd.Name() == "prompt") {
		return exit.Usage(err, "for an argument write %s; see `%s --help`", argument, path)
	}
	if near != "" {
		return exit.Usage(err, "did you mean %s?", near)
	}
	if words := a.argv; root && unknownFlag(err) != "" && len(words) > 2 && !strings.HasPrefix(words[0], "-") && !strings.HasPrefix(words[1], "-") {
		return exit.Usage(err, "for an argument write key=value; `wharf tools %s %s` shows the keys", plain.ShellWord(words[0]), plain.ShellWord(words[1]))
	}
	return exit.Usage(err, "see `%s --help`", path)
}

// unknownBefore returns the error for words before an unknown flag that begin with no command and no server,
// or nil. Such a flag is one of the command that is not there.
func (a *app) unknownBefore(cmd *cobra.Command) error {
	words := cmd.Flags().Args()
	if cmd.HasParent() || a.shell != nil || len(words) == 0 || cmd.ArgsLenAtDash() >= 0 {
		return nil
	}
	s, err := a.load()
	if err != nil {
		return nil
	}
	if _, address := atAddress(words[0]); address || s.has(a.dotted(words)[0]) {
		return nil
	}
	return a.unknownFirst(cmd, s, words)
}

// asElsewhere returns a hint for a flag of another program that calls tools, or "". A tool may have an argument
// of that name.
func (a *app) asElsewhere(cmd *cobra.Command, flag string) string {
	at := slices.IndexFunc(a.argv, func(word string) bool { return word == flag || strings.HasPrefix(word, flag+"=") })
	_, schema := a.schemaOf(cmd)
	if at < 0 || slices.Contains(schema.Names(), strings.TrimLeft(flag, "-")) {
		return ""
	}
	if flag == "--name" && cmd.Name() == "call" && len(cmd.Flags().Args()) == 1 { // and no tool yet
		flag = "--tool"
	}
	_, value, given := strings.Cut(a.argv[at], "=")
	if !given && at+1 < len(a.argv) {
		value = a.argv[at+1]
	}
	if flag == "-p" && !strings.HasPrefix(value, "{") {
		return ""
	}
	return strings.ReplaceAll(calledBy[flag], "KEY=VALUE", plain.ShellWord(cmp.Or(value, "KEY=VALUE")))
}

// calledBy maps flags of the Inspector, of mcporter, of mcptools and the like to what is written here.
var calledBy = map[string]string{
	"--tool-arg": noFlagBefore, "--arg": noFlagBefore,
	"--params": argumentsAsJSON, "-p": argumentsAsJSON, "--input": argumentsAsJSON, "--arguments": argumentsAsJSON,
	"--format": outputFormats, "--raw": outputFormats, "--pretty": outputFormats,
	"--method":    "each method has its command: `wharf tools SERVER` lists tools, `wharf call SERVER TOOL` calls one, and `wharf request SERVER METHOD` sends any other",
	"--tool-name": toolBehind, "--tool": toolBehind,
	"--server": "the server comes right behind the command: `wharf tools SERVER`, `wharf call SERVER TOOL`",
	"--url":    urlInPlace, "--http-url": urlInPlace, "--server-url": urlInPlace,
	"--stdio": commandAfter, "--stdio-arg": commandAfter,
	"--cwd":         "a command after -- is started in this folder, and a server of the configuration where dir in its entry says",
	"--persist":     "`wharf add` keeps a server in your configuration",
	"--raw-strings": asSchemaSays, "--no-coerce": asSchemaSays,
	"--tail-log":    "--stderr shows what a server writes there",
	"--save-images": "--save DIR writes images, audio and blobs to files",
	"--schema":      "`wharf tools SERVER TOOL` shows the arguments of a tool, and with --json its schema",
}

const urlInPlace = "a url comes in the place of a server: `wharf call URL TOOL`"

const commandAfter = "a command goes after --: `wharf call TOOL -- COMMAND ARGUMENTS…`"

const asSchemaSays = "a value is read as the tool's schema says; --args takes JSON as it is"

const toolBehind = "the tool comes behind the server: `wharf call SERVER TOOL`"

const noFlagBefore = "an argument has no flag before it: write KEY=VALUE"

const outputFormats = "--output says how a result is printed: text, json, markdown or raw"

const argumentsAsJSON = "write each argument as key=value, or all of them as JSON behind --args"

// plainFlagError returns the error of a flag with a value that is of another type. The text of the
// library is that of the function which has read the value.
func plainFlagError(err error) error {
	var wrong *pflag.InvalidValueError
	if !errors.As(err, &wrong) {
		return err
	}
	expected := map[string]string{"bool": "true or false", "int": "a whole number", "uint": "a whole number"}[wrong.GetFlag().Value.Type()]
	if expected == "" {
		return err
	}
	return fmt.Errorf("--%s: expected %s, got %q", wrong.GetFlag().Name, expected, plain.Clip(wrong.GetValue(), 40))
}

// belowZero reports whether a word that looks like a flag is a negative number.
func belowZero(word string) bool {
	_, err := strconv.ParseFloat(word, 64)
	return err == nil && strings.HasPrefix(word, "-")
}

// isDashed reports whether a word that looks like a flag is a value: a number, or a text with a digit behind its hyphen
// or with blanks.
func isDashed(word string) bool {
	name, _, _ := strings.Cut(word, "=")
	digit := len(name) > 1 && name[1] >= '0' && name[1] <= '9'
	return belowZero(word) || strings.HasPrefix(name, "-") && (digit || strings.ContainsAny(name, " \t\n"))
}

// dashed returns the word that an unknown flag has been read from, if it is probably an argument of a tool, or "". Flags of
// one letter may have been taken off its beginning.
func (a *app) dashed(cmd *cobra.Command, flag string) string {
	end := strings.TrimLeft(flag, "-")
	at := slices.IndexFunc(a.argv, func(word string) bool { return isDashed(word) && strings.HasSuffix(word, end) })
	if at < 0 || cmd.HasParent() && !slices.Contains([]string{"call", "prompt", "request"}, cmd.Name()) {
		return ""
	}
	return a.argv[at]
}

// keyed returns a hint with the command line in which each value that begins with a hyphen, such as first, has the name of
// its argument. A word without a name belongs to the first argument that has no value yet. keyed
// returns "" if the tool of the line is not known, or if the line has more words than the tool
// has arguments.
func (a *app) keyed(cmd *cobra.Command, first string) string {
	before, schema := a.schemaOf(cmd)
	keys := schema.Names()
	line := slices.Clone(a.argv)
	keys = slices.DeleteFunc(keys, func(key string) bool { return given(line, key+"=") })
	isNameless := func(word string) bool {
		return isDashed(word) || !schema.IsPair(word) && !strings.HasPrefix(word, "-")
	}
	for _, word := range before {
		if isNameless(word) && len(keys) > 0 {
			keys = keys[1:]
		}
	}
	for i := slices.Index(line, first); i < len(line); i++ {
		if !isNameless(line[i]) {
			continue
		}
		if len(keys) == 0 {
			return ""
		}
		if isDashed(line[i]) {
			line[i] = keys[0] + "=" + line[i]
		}
		keys = keys[1:]
	}
	where := "a text that begins with - is given by name"
	if belowZero(first) {
		where = "a number below zero is given by name"
	}
	if a.shell != nil {
		return strings.ReplaceAll(lineHint(nil, where, line[1:]), "`", "")
	}
	return lineHint([]string{"wharf"}, where, line)
}

// schemaOf returns the words between the tool that cmd calls and an unknown flag, and the schema of
// the tool, which names nothing if the tool is not known.
func (a *app) schemaOf(cmd *cobra.Command) (before []string, schema *args.Schema) {
	none := args.ReadSchema(nil)
	words := cmd.Flags().Args() // those before the flag
	var server host.Server
	switch {
	case a.shell != nil:
		server = a.shell.entry
	case cmd.ArgsLenAtDash() >= 0 || len(words) == 0:
		return nil, none
	default:
		words = a.dotted(words)
		s, err := a.load()
		if err != nil || !s.has(words[0]) {
			return nil, none
		}
		server, _ = s.find(words[0])
		words = words[1:]
	}
	if len(words) == 0 {
		return nil, none
	}
	return words[1:], knownSchema(server, words[0])
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

// addedBy maps flags of other programs to the way in which wharf add takes the same thing.
var addedBy = map[string]string{
	"--url":     "a url needs no --: `wharf add --name NAME URL`",
	"--command": commandBehind, "--args": commandBehind, "--arg": commandBehind,
}

const commandBehind = "a command goes after --: `wharf add --name NAME -- COMMAND ARGUMENTS…`"

// argumentOf suggests an argument of a tool for a flag that does not exist: other programs take
// --key value, Wharf takes key=value. A single letter behind a single hyphen stands for the only
// key that begins with it. An argument whose name begins with a hyphen is given in an object.
func (a *app) argumentOf(cmd *cobra.Command, err error) string {
	flag, _, _ := strings.Cut(unknownFlag(err), "=")
	name := strings.TrimLeft(flag, "-")
	_, schema := a.schemaOf(cmd)
	keys := schema.Names()
	write := func(text string) string { return plain.ShellWord(name + "=" + text) }
	if slices.Contains(keys, flag) {
		write = func(text string) string { return plain.ShellWord(schema.Object(flag, text)) }
	} else if len(name) == 1 && !strings.HasPrefix(flag, "--") {
		if !slices.Contains(keys, name) {
			keys = beginning(keys, name)
			if len(keys) != 1 {
				return ""
			}
			name = keys[0]
		}
	}
	if name == "" {
		return ""
	}
	for i, word := range a.argv {
		if value, found := strings.CutPrefix(word, flag+"="); found {
			return write(value)
		}
		if word == flag && i+1 < len(a.argv) && !strings.HasPrefix(a.argv[i+1], "-") {
			return write(a.argv[i+1])
		}
	}
	return write("…")
}
