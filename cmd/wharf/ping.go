package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host/mcp"
)

func newPing(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "ping SERVER | -- COMMAND…",
		Short: "Check that a server answers",
		Long: `Check that a server answers, and print how long it took: with ping, or with
server/discover where the protocol no longer has ping.`,
		Example:           "  wharf ping demo",
		Args:              cobra.ArbitraryArgs,
		RunE:              a.withServer(exactly(), a.ping),
		ValidArgsFunction: a.completeServers,
	}
}

// pingResult is how the JSON output shows the answer of a ping.
type pingResult struct {
	Server   string  `json:"server"`
	Era      mcp.Era `json:"era"`
	Protocol string  `json:"protocol"`
	Millis   float64 `json:"ms"`
}

func (a *app) ping(ctx context.Context, c *client, _ []string) error {
	began := time.Now()
	_, err := ask(ctx, c, "waiting for "+c.session.Name(), func(ctx context.Context) (struct{}, error) {
		return struct{}{}, c.session.Ping(ctx)
	})
	took := time.Since(began)
	if err != nil {
		return err
	}
	info := c.session.Info()
	if !a.forPeople() {
		return a.PrintJSON(pingResult{c.session.Name(), info.Era, info.Protocol, float64(took.Microseconds()) / 1000})
	}
	return a.Print(fmt.Sprintf("%s answered in %v (%s)\n", plain.Line(c.session.Name()), took.Round(10*time.Microsecond), info.Protocol))
}
