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
	"github.com/wharf-mcp/wharf/host/gateway"
)

func newServe(a *app) *cobra.Command {
	var address, printFor string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Be all your servers as one, for editors and agents",
		Long: `Serve MCP clients: all your servers as one, where tools and prompts are called
SERVER__NAME, whatever transport and sign-in each server needs. A server is started when a
client first needs it. Clients of any revision of the protocol reach servers of any.

Without --http the client is the program that starts this one, on stdin and stdout: it
ends when stdin ends, or when that program does.

With --http clients come over Streamable HTTP, to /mcp, and at a path of its own to each
server as it is. ADDRESS is a port, or an address of this machine and a port; port 0 is
any that is free. Clients send the header Authorization: Bearer, with a token that is made
at the first start and kept in a file that only you can read. Pages of a browser are
refused, unless they are of this machine. It ends when it is interrupted.

--print-config prints what to paste into the configuration of a client that starts it.`,
		Example: "  wharf serve --print-config=claude\n  wharf serve --http 7777",
		Args:    cobra.NoArgs,
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := a.load()
		switch {
		case err != nil:
			return err
		case cmd.Flags().Changed("print-config"):
			file, err := a.configAnywhere()
			if err != nil {
				return err
			}
			return a.printConfig(printFor, "wharf", append([]string{"serve"}, file...), nil)
		case cmd.Flags().Changed("http"):
			return a.serveHTTP(cmd.Context(), s.wanted(), address)
		case a.InTTY:
			return exit.Usage(errors.New("serve talks to a program on stdin and stdout, and stdin is a terminal"),
				"`wharf serve --print-config=CLIENT` prints what an editor starts it with; over HTTP: `wharf serve --http 7777`")
		}
		return a.serveStarter(cmd.Context(), s.wanted(), gateway.Config{})
	}
	cmd.Flags().StringVar(&address, "http", "", "listen at `ADDRESS` of this machine")
	printsConfig(cmd, &printFor)
	return cmd
}

// serveHTTP serves clients over HTTP until it is interrupted.
func (a *app) serveHTTP(ctx context.Context, servers []host.Server, address string) error {
	dir, err := os.UserConfigDir()
	if err != nil {
		return exit.Usage(err, "the token of the clients is kept in your own configuration folder")
	}
	principal, file, err := gateway.Bearer(filepath.Join(dir, "wharf", "serve"))
	if err != nil {
		return err
	}
	return a.serveClients(ctx, servers, gateway.Config{Principal: principal}, func(g *gateway.Gateway, served []host.Server) error {
		l, err := listener.HTTP(ctx, address)
		switch {
		case errors.Is(err, listener.ErrElsewhere):
			return exit.Usage(fmt.Errorf("--http %s: %w", address, err),
				"only addresses of this machine are served, such as 127.0.0.1:7777; from elsewhere, come through ssh -L")
		case err != nil:
			return exit.Usage(fmt.Errorf("--http %s: %w", address, err), "ADDRESS is a port that is free, such as 7777, or 127.0.0.1:7777")
		}
		if err := a.tellServed(l.Addr().String(), file, served); err != nil {
			l.Close()
			return err
		}
		a.endless = true
		return listener.Serve(ctx, l, g.Handler(), func() { g.Close() })
	})
}

// served is how the JSON output shows a server that clients reach. Without a name it is all servers
// as one.
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
