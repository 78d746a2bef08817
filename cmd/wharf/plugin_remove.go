package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host/pluginstore"
)

func newPluginRemove(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "remove NAME", Short: "Forget an installed plugin, and delete its file and what it keeps in the vault", Aliases: []string{"rm"},
		Args: exactly("NAME"),
		RunE: a.onStore(func(ctx context.Context, store *pluginstore.Store, args []string) error {
			if err := store.Remove(ctx, args[0]); err != nil {
				return err
			}
			fmt.Fprintf(a.Err, "%s is removed.\n", plain.Line(args[0]))
			return nil
		}),
		ValidArgsFunction: a.completePlugins(cobra.ShellCompDirectiveNoFileComp),
	}
	cmd.Flags().Bool("yes", false, "changes nothing: it does not ask")
	return cmd
}
