package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/args"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host/mcp"
)

func newPing(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "ping SERVER | -- COMMAND…",
		Short: "Ask a server for a sign of life",
		Long: `Ask a server for a sign of life and tell how long it took: with ping, and where the
protocol no longer has that, with server/discover.`,
		Example:           "  wharf ping demo",
		Args:              cobra.ArbitraryArgs,
		RunE:              a.visit(exactly(), a.ping),
		ValidArgsFunction: a.completeServers,
	}
}

// sign is a sign of life.
type sign struct {
	Server   string  `json:"server"`
	Era      mcp.Era `json:"era"`
	Protocol string  `json:"protocol"`
	Millis   float64 `json:"ms"`
}

func (a *app) ping(ctx context.Context, l *link, _ []string) error {
	began := time.Now()
	_, err := ask(ctx, l, "waiting for "+l.session.Name(), func(ctx context.Context) (struct{}, error) {
		return struct{}{}, l.session.Ping(ctx)
	})
	took := time.Since(began)
	if err != nil {
		return err
	}
	info := l.session.Info()
	if !a.forPeople() {
		return a.PrintJSON(sign{l.session.Name(), info.Era, info.Protocol, float64(took.Microseconds()) / 1000})
	}
	return a.Print(fmt.Sprintf("%s answered in %v (%s)\n", plain.Line(l.session.Name()), took.Round(10*time.Microsecond), info.Protocol))
}

func newRequest(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "request SERVER METHOD [ARGUMENT…] | METHOD [ARGUMENT…] -- COMMAND…",
		Short: "Send a server a request of any method",
		Long: `Send a server a request of any method and print the result as JSON. The params
are given as the arguments of call are, only that there is no schema here:
key=value is a string, key:=JSON anything else, and nothing is checked.`,
		Example: `  wharf request demo tools/list
  wharf request demo resources/read uri=demo://about`,
		Args:              cobra.ArbitraryArgs,
		PreRun:            func(*cobra.Command, []string) { a.flags.noValidate = true },
		RunE:              a.visit(atLeast("METHOD"), a.request),
		ValidArgsFunction: a.completeServers,
	}
	a.flags.registerArgs(cmd)
	return cmd
}

func (a *app) request(ctx context.Context, l *link, words []string) error {
	typed, err := args.Read(ctx, a.In, a.flags.args, words[1:])
	if err != nil {
		return err
	}
	params, err := typed.Build(words[0], nil)
	if err != nil {
		return err
	}
	result, err := ask(ctx, l, "asking "+l.session.Name(), func(ctx context.Context) (result json.RawMessage, err error) {
		err = l.session.Call(ctx, words[0], params, &result)
		return result, err
	})
	if err != nil {
		return err
	}
	if !a.forPeople() {
		return a.PrintRaw(result)
	}
	return a.PrintPlain(endLine(indented(result)))
}
