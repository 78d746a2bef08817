// Package measure takes one measure of one contestant, in a process in which
// nothing else happens.
package measure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/wharf-mcp/wharf/cmd/compare/internal/contestant"
	"github.com/wharf-mcp/wharf/cmd/compare/internal/server"
)

// Job says what a process has to do.
type Job struct {
	Contestant string
	Measure    string
	Server     []string      // the command of the server over stdio; this and those below get the number of tools as well
	Web        []string      // the command of the server over HTTP
	Socket     []string      // the command of the server on a unix socket
	Tuned      bool          // peers keep enough connections over HTTP
	CacheDir   string        // where a contestant may keep compiled plugins
	Time       time.Duration // how long to call; a tenth more is spent before, to warm up
	Flood      int           // how many notifications
}

// Values are figures by the name of their metric, in the metric's unit.
type Values map[string]float64

// Metric is one figure of a measure.
type Metric struct {
	Name   string
	Unit   string
	Digits int  // behind the point
	More   bool // more is better
	Small  bool // the floor has next to none of it, so there is no ratio with it
}

// Measure is a test of a connection, with its figures.
type Measure struct {
	Name    string
	Title   string
	Form    server.Form // of the answers of a server that runs; empty over stdio
	Metrics []Metric
	Curve   string // the name of the [Curve] of which it is a point, if it is one
	At      int    // where on that curve
	weighs  bool   // it is one of memory, and begins before anything is there
	load    load   // of a point
	take    func(context.Context, *run) (Values, error)
}

// The groups of measures: those of one connection, by its transport; those of many idle
// connections; and the points of all curves.
const (
	Stdio  = "stdio"
	HTTP   = "http"
	Memory = "memory"
	Scale  = "scale"
)

// Group returns the group that the measure is in.
func (m Measure) Group() string {
	switch {
	case m.Curve != "":
		return Scale
	case m.weighs:
		return Memory
	case m.Form == "":
		return Stdio
	default:
		return HTTP
	}
}

// All lists the measures in the order of the report.
func All() []Measure {
	return append([]Measure{
		{Name: "100B", Title: "echo 100 B, one at a time", Metrics: sequence, take: inSequence(100)},
		{Name: "10KB", Title: "echo 10 KB, one at a time", Metrics: sequence, take: inSequence(10_000)},
		{Name: "1MB", Title: "echo 1 MB, one at a time", Metrics: sequence, take: inSequence(1_000_000)},
		{Name: "64x100B", Title: "echo 100 B, 64 at once", Metrics: crowd, take: atOnce(64, 100)},
		{Name: "64x10KB", Title: "echo 10 KB, 64 at once", Metrics: crowd, take: atOnce(64, 10_000)},
		{Name: "flood", Title: "notifications, as fast as they come", Metrics: flood, take: flooded},
		{Name: "connect", Title: "start, connect, list 50 tools", Metrics: start, take: connected},

		{Name: "http100B", Title: "HTTP, JSON, echo 100 B, one at a time", Form: server.JSON, Metrics: webSequence, take: inSequence(100)},
		{Name: "http10KB", Title: "HTTP, JSON, echo 10 KB, one at a time", Form: server.JSON, Metrics: webSequence, take: inSequence(10_000)},
		{Name: "http1MB", Title: "HTTP, JSON, echo 1 MB, one at a time", Form: server.JSON, Metrics: webSequence, take: inSequence(1_000_000)},
		{Name: "http64x100B", Title: "HTTP, JSON, echo 100 B, 64 at once", Form: server.JSON, Metrics: webCrowd, take: atOnce(64, 100)},
		{Name: "sse100B", Title: "HTTP, SSE, echo 100 B, one at a time", Form: server.Events, Metrics: webSequence, take: inSequence(100)},
		{Name: "sse10KB", Title: "HTTP, SSE, echo 10 KB, one at a time", Form: server.Events, Metrics: webSequence, take: inSequence(10_000)},
		{Name: "sse1MB", Title: "HTTP, SSE, echo 1 MB, one at a time", Form: server.Events, Metrics: webSequence, take: inSequence(1_000_000)},
		{Name: "sse64x100B", Title: "HTTP, SSE, echo 100 B, 64 at once", Form: server.Events, Metrics: webCrowd, take: atOnce(64, 100)},

		{Name: "idle", Title: "100 idle over stdio", weighs: true, Metrics: weight, take: idle(100, 0)},
		{Name: "idlehttp", Title: "100 idle over stdio, 100 over HTTP", weighs: true, Form: server.JSON, Metrics: weight, take: idle(100, 100)},
	}, points()...)
}

// Names of the metrics.
const (
	P50    = "p50"
	P99    = "p99"
	Mean   = "mean"
	Rate   = "rate"
	CPU    = "cpu/100k"
	Allocs = "allocs"
	Bytes  = "bytes"
	Lost   = "lost"
	RSS    = "rss"
	Peak   = "peak rss"
	First  = "first"
	Opened = "tcp opened"
	Once   = "resident"
	PSS    = "pss"
	Dirty  = "private dirty"
	Heap   = "heap"
	Before = "before"
	Each   = "each"
	Spent  = "cpu/call"
)

var (
	cost = []Metric{
		{Name: CPU, Unit: "s", Digits: 2},
		{Name: Allocs, Unit: "/call", Digits: 1, Small: true},
		{Name: Bytes, Unit: "/call", Small: true},
	}
	sequence = append([]Metric{
		{Name: P50, Unit: "µs", Digits: 1},
		{Name: P99, Unit: "µs", Digits: 1},
		{Name: Mean, Unit: "µs", Digits: 1},
	}, cost...)
	crowd = append([]Metric{
		{Name: Rate, Unit: "k/s", Digits: 1, More: true},
	}, cost...)
	webSequence = append(slices.Clip(sequence), opened)
	webCrowd    = append(slices.Clip(crowd), opened)
	opened      = Metric{Name: Opened} // connections, from the first request to the last
	flood       = []Metric{
		{Name: Rate, Unit: "k/s", More: true},
		{Name: Lost, Small: true},
		{Name: CPU, Unit: "s", Digits: 3},
		{Name: Peak, Unit: "MB", Digits: 1},
	}
	start = []Metric{
		{Name: First, Unit: "ms", Digits: 2},
		{Name: P50, Unit: "ms", Digits: 2},
		{Name: RSS, Unit: "MB", Digits: 1},
	}
	weight = []Metric{
		{Name: Once, Unit: "MB", Digits: 1},
		{Name: RSS, Unit: "MB", Digits: 1},
		{Name: PSS, Unit: "MB", Digits: 1},
		{Name: Dirty, Unit: "MB", Digits: 1},
		{Name: Heap, Unit: "MB", Digits: 1},
		{Name: Before, Unit: "MB", Digits: 1},
		{Name: Each, Unit: "KB"},
	}
)

// run is a job with its first connection.
type run struct {
	Job
	heard   *contestant.Tally
	tools   int // that the server lists
	address contestant.Address
	before  footprint    // of the process before anything is opened, if that is measured
	site    *server.Site // the running server; nil if a connection starts it
	program contestant.Program
	client  contestant.Client
	first   time.Duration // the time to connect, with everything before it
}

// Take does a job. Any reply that is missing or wrong is an error.
func Take(ctx context.Context, j Job) (values Values, err error) {
	m, ok := find(j.Measure)
	if !ok {
		return nil, fmt.Errorf("no measure %q", j.Measure)
	}
	r := &run{Job: j, heard: contestant.NewTally(), tools: cmp.Or(m.load.tools, server.Tools)}
	if m.weighs {
		r.before = weigh()
	}
	if err := r.serve(m); err != nil {
		return nil, fmt.Errorf("start the server: %w", err)
	}
	if r.site != nil {
		defer func() { err = errors.Join(err, r.site.Close()) }()
	}
	if err := r.open(ctx); err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	values, err = m.take(ctx, r)
	err = errors.Join(err, r.countConnections(values))
	return values, errors.Join(err, r.client.Close(), r.program.Close())
}

// serve starts the server, unless connections start it, and finds out its
// address.
func (r *run) serve(m Measure) (err error) {
	r.address.Command = r.listing(r.Server)
	switch m.Form {
	case "":
		return nil
	case server.Lines:
		if r.site, err = server.OpenSite(r.listing(r.Socket)); err == nil {
			r.address = contestant.Address{Socket: r.site.Path()}
		}
	default:
		if r.site, err = server.OpenSite(r.listing(r.Web)); err == nil && !m.weighs {
			r.address = contestant.Address{URL: r.site.URL(m.Form)}
		}
	}
	return err
}

// listing adds to the command of a server the number of tools that it lists.
func (r *run) listing(command []string) []string {
	return append(slices.Clip(command), strconv.Itoa(r.tools))
}

// countConnections adds the number of connections that a running server has seen.
func (r *run) countConnections(values Values) error {
	if r.site == nil || values == nil {
		return nil
	}
	n, err := r.site.Opened()
	values[Opened] = float64(n)
	return err
}

func (r *run) open(ctx context.Context) (err error) {
	start := time.Now()
	dock := contestant.Dock{Address: r.address, Tuned: r.Tuned, CacheDir: r.CacheDir, Heard: r.heard}
	if r.program, err = contestant.Open(ctx, r.Contestant, dock); err != nil {
		return err
	}
	r.client, err = r.program.Connect(ctx, r.address)
	r.first = time.Since(start)
	return err
}

// IsPoint reports whether a measure is a point of a [Curve].
func IsPoint(name string) bool {
	m, ok := find(name)
	return ok && m.Curve != ""
}

func find(name string) (Measure, bool) {
	for _, m := range All() {
		if m.Name == name {
			return m, true
		}
	}
	return Measure{}, false
}
