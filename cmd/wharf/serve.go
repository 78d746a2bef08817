package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/listener"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/gateway"
	"github.com/wharf-mcp/wharf/host/signin"
)

func newServe(a *app) *cobra.Command {
	var address string
	cmd := &cobra.Command{
		Use:   "serve --http ADDRESS",
		Short: "Be all your servers over HTTP, for editors and agents",
		Long: `Serve MCP clients over Streamable HTTP: all your servers as one at /mcp, where tools and
prompts are called SERVER__NAME, and each at a path of its own, whatever transport and
sign-in it needs. A server is started when a client first needs it. Clients of any
revision of the protocol reach servers of any.

ADDRESS is a port, or an address of this machine and a port; port 0 is any that is free.
Clients send the header Authorization: Bearer, with a token that is made at the first
start and kept in a file that only you can read. Pages of a browser are refused, unless
they are of this machine. It ends when it is interrupted.`,
		Example: "  wharf serve --http 7777",
		Args:    cobra.NoArgs,
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if address == "" {
			return exit.Usage(errors.New("serve needs an address to listen at"), "try `wharf serve --http 7777`; for one server on stdin and stdout: `wharf bridge SERVER`")
		}
		return a.serve(cmd.Context(), address)
	}
	cmd.Flags().StringVar(&address, "http", "", "listen at `ADDRESS` of this machine")
	return cmd
}

// serve serves clients over HTTP until it is interrupted.
func (a *app) serve(ctx context.Context, address string) error {
	s, err := a.load()
	if err != nil {
		return err
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return exit.Usage(err, "the token of the clients is kept in your own configuration folder")
	}
	principal, file, err := gateway.Bearer(filepath.Join(dir, "wharf", "serve"))
	if err != nil {
		return err
	}
	log := a.NewHeldLog()
	log.Release()
	if a.Quiet {
		log.Hush()
	}
	a.follows = true
	h, err := a.newHost(ctx, log, a.flags.roots.letRoots, func(c *host.Config) {
		c.OneShot, c.Person = false, gateway.Person(&signin.Person{OpenURL: a.openUnasked})
	})
	if err != nil {
		return err
	}
	defer h.Close()
	var servers []host.Server
	for _, server := range a.approved(ctx, h, s.wanted()) {
		servers = append(servers, a.flags.withTimeout(server))
	}
	g, err := gateway.New(h, gateway.Config{Servers: servers, Principal: principal})
	if err != nil {
		return err
	}
	defer g.Close()
	l, err := listener.HTTP(ctx, address)
	switch {
	case errors.Is(err, listener.ErrElsewhere):
		return exit.Usage(fmt.Errorf("--http %s: %w", address, err),
			"only addresses of this machine are served, such as 127.0.0.1:7777; from elsewhere, come through ssh -L")
	case err != nil:
		return exit.Usage(fmt.Errorf("--http %s: %w", address, err), "ADDRESS is a port that is free, such as 7777, or 127.0.0.1:7777")
	}
	if err := a.tellServed(l.Addr().String(), file, servers); err != nil {
		l.Close()
		return err
	}
	a.endless = true
	return listener.Serve(ctx, l, g.Handler(), func() { g.Close() })
}

// approved returns the servers that may be used, and warns of the others.
func (a *app) approved(ctx context.Context, h *host.Host, all []config.Server) (may []config.Server) {
	for _, server := range all {
		if err := h.Approve(ctx, server); err != nil {
			a.Warn("%s is not served: %v", plain.Name(server.Name, plain.NameColumns), err)
			continue
		}
		may = append(may, server)
	}
	return may
}

// served is a server that clients reach, for programs. Without a name it is all of them as one.
type served struct {
	Name  string `json:"name,omitempty"`
	URL   string `json:"url"`
	Token string `json:"token_file"`
}

// tellServed prints where clients reach what.
func (a *app) tellServed(address, file string, servers []host.Server) error {
	all := "http://" + address + "/mcp"
	list, rows := []served{{URL: all, Token: file}}, plain.Table{{"NAME", "URL"}, {"(all as one)", all}}
	for _, server := range servers {
		at := (&url.URL{Scheme: "http", Host: address, Path: "/mcp/" + server.Name}).String()
		list = append(list, served{server.Name, at, file})
		rows = append(rows, []string{plain.Name(server.Name, plain.NameColumns), at})
	}
	if a.forPeople() && !a.Quiet {
		a.Tell(term.Dim, "Header:", "Authorization: Bearer, with the token in "+file, "")
	}
	return a.printList(list, rows)
}
