package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host"
)

func newLogout(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "logout SERVER",
		Short: "Sign out of a server",
		Long: `Sign out of a server: what is saved for it is revoked, where the server takes
that, and forgotten.`,
		Args:              exactly("SERVER"),
		ValidArgsFunction: a.completeServers,
		RunE: func(cmd *cobra.Command, args []string) error {
			server, _, err := a.target(cmd, args)
			if err != nil {
				return err
			}
			h, err := a.newHost(cmd.Context(), nil)
			if err != nil {
				return err
			}
			defer h.Close()
			return a.logout(cmd.Context(), h, server)
		},
	}
}

// logout signs out, and says whether anything was saved.
func (a *app) logout(ctx context.Context, h *host.Host, server host.Server) error {
	before, unknown := a.vaultEntries(ctx)
	if err := h.Logout(ctx, server); err != nil {
		return err
	}
	after, err := a.vaultEntries(ctx)
	if unknown == nil && err == nil && slices.Equal(before, after) {
		fmt.Fprintf(a.Err, "Nothing was saved of a sign-in to %s.\n", plain.Name(server.Name, plain.NameColumns))
		return nil
	}
	fmt.Fprintf(a.Err, "Signed out of %s.\n", plain.Name(server.Name, plain.NameColumns))
	return nil
}
