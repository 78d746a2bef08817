package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/signin"
)

func newLogin(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "login SERVER",
		Short: "Sign in to a server",
		Long: `Sign in to a server, whatever is saved. SERVER is the name of a configured
server, or a url. The page to sign in at opens in your browser; with --no-browser
its address is printed, and the address that your browser ends at can be pasted.

What the sign-in gives is tried at the server. An API key or a token that you type is not
kept if the server refuses it.

Commands that need a sign-in ask for it by themselves on a terminal. A sign-in that
needs no person (grant = "client_credentials") needs no terminal.`,
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
	anyone, err := a.answersAnyone(cmd.Context(), server)
	if err == nil && anyone {
		err = a.signInAnyway(cmd.Context(), server)
	}
	if err != nil {
		return err
	}
	var person []func(*host.Config)
	var typed atomic.Bool
	if a.CanAsk() || a.flags.mayAsk() {
		person = append(person, func(c *host.Config) {
			a.letSignIn(c)
			ask := c.Person.Ask
			c.Person.Ask = func(ctx context.Context, q signin.Question) (string, error) { typed.Store(true); return ask(ctx, q) }
		})
	}
	h, err := a.newHost(cmd.Context(), nil, person...)
	if err != nil {
		return err
	}
	defer h.Close()
	err = h.Login(cmd.Context(), server)
	if person == nil && errors.Is(err, host.ErrLogin) {
		return fmt.Errorf("sign in to %s: %w: there is no terminal", server.Name,
			exit.WithHint(host.ErrAuthRequired, "run it on a terminal, or with --no-browser, which also reads an API key from stdin, or with --browser"))
	}
	if errors.Is(err, signin.ErrTypedRefused) && a.CanAsk() { // it may be mistyped
		fmt.Fprint(a.Err, a.Own("%s refuses it. Once more:", plain.Name(server.Name, plain.NameColumns)))
		err = h.Login(cmd.Context(), server)
	}
	if err != nil {
		return err
	}
	name := plain.Name(server.Name, plain.NameColumns)
	if !typed.Load() { // else it was tried before it was kept
		err := a.attemptOn(host.WithOptions(cmd.Context(), host.RequestOptions{Unattended: true}), h, server)
		switch {
		case errors.Is(err, host.ErrLogin): // which is what was done
			return exit.WithHint(err, "it does not take what the sign-in gave: look at auth in the entry of "+server.Name)
		case errors.Is(err, host.ErrAuthRequired), errors.Is(err, host.ErrDenied), cmd.Context().Err() != nil:
			return err
		case err != nil:
			a.Warn("there are credentials for %s, and whether it takes them is not known: %v", name, err)
			return nil
		}
	}
	fmt.Fprintf(a.Err, "Signed in to %s.\n", name)
	return nil
}

// answersAnyone reports whether a server whose entry does not mention a sign-in can be connected
// without one. Its error says that the server is not reached, or refuses everyone. A server that
// is too slow gives no error: the sign-in that follows says what is wrong.
func (a *app) answersAnyone(ctx context.Context, server host.Server) (bool, error) {
	if server.URL == "" || !server.Auth.IsZero() || server.Project != nil { // a project's entry is approved as it is
		return false, nil
	}
	server.Auth.Provider = config.AuthNone
	err := a.attempt(ctx, server)
	a.refusal = host.RefusalText(err)
	if errors.Is(err, host.ErrUnreachable) || errors.Is(err, host.ErrDenied) {
		return false, err
	}
	return err == nil, nil
}

// attempt connects to a server once, and asks no person to sign in.
func (a *app) attempt(ctx context.Context, server host.Server) error {
	h, err := a.newHost(ctx, nil)
	if err != nil {
		return err
	}
	defer h.Close()
	return a.attemptOn(ctx, h, server)
}

// attemptOn is attempt on a host that is there.
func (a *app) attemptOn(ctx context.Context, h *host.Host, server host.Server) error {
	defer a.Busy("connecting to " + server.Name)()
	server.StartTimeout = answerTime
	session, err := connect(ctx, h, server)
	if err == nil {
		session.Close()
	}
	return err
}

// answerTime is how long a server may take to show whether it needs a sign-in.
const answerTime = 10 * time.Second

// signInAnyway asks the person whether to sign in to a server that answers without a sign-in: it
// may have more to offer then. Without a terminal, --browser or --no-browser has to say that a
// person is there, and counts as a yes.
func (a *app) signInAnyway(ctx context.Context, server host.Server) error {
	if !a.CanAsk() && !a.flags.mayAsk() {
		return exit.Usage(fmt.Errorf("sign in to %s: it answers without a sign-in", server.Name),
			"`wharf tools %s` lists what it can do; to sign in all the same, run this on a terminal", plain.Word(cmp.Or(a.address, server.Name)))
	}
	above := a.Own("%s answers without a sign-in.", plain.Name(server.Name, plain.NameColumns))
	return a.agreeTo(ctx, above, "Sign in all the same? yes, [n]o: ", !a.CanAsk())
}
