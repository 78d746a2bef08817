package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host/pluginstore"
)

func newPluginList(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the installed plugins, and what they were granted",
		Args: exactly(), ValidArgsFunction: cobra.NoFileCompletions, RunE: a.onStore(a.runPluginList),
	}
}

func (a *app) runPluginList(_ context.Context, store *pluginstore.Store, _ []string) error {
	all, err := store.List()
	if err != nil {
		return err
	}
	list, rows := []pluginstore.Listed{}, plain.Table{{"NAME", "KIND", "VERSION", "GRANTED", "SIGNED BY", "SOURCE"}}
	for _, p := range all {
		list = append(list, store.Listed(p))
		rows = append(rows, []string{p.Name, string(p.Kind), plain.Line(p.Version), accesses(p.Granted), signer(p.Key), plain.Line(p.Source)})
	}
	if err := a.printList(list, rows); err != nil {
		return err
	}
	if len(list) == 0 {
		a.none("no plugin is installed; `wharf plugin add` installs one, and `wharf plugin --help` says what they are for")
	}
	return nil
}
