package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host"
)

func newLogin(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "login SERVER",
		Short: "Sign in to a server",
		Long: `Sign in to a server, whatever is saved. SERVER is the name of a configured
server, or a url. The page to sign in at opens in your browser; with --no-browser
its address is printed, and the address that your browser ends at can be pasted.

Commands that need a sign-in ask for it by themselves on a terminal.`,
		Example: `  wharf login tracker
  wharf login --no-browser https://mcp.example.com/mcp`,
		Args:              exactly("SERVER"),
		ValidArgsFunction: a.completeServers,
		RunE:              a.runLogin,
	}
}

func (a *app) runLogin(cmd *cobra.Command, args []string) error {
	server, _, err := a.target(cmd, args)
	if err != nil {
		return err
	}
	if server.Command != "" && server.Auth.Provider == "" {
		return exit.Usage(fmt.Errorf("sign in to %s: it is a program on this machine, which needs no sign-in", server.Name),
			"the keys and tokens that it wants go into env in its entry")
	}
	if !a.CanAsk() && !a.flags.mayAsk() {
		return fmt.Errorf("sign in to %s: %w: there is no terminal", server.Name,
			exit.WithHint(host.ErrAuthRequired, "run it on a terminal, or with --no-browser, or with --browser"))
	}
	h, err := a.newHost(cmd.Context(), nil, a.letSignIn)
	if err != nil {
		return err
	}
	defer h.Close()
	if err := h.Login(cmd.Context(), server); err != nil {
		return err
	}
	fmt.Fprintf(a.Err, "Signed in to %s.\n", plain.Name(server.Name, plain.NameColumns))
	return nil
}
