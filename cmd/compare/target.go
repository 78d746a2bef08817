package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/wharf-mcp/wharf/cmd/compare/internal/arena"
	"github.com/wharf-mcp/wharf/cmd/compare/internal/contestant"
	"github.com/wharf-mcp/wharf/cmd/compare/internal/measure"
)

// target is a promise of the project, with the figure that shows whether it is kept.
type target struct {
	text    string
	unit    string
	limit   float64
	atLeast bool // the limit is a lower bound; else it is an upper bound
	seen    func(*report) (float64, bool)
}

const (
	pinned   = true
	unpinned = false
)

var targets = []target{
	{text: "100 B, p50, of the floor", unit: "×", limit: 1.25, seen: overFloor("100B")},
	{text: "10 KB, p50, of the floor", unit: "×", limit: 1.25, seen: overFloor("10KB")},
	{text: "1 MB, p50, of the floor", unit: "×", limit: 2, seen: overFloor("1MB")},
	{text: "100 B, p50, faster than the Go SDK", unit: "×", limit: 1.5, atLeast: true, seen: underGoSDK("100B")},
	{text: "10 KB, p50, faster than the Go SDK", unit: "×", limit: 4, atLeast: true, seen: underGoSDK("10KB")},
	{text: "1 MB, p50, faster than the Go SDK", unit: "×", limit: 8, atLeast: true, seen: underGoSDK("1MB")},
	{text: "64 at once, 100 B, calls a second of the best peer's", unit: "×", limit: 3, atLeast: true, seen: overPeers(unpinned, rate, "64x100B")},
	{text: "64 at once, 100 B, CPU of 100,000 calls", unit: "s", limit: 0.4, seen: median("64x100B", measure.CPU)},
	{text: "flood, thousand notifications a second", unit: "k/s", limit: 1000, atLeast: true, seen: median("flood", measure.Rate)},
	{text: "flood, notifications lost", limit: 0, seen: lost},
	{text: "wharf call demo, slower than without Wasm", unit: "ms", limit: 40, seen: behind},

	{text: "HTTP, JSON, 100 B, p50, of the floor", unit: "×", limit: 1.15, seen: overFloor("http100B")},
	{text: "HTTP, p50, faster than the best peer, at worst", unit: "×", limit: 1, atLeast: true,
		seen: overPeers(pinned, latency, "http100B", "http10KB", "http1MB", "sse100B", "sse10KB", "sse1MB")},
	{text: "HTTP, 64 at once, calls a second of the best peer's, at worst", unit: "×", limit: 1, atLeast: true,
		seen: overPeers(unpinned, rate, crowds...)},
	{text: "HTTP, JSON, 64 at once, calls a second of the floor's", unit: "×", limit: 0.8, atLeast: true, seen: rateOverFloor("http64x100B")},
	{text: "HTTP, SSE, 64 at once, calls a second of the floor's", unit: "×", limit: 0.8, atLeast: true, seen: rateOverFloor("sse64x100B")},
	{text: "HTTP, 64 at once, TCP connections, at most", limit: 128, seen: mostOpened},

	{text: "100 idle over stdio, memory, of the Go SDK's", unit: "×", limit: 1, seen: overGoSDK("idle", measure.Once)},
	{text: "100 idle over stdio and 100 over HTTP, memory, of the Go SDK's", unit: "×", limit: 1, seen: overGoSDK("idlehttp", measure.Once)},
}

// crowds are the measures of many callers over HTTP.
var crowds = []string{"http64x100B", "sse64x100B"}

// The figures in which Wharf is compared with the peers.
var (
	latency = measure.Metric{Name: measure.P50}
	rate    = measure.Metric{Name: measure.Rate, More: true}
)

// overFloor compares the median latency of Wharf with that of the floor, on one processor, where
// the ratio varies least.
func overFloor(name string) func(*report) (float64, bool) {
	return func(r *report) (float64, bool) {
		return r.Runs.Ratio(pinned, contestant.Wharf, contestant.Floor, arena.Key{Measure: name, Metric: measure.P50})
	}
}

func underGoSDK(name string) func(*report) (float64, bool) {
	return func(r *report) (float64, bool) {
		return r.Runs.Ratio(pinned, contestant.GoSDK, contestant.Wharf, arena.Key{Measure: name, Metric: measure.P50})
	}
}

func overGoSDK(name, metric string) func(*report) (float64, bool) {
	return func(r *report) (float64, bool) {
		return r.Runs.Ratio(unpinned, contestant.Wharf, contestant.GoSDK, arena.Key{Measure: name, Metric: metric})
	}
}

func rateOverFloor(name string) func(*report) (float64, bool) {
	return func(r *report) (float64, bool) {
		return r.Runs.Ratio(unpinned, contestant.Wharf, contestant.Floor, arena.Key{Measure: name, Metric: measure.Rate})
	}
}

// overPeers returns how many times better Wharf is than the best peer, in the measure in which
// that figure is the smallest.
func overPeers(pin bool, m measure.Metric, names ...string) func(*report) (float64, bool) {
	return func(r *report) (least float64, ok bool) {
		for _, name := range names {
			for _, peer := range contestant.Peers() {
				ratio, seen := r.ratio(pin, peer, arena.Key{Measure: name, Metric: m.Name}, m)
				if seen && (!ok || ratio < least) {
					least, ok = ratio, true
				}
			}
		}
		return least, ok
	}
}

func median(name, metric string) func(*report) (float64, bool) {
	return func(r *report) (float64, bool) {
		return r.Runs.Median(unpinned, contestant.Wharf, arena.Key{Measure: name, Metric: metric})
	}
}

// lost adds up the notifications that Wharf lost in all rounds: a median would hide one loss.
func lost(r *report) (sum float64, ok bool) {
	for _, pin := range r.settings.pins {
		for _, n := range r.Runs.Values(pin, contestant.Wharf, arena.Key{Measure: "flood", Metric: measure.Lost}) {
			sum, ok = sum+n, true
		}
	}
	return sum, ok
}

// mostOpened returns the most connections that Wharf opened in any round.
func mostOpened(r *report) (most float64, ok bool) {
	for _, pin := range r.settings.pins {
		for _, name := range crowds {
			for _, n := range r.Runs.Values(pin, contestant.Wharf, arena.Key{Measure: name, Metric: measure.Opened}) {
				most, ok = max(most, n), true
			}
		}
	}
	return most, ok
}

func behind(r *report) (float64, bool) {
	if r.Startup == nil {
		return 0, false
	}
	return r.Startup.Behind.Seconds() * 1000, true
}

// verdict says whether a target was met.
type verdict struct {
	Target string  `json:"target"`
	Wanted string  `json:"wanted"`
	Seen   float64 `json:"seen"`
	Word   string  `json:"verdict"` // met, missed, not measured
}

func (r *report) verdicts() []verdict {
	var all []verdict
	for _, t := range targets {
		seen, ok := t.seen(r)
		all = append(all, verdict{Target: t.text, Wanted: t.wanted(), Seen: seen, Word: t.word(seen, ok)})
	}
	return all
}

func (t target) wanted() string {
	if t.atLeast {
		return fmt.Sprintf("≥ %g", t.limit)
	}
	return fmt.Sprintf("≤ %g", t.limit)
}

func (t target) word(seen float64, ok bool) string {
	switch {
	case !ok:
		return "not measured"
	case t.atLeast && seen >= t.limit, !t.atLeast && seen <= t.limit:
		return "met"
	default:
		return "missed"
	}
}

// judge prints a line for each target.
func (r *report) judge(w io.Writer) {
	fmt.Fprint(w, "\ntargets (latency on one processor, the rest on all)\n\n")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	defer t.Flush()
	for i, v := range r.verdicts() {
		seen := "–"
		if v.Word != "not measured" {
			seen = fmt.Sprintf("%.4g", v.Seen)
		}
		fmt.Fprintf(t, "%s\t%s %s\tseen %s\t%s\n", v.Target, v.Wanted, targets[i].unit, seen, v.Word)
	}
	fmt.Fprintln(t, "the Wasm hop, 200 B\t≤ 1 µs, 0 allocs\t\tsee `make bench`")
}
