package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/vault"
)

func newLogout(a *app) *cobra.Command {
	all := false
	cmd := &cobra.Command{
		Use:   "logout SERVER",
		Short: "Sign out of a server",
		Long: `Sign out of a server: what is saved for it is revoked, where the server takes
that, and forgotten. So is what an authorization server knows Wharf by, where no other
sign-in is one of that server.

Entries with the same url that sign in in different ways have a sign-in each. --all
forgets those of the others too, and those of an entry's former settings, which nothing
else reaches; only that of SERVER is revoked.`,
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
			return a.logout(cmd.Context(), h, server, all)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "forget every sign-in to the url of SERVER")
	return cmd
}

// logout signs out, and says whether anything was saved. With all, it forgets what is saved of other
// sign-ins to the same url as well.
func (a *app) logout(ctx context.Context, h *host.Host, server host.Server, all bool) error {
	before, unknown := a.vaultEntries(ctx)
	signOut := h.Logout
	if all {
		signOut = h.LogoutAll
	}
	if err := signOut(ctx, server); err != nil {
		return err
	}
	after, err := a.vaultEntries(ctx)
	if server.URL != "" { // else it has no authorization server
		if err := a.forgetRegistrations(ctx); err != nil {
			return err
		}
	}
	if unknown == nil && err == nil && slices.Equal(before, after) {
		fmt.Fprintf(a.Err, "Nothing was saved of a sign-in to %s.\n", plain.Name(server.Name, plain.NameColumns))
		return nil
	}
	fmt.Fprintf(a.Err, "Signed out of %s.\n", plain.Name(server.Name, plain.NameColumns))
	return nil
}

// forgetRegistrations forgets the registered clients of authorization servers that no saved
// sign-in is from. Servers share a client, so signing out of one server does not forget it.
func (a *app) forgetRegistrations(ctx context.Context) error {
	v, err := a.vault()
	if err != nil {
		return err
	}
	saved, err := v.List(ctx)
	if err != nil {
		return err
	}
	for _, one := range saved {
		used := func(e vault.Entry) bool {
			return e.Key != one.Key && e.Provider == one.Provider && e.Issuer == one.Issuer
		}
		if shared := step.RegistrationKey(one.Issuer); one.Issuer == "" || one.Name != shared.Name || one.Resource != "" || slices.ContainsFunc(saved, used) {
			continue
		}
		if err := v.Forget(ctx, one.Key, 0); err != nil {
			return err
		}
	}
	return nil
}
