package main

import (
	"slices"

	"github.com/spf13/cobra"
)

// refuseUnknownShells makes `wharf completion SHELL` an error for a shell without a
// completion script, as other groups of commands do.
func refuseUnknownShells(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			cmd.Args, cmd.RunE = cobra.ArbitraryArgs, runGroup
		}
	}
}

// completeServers offers the names of servers for the first word. The shell asks at
// every key, so no server is started. An error in the configuration is reported when
// the command runs.
func (a *app) completeServers(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	s, err := a.load()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return slices.Sorted(slices.Values(s.names())), cobra.ShellCompDirectiveNoFileComp
}
