package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/internal/nearest"
)

// unknownCommand is the error for words of which the first is no subcommand of cmd.
func unknownCommand(cmd *cobra.Command, words []string) error {
	word, path := words[0], strings.TrimSpace(cmd.CommandPath()) // which has no program in a shell
	err := fmt.Errorf("unknown command %q for %q", word, path)
	if hint := elsewhere[cmd.Name()+" "+word]; hint != "" {
		if len(words) > 1 {
			hint = strings.NewReplacer("SERVER", plain.ShellWord(words[1]), "NAME", plain.ShellWord(words[1])).Replace(hint)
		}
		return exit.Usage(err, "%s", hint)
	}
	if near := meant(word, subcommands(cmd)); near != "" {
		return exit.Usage(err, "did you mean %q?", near)
	}
	if slices.Contains(subcommands(cmd.Root()), word) {
		return exit.Usage(err, "did you mean `%s %s`?", cmd.Root().Name(), word)
	}
	return exit.Usage(err, "it has %s; see `%s --help`", strings.Join(subcommands(cmd), ", "), path)
}

// isCommand reports whether a word is a command, by whichever of its names, and whether help shows it or not.
func isCommand(root *cobra.Command, word string) bool {
	return slices.ContainsFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == word || c.HasAlias(word) })
}

// subcommands returns the names of the commands of cmd that help shows.
func subcommands(cmd *cobra.Command) (names []string) {
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return names
}

// elsewhere maps the names of commands in other programs to those here, also those of subcommands.
var elsewhere = map[string]string{
	"list":       "`wharf servers` lists servers; `wharf tools SERVER` lists tools",
	"ls":         "`wharf servers` lists servers; `wharf tools SERVER` lists tools",
	"config":     "`wharf doctor` says which configuration is read; `wharf add` writes to it",
	"status":     "`wharf servers --status` starts the servers and shows their states",
	"run":        "`wharf tools -- COMMAND…` starts a server and lists its tools; `wharf call` calls one",
	"exec":       "`wharf tools -- COMMAND…` starts a server and lists its tools; `wharf call` calls one",
	"install":    "`wharf add` adds a server, and `wharf plugin add` installs a plugin",
	"delete":     "`wharf remove SERVER` removes a server",
	"init":       "`wharf add` adds a server, and writes the configuration that it needs",
	"test":       "`wharf doctor SERVER` looks at a server, and says which step fails",
	"check":      "`wharf doctor SERVER` looks at a server, and says which step fails",
	"uninstall":  "`wharf remove SERVER` removes a server, and `wharf plugin remove NAME` a plugin",
	"get":        "`wharf doctor SERVER` looks at a server; `wharf tools SERVER TOOL` shows a tool",
	"inspect":    "`wharf doctor SERVER` looks at a server; `wharf tools SERVER TOOL` shows a tool",
	"describe":   "`wharf doctor SERVER` looks at a server; `wharf tools SERVER TOOL` shows a tool",
	"show":       "`wharf doctor SERVER` looks at a server; `wharf tools SERVER TOOL` shows a tool",
	"info":       "`wharf doctor SERVER` looks at a server; `wharf tools SERVER TOOL` shows a tool",
	"list-tools": "`wharf tools SERVER` lists the tools of a server",
	"call-tool":  "`wharf call SERVER TOOL` calls a tool",
	"whoami":     authLists,
	"use":        "each command names its server, as in `wharf tools SERVER`",
	"set":        "`wharf edit` opens the configuration",
	"invoke":     "`wharf call SERVER TOOL` calls a tool",
	"connect":    "every command connects by itself; `wharf shell SERVER` keeps a server open for many calls",
	"start":      "every command connects by itself; `wharf shell SERVER` keeps a server open for many calls",
	"stop":       "a server ends with the command that started it; `wharf edit` opens the configuration: disabled = true in an entry disables its server",
	"token":      "`wharf login SERVER` signs in, or takes an API key; `wharf auth status` lists what is saved",
	"add-json":   "`wharf add` takes a URL or -- COMMAND…; `wharf --config FILE servers` reads JSON of another client as it is",
	"enable":     "`wharf edit` opens the configuration: disabled = true in an entry disables its server",
	"disable":    "`wharf edit` opens the configuration: disabled = true in an entry disables its server",
	"rename":     "`wharf edit` opens the configuration, where an entry has its name",
	"mcp":        "`wharf servers` lists servers, and `wharf add` adds one",
	"repl":       "`wharf shell SERVER` keeps a server open for many calls",
	"logs":       "`wharf watch SERVER --log info` follows what a server logs; `wharf tools SERVER --stderr` shows what it writes to stderr",
	"secret":     "`wharf auth secret NAME` keeps a secret in the vault",
	"secrets":    "`wharf auth secret NAME` keeps a secret in the vault",
	"restart":    "every command starts its servers anew; `wharf daemon stop` ends the daemon, which keeps some",

	"emit-ts":      "`wharf generate ts SERVER` writes a client in TypeScript",
	"generate-cli": "`wharf generate sh SERVER` writes a program for the shell, and `wharf generate ts SERVER` a client in TypeScript",
	"alias":        "a server has a name in each command, which `wharf add --name NAME` gives it",
	"configs":      "`wharf import` takes over the servers of other clients, and `wharf servers` lists yours",
	"new":          "`wharf add` adds a server, and `wharf plugin new` begins a plugin",
	"proxy":        "`wharf serve` offers your servers to other clients, and `wharf bridge SERVER` one of them over stdio",
	"mock":         "`wharf tools demo` shows a server that is there to try",

	"schema":         "`wharf tools SERVER TOOL` shows a tool, and which arguments it takes",
	"get-prompt":     promptElsewhere,
	"list-prompts":   promptElsewhere,
	"resource":       readElsewhere,
	"read-resource":  readElsewhere,
	"list-resources": readElsewhere,
	"access":         "the tables [access.NAME] of the configuration say who may call what, and `wharf acl check CLIENT SERVER/TOOL` which of them decides",

	"servers add":    "`wharf add` adds a server",
	"servers edit":   "`wharf edit` opens the configuration",
	"servers remove": "`wharf remove SERVER` removes a server",
	"servers rm":     "`wharf remove SERVER` removes a server",

	"daemon start":   "`wharf bridge --shared`, `wharf serve --shared` and editors start it; `wharf daemon run` is one in this terminal",
	"daemon restart": "`wharf daemon stop` ends it; `wharf bridge --shared`, `wharf serve --shared` and editors start another",

	"auth list":   authLists,
	"auth ls":     authLists,
	"auth remove": authForgets,
	"auth rm":     authForgets,
	"auth delete": authForgets,
	"auth forget": authForgets,
}

const (
	promptElsewhere = "`wharf prompt SERVER PROMPT` fills in a prompt; `wharf prompts SERVER` lists them"
	readElsewhere   = "`wharf read SERVER URI` reads a resource; `wharf resources SERVER` lists them"
	authLists       = "`wharf auth status` lists the sign-ins that are saved"
	authForgets     = "`wharf logout SERVER` signs out of a server; `wharf auth secret NAME --forget` removes a secret"
)

// runGroup runs a command that only has subcommands: it prints the help, without the flags of
// all commands, which --help also has.
func runGroup(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return unknownCommand(cmd, args)
	}
	cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) { f.Hidden = true })
	return cmd.Help()
}

// usage returns how a command is written. In a shell the program has no name.
func usage(cmd *cobra.Command) string { return strings.TrimSpace(cmd.UseLine()) }

// emptyArgument is the error of an argument that is given and empty.
func emptyArgument(cmd *cobra.Command, name string) error {
	return exit.Usage(fmt.Errorf("expected %s, got an empty text", name), "usage: %s", usage(cmd))
}

// exactly checks that a command gets the named arguments and no others, and that none is empty: the variable of a
// script that gives it may be unset.
func exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return exit.Usage(fmt.Errorf("%s is missing", names[len(args)]), "usage: %s", usage(cmd))
		case len(args) > len(names):
			return exit.Usage(fmt.Errorf("unexpected argument %q", args[len(names)]), "usage: %s", usage(cmd))
		}
		if at := slices.Index(args, ""); at >= 0 {
			return emptyArgument(cmd, names[at])
		}
		return nil
	}
}

// unexpected returns a check that a command has no argument. The error ends with hint, in which
// "…" stands for the first argument.
func unexpected(hint string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return exit.Usage(fmt.Errorf("unexpected argument %q", args[0]), "%s", strings.ReplaceAll(hint, "…", plain.ShellWord(args[0])))
	}
}

// meant returns the name that the user most likely meant, or "". Up to a third of the
// letters may be wrong, or the word may be the beginning of the name. Of two names that
// one letter makes, it is the longer one that has all of the word.
func meant(word string, names []string) string {
	lacksOne := func(name string) bool {
		return len(word) > 1 && strings.HasPrefix(name, word) && len(name) == len(word)+1
	}
	if i := slices.IndexFunc(names, lacksOne); i >= 0 {
		return names[i]
	}
	near := nearest.Name(word, names, max(1, len(word)/3))
	if len(word) < 2 || near != "" && nearest.Edits(strings.ToLower(word), strings.ToLower(near)) <= 1 {
		return near
	}
	if i := slices.IndexFunc(names, func(name string) bool { return strings.HasPrefix(name, word) }); i >= 0 {
		return names[i]
	}
	return near
}

// atLeast checks that a command gets the named arguments; more may follow.
func atLeast(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return exit.Usage(fmt.Errorf("%s is missing", names[len(args)]), "usage: %s", usage(cmd))
		}
		return nil
	}
}

// atMost checks that a command gets at most this number of arguments.
func atMost(most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > most {
			return exit.Usage(fmt.Errorf("unexpected argument %q", args[most]), "usage: %s", usage(cmd))
		}
		return nil
	}
}

// exclusive returns an error if two flags are given that do not go together.
func exclusive(cmd *cobra.Command, one, other string) error {
	if cmd.Flags().Changed(one) && cmd.Flags().Changed(other) {
		return exit.Usage(fmt.Errorf("--%s and --%s do not go together", one, other), "")
	}
	return nil
}
