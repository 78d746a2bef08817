package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host/pluginstore"
)

const pluginAddLong = `Fetch a plugin, look at it, show what it asks for, and install it if you say yes.

It is one that ` + "`wharf plugin extras`" + ` lists, or comes from a file, from https://… or
from oci://host/name:tag, where it is the only layer of an artifact that can be read
without signing in. It is read once: what
was hashed, verified and shown is what is installed. It is compiled in a process of
its own that has limits.

Where a minisign signature lies beside it (FILE.minisig), or --signature names one,
the file has to be signed: by the --key of its publisher, or by the minisign.pub
beside it, which is trusted from then on. Updates must be signed by the same key.

Without a terminal no question can be asked. There, --yes with --sha256 installs
exactly the file that has this hash. One that ` + "`wharf plugin extras`" + ` lists needs --yes
alone: its hash is in the list.`

func newPluginAdd(a *app) *cobra.Command {
	var r installRequest
	cmd := &cobra.Command{
		Use: "add NAME|FILE|URL|oci://…", Short: "Install a plugin, after showing what it asks for", Long: pluginAddLong,
		Args: exactly("NAME|FILE|URL|oci://…"),
		RunE: a.onStore(func(ctx context.Context, store *pluginstore.Store, args []string) error {
			r.Source = args[0]
			if err := errors.Join(r.nameExtra(), r.read(ctx)); err != nil {
				return err
			}
			o, err := a.offer("looking at "+plain.Line(args[0]), "", func() (*pluginstore.Offer, error) { return store.Offer(ctx, r.Request) })
			if err != nil {
				return err
			}
			return a.install(ctx, store, o, &r)
		}),
		ValidArgsFunction: completeExtras,
	}
	r.register(cmd)
	cmd.Flags().StringVar(&r.Name, "name", "", "what server entries call it (default: the `NAME` that it gives itself)")
	return cmd
}
