package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/host/pluginstore"
)

const grantLong = `A transport may be given kinds of things to open, by a server entry that says
which: process (the command of the entry), stream (its address), http (its url).
With serve it may also frame the messages of clients of wharf; it could then send
requests of its own to every server that they reach.
An auth provider may be given origins to call, such as https://sso.example, and
discover: every public https origin that it learns of on the way.`

// newPluginGrant returns the command that grants access, or the one that revokes it.
func newPluginGrant(a *app, give bool) *cobra.Command {
	use, short := "grant NAME ACCESS…", "Let server entries give an installed plugin more"
	if !give {
		use, short = "revoke NAME ACCESS…", "Take from an installed plugin what it was granted"
	}
	return &cobra.Command{
		Use: use, Short: short, Long: short + ".\n\n" + grantLong,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return exactly("NAME", "ACCESS")(cmd, args)
			}
			return nil
		},
		RunE: a.onStore(func(ctx context.Context, store *pluginstore.Store, args []string) error {
			p, err := store.Grant(ctx, args[0], give, args[1:]...)
			if err != nil {
				return err
			}
			return a.sayInstalled(store, p, "is granted "+accesses(p.Granted))
		}),
		ValidArgsFunction: a.completeGrants,
	}
}

// completeGrants offers installed plugins, and after one of them what it asks for. Serve is not
// offered: it is to be asked for by its name.
func (a *app) completeGrants(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return a.completePlugins(cobra.ShellCompDirectiveNoFileComp)(cmd, args, word)
	}
	var words []string
	if store, err := openStore(); err == nil {
		if p, err := store.Find(args[0]); err == nil {
			words = slices.Concat(p.Asked, p.Granted)
		}
	}
	slices.Sort(words)
	return slices.Compact(words), cobra.ShellCompDirectiveNoFileComp
}
