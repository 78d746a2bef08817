package measure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/wharf-mcp/wharf/cmd/compare/internal/contestant"
	"github.com/wharf-mcp/wharf/cmd/compare/internal/server"
)

// Curve shows how figures grow with one thing. Each of its points is a measure.
type Curve struct {
	Name  string // "connections-stdio"
	Title string
	Axis  string // what grows, with its unit
	form  server.Form
	at    []int
	load  func(at int) load
	rate  Metric
	rest  bool // memory is that of idle connections; else its peak
}

// load says what is done at one point of a curve. The callers share the connections out, and
// each uses its own in turn. If there are fewer connections than callers, some callers share one.
type load struct {
	connections int
	callers     int
	size        int     // of what is echoed
	tools       int     // in the list
	lists       bool    // tools are listed, and nothing is echoed
	worth       float64 // what a call counts for in the rate: 1, its KB or its tools
}

// Metrics returns the figures of each point.
func (c Curve) Metrics() []Metric {
	memory := Metric{Name: Peak, Unit: "MB", Digits: 1}
	if c.rest {
		memory = Metric{Name: Once, Unit: "MB", Digits: 1}
	}
	return []Metric{
		c.rate,
		{Name: P50, Unit: "µs", Digits: 1},
		{Name: P99, Unit: "µs", Digits: 1},
		{Name: Spent, Unit: "µs", Digits: 1},
		memory,
	}
}

// Columns returns the columns of the data: the point, the contestant and the figures.
func (c Curve) Columns() []string {
	columns := []string{c.Axis, "contestant"}
	for _, m := range c.Metrics() {
		columns = append(columns, m.Name+", "+m.Unit)
	}
	return columns
}

// inTurn is the number of callers on a curve of connections.
const inTurn = 16

// Curves lists all curves.
func Curves() []Curve {
	calls := Metric{Name: Rate, Unit: "k/s", Digits: 2, More: true}
	bytes := Metric{Name: Rate, Unit: "MB/s", Digits: 2, More: true}
	tools := Metric{Name: Rate, Unit: "k tools/s", Digits: 2, More: true}

	connections := func(n int) load { return load{connections: n, callers: inTurn, size: 100, worth: 1} }
	size := func(n int) load { return load{connections: 1, callers: 1, size: n, worth: float64(n) / 1000} }
	list := func(n int) load {
		return load{connections: 1, callers: 1, size: 100, tools: n, lists: true, worth: float64(n)}
	}
	callers := func(n int) load { return load{connections: 1, callers: n, size: 100, worth: 1} }

	hundreds := []int{1, 10, 100, 1_000, 10_000}
	sizes := []int{100, 1_000, 10_000, 100_000, 1_000_000, 4_000_000, 16_000_000}
	fours := []int{1, 4, 16, 64, 256, 1_024}
	return []Curve{
		{"connections-stdio", "connections over stdio, 16 callers, 100 B", "connections", "", hundreds[:4], connections, calls, true},
		{"connections-socket", "connections over unix sockets, 16 callers, 100 B", "connections", server.Lines, hundreds, connections, calls, true},
		{"connections-http", "connections over HTTP, 16 callers, 100 B", "connections", server.JSON, hundreds, connections, calls, true},
		{"size-stdio", "size of a message over stdio, one caller", "bytes echoed", "", sizes, size, bytes, false},
		{"size-http", "size of a message over HTTP, one caller", "bytes echoed", server.JSON, sizes, size, bytes, false},
		{"tools-stdio", "tools in a list over stdio, one caller", "tools", "", hundreds[1:], list, tools, true},
		{"tools-http", "tools in a list over HTTP, one caller", "tools", server.JSON, hundreds[1:], list, tools, true},
		{"callers-stdio", "callers of one connection over stdio, 100 B", "callers", "", fours, callers, calls, false},
		{"callers-http", "callers of one connection over HTTP, 100 B", "callers", server.JSON, fours, callers, calls, false},
	}
}

// points returns the measures of all curves.
func points() (all []Measure) {
	for _, c := range Curves() {
		for _, at := range c.at {
			all = append(all, c.point(at))
		}
	}
	return all
}

func (c Curve) point(at int) Measure {
	l := c.load(at)
	return Measure{
		Name: fmt.Sprintf("%s-%d", c.Name, at), Title: fmt.Sprintf("%s: %d", c.Title, at), Form: c.form, Metrics: c.Metrics(),
		Curve: c.Name, At: at, load: l,
		take: func(ctx context.Context, r *run) (Values, error) { return c.take(ctx, r, l) },
	}
}

// take connects, uses each connection once, and lets the callers call.
func (c Curve) take(ctx context.Context, r *run, l load) (values Values, err error) {
	if need, most := c.descriptors(l.connections), descriptors(); need > most {
		return nil, fmt.Errorf("%d file descriptors are needed, and a process may have %d (ulimit -Hn)", need, most)
	}
	clients, err := r.crowd(ctx, l.connections, 0)
	defer func() { err = errors.Join(err, closeAll(clients[1:])) }()
	if err != nil {
		return nil, fmt.Errorf("connect for the %d. time: %w", len(clients)+1, err)
	}
	for _, client := range clients {
		if err := r.use(ctx, client); err != nil {
			return nil, err
		}
	}
	var rested footprint
	if c.rest {
		time.Sleep(settling * r.Time)
		rested = weigh()
	}
	values, err = r.press(ctx, clients, l)
	if err != nil {
		return nil, err
	}
	if c.rest {
		values[Once] = rested.resident
	} else {
		values[Peak] = residentPeak()
	}
	return values, nil
}

// turn returns the number of the connection that a caller uses for its n-th call. A caller's
// connections are those whose number modulo the number of callers is the caller's.
func turn(connections, callers, caller, n int) int {
	if connections <= callers {
		return caller % connections
	}
	own := (connections - caller + callers - 1) / callers
	return caller + n%own*callers
}

// press lets the callers call, and measures every latency.
func (r *run) press(ctx context.Context, clients []contestant.Client, l load) (Values, error) {
	text := contestant.NewText(l.size)
	took := make([][]time.Duration, l.callers)
	call := func(ctx context.Context, caller, n int) error {
		client := clients[turn(len(clients), l.callers, caller, n)]
		start := time.Now()
		var err error
		if l.lists {
			err = r.list(ctx, client)
		} else {
			err = client.Echo(ctx, text)
		}
		took[caller] = append(took[caller], time.Since(start))
		return err
	}
	if _, err := together(ctx, l.callers, r.Time/10, call); err != nil {
		return nil, err
	}
	for caller := range took {
		took[caller] = took[caller][:0]
	}
	before := readMeter()
	start := time.Now()
	calls, err := together(ctx, l.callers, r.Time, call)
	if err != nil {
		return nil, err
	}
	elapsed := time.Since(start)
	values := readMeter().since(before, calls)
	values[Spent] = values[CPU] * 10 // s of 100,000 calls are 10 µs of one
	values[Rate] = perMillisecond(calls, elapsed) * l.worth
	all := slices.Concat(took...)
	slices.Sort(all)
	values[P50] = microseconds(quantile(all, 0.50))
	values[P99] = microseconds(quantile(all, 0.99))
	return values, nil
}

// descriptors returns how many file descriptors that many connections need: over stdio three
// pipes and the process.
func (c Curve) descriptors(connections int) uint64 {
	const others = 64
	if c.form == "" {
		connections *= 4
	}
	return uint64(connections) + others
}

// closeAll closes connections all at once, since some wait for their server's end.
func closeAll(clients []contestant.Client) error {
	errs := make([]error, len(clients))
	var wg sync.WaitGroup
	for i, c := range clients {
		wg.Go(func() { errs[i] = c.Close() })
	}
	wg.Wait()
	return errors.Join(errs...)
}
