package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host/pluginstore"
)

// completePlugins offers the names of installed plugins for the first word.
func (a *app) completePlugins(others cobra.ShellCompDirective) func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		var names []string
		if store, err := openStore(); err == nil && len(args) == 0 {
			installed, _ := store.List() // an error is reported when the command runs
			for _, p := range installed {
				names = append(names, p.Name)
			}
		}
		return names, others
	}
}

// onStore runs a command on the store of installed plugins.
func (a *app) onStore(run func(context.Context, *pluginstore.Store, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		store, err := openStore()
		if err != nil {
			return err
		}
		return run(cmd.Context(), store, args)
	}
}

// accesses lists what a plugin was granted, or asks for.
func accesses(list []string) string {
	if len(list) == 0 {
		return "nothing"
	}
	return plain.Line(strings.Join(list, ", "))
}

func signer(key string) string {
	if key == "" {
		return "no key"
	}
	return pluginstore.KeyID(key)
}

// sayInstalled prints a plugin; for people, its name and what was done.
func (a *app) sayInstalled(store *pluginstore.Store, p pluginstore.Installed, what string) error {
	if !a.forPeople() {
		return a.PrintJSON(store.Listed(p))
	}
	return a.Print(p.Name + " " + what + ".\n")
}
