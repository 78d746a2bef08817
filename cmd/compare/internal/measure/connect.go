package measure

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/wharf-mcp/wharf/cmd/compare/internal/contestant"
)

// connects bounds how often a connection is made.
const connects = 50

// connected makes connections, one after the other. The first
// connection of the run shows the time and the memory of a first one, and has warmed up
// what a program keeps.
func connected(ctx context.Context, r *run) (Values, error) {
	if err := r.list(ctx, r.client); err != nil {
		return nil, err
	}
	if err := r.client.Echo(ctx, contestant.NewText(100)); err != nil {
		return nil, err
	}
	weight := resident()
	var took []time.Duration
	for end := time.Now().Add(r.Time); len(took) == 0 || len(took) < connects && time.Now().Before(end); {
		d, err := r.reconnect(ctx)
		if err != nil {
			return nil, err
		}
		took = append(took, d)
	}
	slices.Sort(took)
	return Values{
		First: milliseconds(r.first),
		P50:   milliseconds(quantile(took, 0.50)),
		RSS:   weight,
	}, nil
}

// reconnect times one connection up to its list of tools; closing it does not
// count.
func (r *run) reconnect(ctx context.Context) (time.Duration, error) {
	start := time.Now()
	c, err := r.program.Connect(ctx, r.address)
	if err != nil {
		return 0, err
	}
	err = r.list(ctx, c)
	took := time.Since(start)
	if cerr := c.Close(); err == nil {
		err = cerr
	}
	return took, err
}

func (r *run) list(ctx context.Context, c contestant.Client) error {
	n, err := c.Tools(ctx)
	if err == nil && n != r.tools {
		err = fmt.Errorf("the list has %d tools, expected %d", n, r.tools)
	}
	return err
}
