package measure

import (
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/wharf-mcp/wharf/cmd/compare/internal/contestant"
	"github.com/wharf-mcp/wharf/cmd/compare/internal/server"
)

// idle keeps many connections, each of which was used once: for a list of tools
// and for a call. The first of them is the one that the run began with.
func idle(stdio, http int) func(context.Context, *run) (Values, error) {
	return func(ctx context.Context, r *run) (Values, error) {
		clients, err := r.crowd(ctx, stdio, http)
		for _, c := range clients {
			err = errors.Join(err, r.use(ctx, c))
		}
		var after footprint
		if err == nil {
			time.Sleep(settling * r.Time)
			after = weigh()
		}
		for _, c := range clients[1:] {
			err = errors.Join(err, c.Close())
		}
		return after.values(r.before, stdio+http), err
	}
}

// settling times the length of a measurement is how long idle connections rest before memory is
// measured. A client has nothing left to do by then.
const settling = 3

// crowd connects until there are that many connections. With an error it returns those that
// it made.
func (r *run) crowd(ctx context.Context, stdio, http int) ([]contestant.Client, error) {
	clients := []contestant.Client{r.client}
	for len(clients) < stdio+http {
		to := r.address
		if len(clients) >= stdio {
			to = contestant.Address{URL: r.site.URL(server.JSON)}
		}
		c, err := r.program.Connect(ctx, to)
		if err != nil {
			return clients, err
		}
		clients = append(clients, c)
	}
	return clients, nil
}

func (r *run) use(ctx context.Context, c contestant.Client) error {
	if err := r.list(ctx, c); err != nil {
		return err
	}
	return c.Echo(ctx, contestant.NewText(100))
}

// footprint is the memory of this process, without that of its children, in MB.
type footprint struct {
	resident float64 // every page once, however often it is mapped
	rss      float64 // as the system counts: for each place where it is mapped
	pss      float64 // its part of pages that others have mapped as well
	dirty    float64 // pages that no other process has, and that are not a file's
	heap     float64 // the garbage collector's memory, in use
}

// weigh gives free memory back to the system, and measures the rest.
func weigh() footprint {
	runtime.GC() // the second time finds what finalizers and pools let go of
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m) // before the mappings are read, which takes a megabyte
	f := mapped()
	f.heap = float64(m.HeapInuse+m.StackInuse) / (1 << 20)
	return f
}

func (f footprint) values(before footprint, connections int) Values {
	return Values{
		Once: f.resident, RSS: f.rss, PSS: f.pss, Dirty: f.dirty, Heap: f.heap, Before: before.resident,
		Each: (f.resident - before.resident) * 1024 / float64(connections),
	}
}
