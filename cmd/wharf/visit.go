package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/host"
)

// visit is what most commands do: find the server that the command line is
// about, connect, ask it something, and leave. use gets the words that are left;
// how many there may be, check says.
func (a *app) visit(check cobra.PositionalArgs, use func(ctx context.Context, l *link, words []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		server, words, err := a.target(cmd, args)
		if err != nil {
			return err
		}
		if err := check(cmd, words); err != nil {
			return err
		}
		l, err := a.dial(cmd.Context(), server)
		if err != nil {
			return err
		}
		defer l.close()
		return use(cmd.Context(), l, words)
	}
}

// atLeast is the check of a command that takes the named arguments and more.
func atLeast(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return exit.Usage(fmt.Errorf("%s is missing", names[len(args)]), "usage: %s", cmd.UseLine())
		}
		return nil
	}
}

// ask is one request, with a sign of life while it takes its time. It is for what
// is typed; a server that does not declare it gets a hint.
func ask[T any](ctx context.Context, l *link, what string, request func(context.Context) (T, error)) (T, error) {
	defer l.app.Busy(what)()
	result, err := request(ctx)
	l.ended(err)
	if errors.Is(err, host.ErrUnsupported) {
		err = exit.WithHint(err, "`wharf request` asks a server whatever it declares")
	}
	return result, err
}
