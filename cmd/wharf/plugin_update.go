package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host/pluginstore"
)

func newPluginUpdate(a *app) *cobra.Command {
	var r installRequest
	cmd := &cobra.Command{
		Use: "update NAME", Short: "Fetch an installed plugin again, and show what has changed",
		Long: `Fetch an installed plugin again from where it came from, and show what has changed.

You are asked before it is replaced, unless it is a later version (semver.org) of the
same plugin, signed by the key that its last version was signed by, and asks for
nothing more than that did. An older version, another plugin in its place or one that
was signed earlier is asked about in spite of --yes, unless --sha256 names this very
file. What runs goes on with the old version.`,
		Args: exactly("NAME"),
		RunE: a.onStore(func(ctx context.Context, store *pluginstore.Store, args []string) error {
			if err := r.read(ctx); err != nil {
				return err
			}
			name := plain.Line(args[0])
			o, err := a.offer("looking for a new "+name, movedHint(name), func() (*pluginstore.Offer, error) { return store.Update(ctx, args[0], r.Request) })
			switch {
			case err != nil:
				return err
			case o.Same() && store.Verify(*o.Was) != nil: // what was fetched is what the lock says
				if err := store.Install(ctx, o); err != nil {
					return err
				}
				return a.sayInstalled(store, *o.Was, "has its file again")
			case o.Same():
				return a.sayInstalled(store, *o.Was, "is what it was")
			}
			return a.install(ctx, store, o, &r)
		}),
		ValidArgsFunction: a.completePlugins(cobra.ShellCompDirectiveNoFileComp),
	}
	r.register(cmd)
	return cmd
}

// movedHint says what to do about an installed plugin whose source is a file that is not there any more.
func movedHint(name string) string {
	return fmt.Sprintf("it is fetched from where it came from: put the file there again, or `wharf plugin remove %s`, and add it from where it is now", name)
}
