package main

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/gateway"
)

func newBridge(a *app) *cobra.Command {
	var printFor string
	var shared bool
	cmd := &cobra.Command{
		Use:   "bridge SERVER | -- COMMAND…",
		Short: "Be a server over stdin and stdout, for an editor or agent",
		Long: `Pass the messages of an MCP client on stdin and stdout on to a server, whatever
transport and sign-in the server needs: an editor or agent that can start a program
reaches every server that Wharf reaches. It ends when stdin ends, or when the program
that started it does. Once stdin has ended, calls under way may take three seconds more,
not counted while a server starts or a person signs in, and are then cancelled.

With --shared it uses the server of the daemon, as all programs in this folder do that offer
the server the same (see wharf daemon). It starts the server itself where the daemon would start another one.

--print-config prints what to paste into the configuration of such a client.`,
		Example:           "  wharf bridge --print-config=zed demo",
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: a.completeServers,
	}
	cmd.RunE = func(cmd *cobra.Command, words []string) error {
		if cmd.Flags().Changed("print-config") { // first of all: without the CLIENT, SERVER is taken for it
			if _, err := pasteClient(printFor); err != nil {
				return err
			}
		}
		server, left, err := a.target(cmd, words)
		if err == nil {
			err = cmp.Or(exactly()(cmd, left), checkServing(cmd))
		}
		switch {
		case err != nil:
			return err
		case shared && (a.adHoc || a.address != ""):
			return exit.Usage(errors.New("the daemon has the servers of the configuration alone, and this one is given on the spot"), "")
		case cmd.Flags().Changed("print-config"):
			before, behind, err := a.fromAnywhere(server)
			if err != nil {
				return err
			}
			lasting, err := a.lasting(shared)
			if err != nil {
				return err
			}
			name := server.Name
			if a.adHoc || a.address != "" {
				name = a.nameOnSpot()
			}
			return a.printConfig(printFor, name, slices.Concat([]string{"bridge"}, lasting, before, behind), a.lacksAnywhere("what is pasted", server))
		}
		return a.bridge(cmd.Context(), server, shared)
	}
	printsConfig(cmd, &printFor)
	sharesServers(cmd, &shared)
	return cmd
}

// bridge serves the client on stdin and stdout as if it were connected to the server. It may share the
// server with others.
func (a *app) bridge(ctx context.Context, server host.Server, shared bool) error {
	if a.InTTY {
		return exit.Usage(errors.New("bridge talks to a program on stdin and stdout, and stdin is a terminal"),
			"`wharf shell %s` is for people; `wharf bridge --print-config=CLIENT %[1]s` prints what an editor starts it with", plain.Word(a.serverWord()))
	}
	if shared {
		if joined, err := a.serveShared(ctx, server); joined || err != nil {
			return err
		}
	}
	return a.serveStarter(ctx, []host.Server{server}, gateway.Config{Bare: true})
}
