package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/wharf-mcp/wharf/cmd/compare/internal/arena"
	"github.com/wharf-mcp/wharf/cmd/compare/internal/contestant"
	"github.com/wharf-mcp/wharf/cmd/compare/internal/measure"
	"github.com/wharf-mcp/wharf/cmd/compare/internal/server"
	"github.com/wharf-mcp/wharf/cmd/compare/internal/startup"
)

// report holds all results, in the form in which they are saved.
type report struct {
	Versions []string        `json:"versions"`
	Era      server.Era      `json:"era"`
	Tuned    bool            `json:"tuned,omitempty"`
	Rounds   int             `json:"rounds"`
	Runs     arena.Runs      `json:"runs"`
	Startup  *startup.Result `json:"startup,omitempty"`
	Verdicts []verdict       `json:"targets"`

	settings settings
}

// versions names the compared products with their versions, and the machine.
func versions() []string {
	list := []string{fmt.Sprintf("%s %s/%s, %d processors", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())}
	info, _ := debug.ReadBuildInfo()
	for _, m := range info.Deps {
		switch m.Path {
		case "github.com/modelcontextprotocol/go-sdk", "github.com/mark3labs/mcp-go":
			list = append(list, m.Path+" "+m.Version)
		}
	}
	return list
}

func (r *report) save(path string) error {
	r.Verdicts = r.verdicts()
	text, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

func (r *report) print(w io.Writer) {
	r.head(w)
	if len(r.opponents()) > 0 {
		fmt.Fprintln(w, "of floor: Wharf's figure by the floor's; × peer: how many times better than the peer's it is")
	}
	for _, pinned := range r.settings.pins {
		r.table(w, pinned)
	}
	r.leftOut(w)
	r.starts(w)
	r.judge(w)
}

// head says what was measured, and how quiet the machine was.
func (r *report) head(w io.Writer) {
	for _, v := range r.Versions {
		fmt.Fprintln(w, v)
	}
	typical, worst, repeated := r.Runs.Load()
	fmt.Fprintf(w, "%s era, %d rounds, medians; foreign load %.2f processors, at worst %.2f; %d runs repeated\n",
		r.Era, r.Rounds, typical, worst, repeated)
	if r.settings.quick {
		fmt.Fprintln(w, "quick: these figures mean nothing")
	}
	if r.Tuned {
		fmt.Fprintln(w, "tuned: over HTTP, the peers keep more connections than they do by default")
	}
}

// leftOut names the points of curves that could not be taken.
func (r *report) leftOut(w io.Writer) {
	for _, run := range r.Runs {
		if run.Left != "" {
			fmt.Fprintf(w, "\nleft out: %s of %s: %s\n", run.Measure, run.Contestant, run.Left)
		}
	}
}

// table prints the figures of all measures under one pinning. After an error it prints those
// of the measures that were begun.
func (r *report) table(w io.Writer, pinned bool) {
	if !slices.ContainsFunc(measure.All(), func(m measure.Measure) bool { return r.began(pinned, m) }) {
		return
	}
	fmt.Fprintf(w, "\n%s\n", arena.PinName(pinned))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	defer t.Flush()
	for _, m := range measure.All() {
		if !r.began(pinned, m) {
			continue
		}
		r.heading(t, m.Title)
		for _, metric := range m.Metrics {
			r.row(t, pinned, m.Name, metric)
		}
	}
}

func (r *report) began(pinned bool, m measure.Measure) bool {
	return slices.ContainsFunc(r.Runs, func(run arena.Run) bool { return run.Pinned == pinned && run.Measure == m.Name })
}

// heading starts a block of columns of its own, so that a wide figure widens
// its own block only.
func (r *report) heading(t io.Writer, title string) {
	fmt.Fprintf(t, "\n%s\n\t\t", title)
	for _, c := range r.settings.contestants {
		fmt.Fprintf(t, "%s\t", c)
	}
	for _, c := range r.opponents() {
		if c == contestant.Floor {
			fmt.Fprint(t, "of floor\t")
		} else {
			fmt.Fprintf(t, "× %s\t", c)
		}
	}
	fmt.Fprintln(t)
}

// opponents returns the contestants to which Wharf's ratio is shown.
func (r *report) opponents() []string {
	if !slices.Contains(r.settings.contestants, contestant.Wharf) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(r.settings.contestants), func(c string) bool { return c == contestant.Wharf })
}

// row prints one figure of every contestant, and the ratio of Wharf's to each.
func (r *report) row(t io.Writer, pinned bool, name string, m measure.Metric) {
	key := arena.Key{Measure: name, Metric: m.Name}
	fmt.Fprintf(t, "%s\t%s\t", m.Name, m.Unit)
	for _, c := range r.settings.contestants {
		v, ok := r.Runs.Median(pinned, c, key)
		fmt.Fprintf(t, "%s\t", figure(v, m.Digits, ok))
	}
	for _, c := range r.opponents() {
		v, ok := r.ratio(pinned, c, key, m)
		fmt.Fprintf(t, "%s\t", figure(v, 2, ok))
	}
	fmt.Fprintln(t)
}

// ratio returns which part of the floor's figure Wharf reaches, or how many times better Wharf
// is than a peer.
func (r *report) ratio(pinned bool, c string, key arena.Key, m measure.Metric) (float64, bool) {
	switch {
	case c == contestant.Floor && m.Small:
		return 0, false
	case c == contestant.Floor || m.More:
		return r.Runs.Ratio(pinned, contestant.Wharf, c, key)
	default:
		return r.Runs.Ratio(pinned, c, contestant.Wharf, key)
	}
}

func figure(v float64, digits int, ok bool) string {
	if !ok {
		return "–"
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}

// starts prints the times of whole commands.
func (r *report) starts(w io.Writer) {
	if r.Startup == nil {
		return
	}
	fmt.Fprintf(w, "\ncommands, %d pairs, warm\n\n", len(r.Startup.Wharf.Wall))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	defer t.Flush()
	fmt.Fprintln(t, "\tms\tmin\tmax\tcpu ms\t")
	line := func(name string, s startup.Times) {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t\n", name, inMilliseconds(startup.Median(s.Wall)),
			inMilliseconds(slices.Min(s.Wall)), inMilliseconds(slices.Max(s.Wall)), inMilliseconds(startup.Median(s.CPU)))
	}
	line("wharf call demo echo", r.Startup.Wharf)
	line("minimal, on the Go SDK", r.Startup.Minimal)
}

func inMilliseconds(d time.Duration) string { return fmt.Sprintf("%.1f", d.Seconds()*1000) }
