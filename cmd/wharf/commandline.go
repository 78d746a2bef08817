package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/internal/nearest"
)

// unknownCommand is the error for a word that is neither a subcommand of cmd nor one of
// the other names that are allowed in its place.
func unknownCommand(cmd *cobra.Command, word string, others []string) error {
	err := fmt.Errorf("unknown command %q for %q", word, cmd.CommandPath())
	names := others
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	near := meant(word, names)
	if hint := elsewhere[word]; hint != "" && !cmd.HasParent() && near == "" {
		return exit.Usage(err, "%s", hint)
	}
	if near != "" {
		return exit.Usage(err, "did you mean %q?", near)
	}
	return exit.Usage(err, "see `%s --help`", cmd.CommandPath())
}

// elsewhere are what commands of other programs are called here.
var elsewhere = map[string]string{
	"list":   "`wharf servers` lists servers; `wharf tools SERVER` lists tools",
	"ls":     "`wharf servers` lists servers; `wharf tools SERVER` lists tools",
	"config": "`wharf doctor` says which configuration is read; `wharf add` writes to it",
	"status": "`wharf servers --status` starts the servers and shows their states",
	"run":    "`wharf tools -- COMMAND…` starts a server and lists its tools; `wharf call` calls one",
	"exec":   "`wharf tools -- COMMAND…` starts a server and lists its tools; `wharf call` calls one",
}

// runGroup is the run of a command that only has subcommands: its help.
func runGroup(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return unknownCommand(cmd, args[0], nil)
	}
	return cmd.Help()
}

// exactly checks that a command gets the named arguments and no others.
func exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return exit.Usage(fmt.Errorf("%s is missing", names[len(args)]), "usage: %s", cmd.UseLine())
		case len(args) > len(names):
			return exit.Usage(fmt.Errorf("unexpected argument %q", args[len(names)]), "usage: %s", cmd.UseLine())
		}
		return nil
	}
}

// meant returns the name that the user most likely meant, or "". Up to a third of the
// letters may be wrong, or the word may be the beginning of the name.
func meant(word string, names []string) string {
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
			return exit.Usage(fmt.Errorf("%s is missing", names[len(args)]), "usage: %s", cmd.UseLine())
		}
		return nil
	}
}

// atMost checks that a command gets no more than so many arguments.
func atMost(most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > most {
			return exit.Usage(fmt.Errorf("unexpected argument %q", args[most]), "usage: %s", cmd.UseLine())
		}
		return nil
	}
}
