package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/release"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/control"
	"github.com/wharf-mcp/wharf/host/signin"
)

func newControl(a *app) *cobra.Command {
	var schema bool
	cmd := &cobra.Command{
		Use:   "control [--schema]",
		Short: "Serve the plugin of an editor over stdin and stdout",
		Long: `Serve a plugin of an editor that shows servers and calls their tools by itself, in
JSON-RPC 2.0 on stdin and stdout, framed by lines or by Content-Length. It lists servers and
their states, starts and stops them, calls tools with progress and cancellation, and tells
what happens; forms, sign-ins and approvals are asked in the editor. It ends when stdin
ends, or when the program that started it does.

docs/CONTROL.md explains the messages; --schema prints the JSON Schema of all of them.`,
		Example: "  wharf control --schema",
		Args:    exactly(),
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if schema {
			_, err := a.Out.Write(control.Schema())
			return err
		}
		if a.InTTY {
			return exit.Usage(errors.New("control talks to an editor on stdin and stdout, and stdin is a terminal"),
				"`wharf shell` is for people; `wharf control --schema` prints what an editor sends")
		}
		s, err := a.load()
		if err != nil {
			return err
		}
		return a.control(cmd.Context(), s.shown())
	}
	cmd.Flags().BoolVar(&schema, "schema", false, "print the JSON Schema of the protocol")
	return cmd
}

// control serves the editor on stdin and stdout. A server of a project that is not approved stays among
// those that the editor lists: it asks for the approval when the server is first needed.
func (a *app) control(ctx context.Context, servers []host.Server) error {
	ctx, end := untilOrphaned(ctx)
	defer end()
	c := control.New(control.Config{Wharf: control.Program{Name: "wharf", Version: release.Version()}})
	h, err := a.servingHost(ctx, func(hc *host.Config) {
		hc.Person = &signin.Person{OpenURL: a.openUnasked}
		c.Install(hc)
	})
	if err != nil {
		return err
	}
	defer h.Close()
	served := make([]host.Server, len(servers))
	for i, server := range servers {
		served[i] = a.flags.withTimeout(server)
	}
	if err := c.Open(h, served); err != nil {
		return err
	}
	defer c.Close()
	stream, err := standardStream()
	if err != nil {
		return err
	}
	a.endless = true
	return c.ServeConn(ctx, stream)
}
