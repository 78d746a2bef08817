package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/paste"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/gateway"
	"github.com/wharf-mcp/wharf/host/signin"
)

func newBridge(a *app) *cobra.Command {
	var printFor string
	cmd := &cobra.Command{
		Use:   "bridge SERVER | -- COMMAND…",
		Short: "Be a server over stdin and stdout, for an editor or agent",
		Long: `Pass the messages of an MCP client on stdin and stdout on to a server, whatever
transport and sign-in the server needs: an editor or agent that can start a program
reaches every server that Wharf reaches. It ends when stdin ends, or when the program
that started it does.

--print-config prints what to paste into the configuration of such a client.`,
		Example:           "  wharf bridge --print-config=zed demo",
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: a.completeServers,
	}
	cmd.RunE = func(cmd *cobra.Command, words []string) error {
		server, left, err := a.target(cmd, words)
		if err == nil {
			err = exactly()(cmd, left)
		}
		switch {
		case err != nil:
			return err
		case cmd.Flags().Changed("print-config"):
			return a.printConfig(server, printFor)
		}
		return a.bridge(cmd.Context(), server)
	}
	cmd.Flags().StringVar(&printFor, "print-config", "", "print what to paste into the configuration of `CLIENT`: "+strings.Join(pasteClients(), ", "))
	cmd.RegisterFlagCompletionFunc("print-config", cobra.FixedCompletions(pasteClients(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func pasteClients() (ids []string) {
	for _, c := range paste.Clients {
		ids = append(ids, c.ID)
	}
	return ids
}

// printConfig prints the lines for a client's configuration that make the client start this program
// as a bridge to a server.
func (a *app) printConfig(server host.Server, id string) error {
	at := slices.Index(pasteClients(), id)
	if at < 0 {
		return exit.Usage(fmt.Errorf("--print-config %q: no such client is known", id), "the clients are %s", strings.Join(pasteClients(), ", "))
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("where this program is: %w", err)
	}
	before, behind, err := a.fromAnywhere(server)
	if err != nil {
		return err
	}
	client := &paste.Clients[at]
	text, err := client.Text(paste.Server{Name: server.Name, Command: program, Args: slices.Concat([]string{"bridge"}, before, behind)})
	if err != nil {
		return err
	}
	if !a.Quiet {
		a.Tell(term.Dim, client.Name+":", client.Where, "")
	}
	for _, lack := range a.lacksAnywhere("what is pasted", server) {
		a.Warn("%s", lack)
	}
	return a.Print(text)
}

// bridge serves the client on stdin and stdout until it ends its side, or until the program that
// started this one ends. What a server writes to its stderr goes to stderr as it comes: editors
// keep that as the log of the server.
func (a *app) bridge(ctx context.Context, server host.Server) error {
	if a.InTTY {
		return exit.Usage(errors.New("bridge talks to a program on stdin and stdout, and stdin is a terminal"),
			"`wharf shell %s` is for people; `wharf bridge --print-config=CLIENT %[1]s` prints what an editor starts it with", plain.Word(a.serverWord()))
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	go func() {
		awaitOrphaned(ctx)
		end()
	}()
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
	server = a.flags.withTimeout(server)
	if err := h.Approve(ctx, server); err != nil {
		return err
	}
	g, err := gateway.New(h, gateway.Config{Servers: []host.Server{server}, Bare: true})
	if err != nil {
		return err
	}
	defer g.Close()
	stream, err := standardStream()
	if err != nil {
		return err
	}
	a.endless = true
	return g.ServeConn(ctx, stream)
}

// openUnasked opens the page of a sign-in in the browser, where the client cannot show it: there is
// a person behind an editor, and no terminal. The host opens one page at a time, and none again
// after one that the person has left alone.
func (a *app) openUnasked(ctx context.Context, p signin.Page) error {
	fmt.Fprintf(a.Err, "%s  %s\n", a.Own("To sign in to %s, visit", plain.Name(p.Server, plain.NameColumns)), cleantext.Text(p.URL))
	err := errors.New("no browser is to be opened")
	if a.flags.opensBrowser(true) {
		err = signin.OpenBrowser(ctx, p.URL)
	}
	if err != nil {
		return fmt.Errorf("%s wants a sign-in, and its page cannot be shown (%w); run: wharf login %s", plain.Line(p.Server), err, plain.Word(p.Server))
	}
	return nil
}
