package main

import (
	"cmp"
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/host/control"
)

func newControl(a *app) *cobra.Command {
	var schema, socket, shared bool
	cmd := &cobra.Command{
		Use:   "control [--schema | --socket | --shared]",
		Short: "Serve the plugin of an editor over stdin and stdout",
		Long: `Serve a plugin of an editor that shows servers and calls their tools by itself, in
JSON-RPC 2.0 on stdin and stdout, framed by lines or by Content-Length. It lists servers and
their states, starts and stops them, calls tools with progress and cancellation, and tells
what happens; forms, sign-ins and approvals are asked in the editor. It ends when stdin
ends, or when the program that started it does.

With --socket and --shared several editors use one daemon and its servers (see wharf daemon).
--socket starts it if none runs, and prints the path of a unix socket, to which the editor
connects by itself. --shared passes stdin and stdout on to it, for editors that cannot.

docs/CONTROL.md explains the messages; --schema prints the JSON Schema of all of them.`,
		Example: "  wharf control --schema\n  wharf control --socket",
		Args:    exactly(),
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := cmp.Or(exclusive(cmd, "schema", "socket"), exclusive(cmd, "schema", "shared"), exclusive(cmd, "socket", "shared")); err != nil {
			return err
		}
		if schema {
			return a.Print(string(control.Schema()))
		}
		if socket {
			return a.printSocket(cmd.Context())
		}
		if a.InTTY {
			return exit.Usage(errors.New("control talks to an editor on stdin and stdout, and stdin is a terminal"),
				"`wharf shell` is for people; `wharf control --schema` prints what an editor sends")
		}
		if _, err := a.load(); err != nil {
			return err
		}
		if shared {
			return a.pumpControl(cmd.Context())
		}
		return a.control(cmd.Context())
	}
	cmd.Flags().BoolVar(&schema, "schema", false, "print the JSON Schema of the protocol")
	cmd.Flags().BoolVar(&socket, "socket", false, "start the daemon if none runs, and print the path of its socket")
	cmd.Flags().BoolVar(&shared, "shared", false, "use the daemon and its servers")
	return cmd
}

// control serves the editor on stdin and stdout. A server of a project that is not approved stays among
// those that the editor lists: it asks for the approval when the server is first needed.
func (a *app) control(ctx context.Context) error {
	ctx, end := untilOrphaned(ctx)
	defer end()
	c, h, err := a.openControl(ctx, false, nil)
	if err != nil {
		return err
	}
	defer h.Close()
	defer c.Close()
	stream, err := standardStream()
	if err != nil {
		return err
	}
	a.endless = true
	return c.ServeConn(ctx, stream)
}
