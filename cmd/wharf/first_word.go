package main

import (
	"cmp"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
)

// unknownFirst returns the error for words of which the first is neither a command nor one of the servers.
func (a *app) unknownFirst(cmd *cobra.Command, s *settings, args []string) error {
	if err := s.whyLeftOut(args[0]); err != nil {
		return err
	}
	hint := cmp.Or(a.joined(args[0]), a.lacksScheme(args[0]), a.orMeant(args[0], a.forgotten(cmd)))
	if hint == "" && elsewhere[args[0]] == "" && (meant(args[0], subcommands(cmd)) == "" || s.serverOf(args[0]) != "") {
		hint = a.toolFirst(args)
	}
	if hint != "" {
		return exit.Usage(noSuchWord(args[0]), "%s", hint)
	}
	return unknownWord(cmd, args, s.names())
}
