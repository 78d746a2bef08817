// Package arena runs the measures of the contestants in rounds, each in a process of its
// own.
//
// In a round every measure is taken of every contestant before the next measure
// begins, and the order of the contestants rotates from round to round. So other
// load on the machine meets all of them, and the figures of a ratio were taken within
// seconds of each other.
package arena

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/wharf-mcp/wharf/cmd/compare/internal/measure"
)

// Plan says what a comparison does.
type Plan struct {
	Rounds      int
	Pins        []bool // pinned to one processor, not pinned, or both
	Contestants []string
	Measures    []string
	Job         measure.Job // what all jobs have in common
	Program     string      // this program, which does a job if its first argument is Work
	Repeats     int         // how often a run may be repeated because of foreign load
	Progress    io.Writer
}

// Run is one measure of one contestant in one round.
type Run struct {
	Round      int            `json:"round"`
	Pinned     bool           `json:"pinned"`
	Measure    string         `json:"measure"`
	Contestant string         `json:"contestant"`
	Foreign    float64        `json:"foreign"` // processors that others kept busy meanwhile
	Repeated   int            `json:"repeated,omitempty"`
	Left       string         `json:"left,omitempty"` // why it was left out; then there are no values
	Values     measure.Values `json:"values"`
}

// tooBusy is the foreign load, in processors, above which a run is repeated.
const tooBusy = 0.12

// Do carries out the plan. With an error it returns the runs that were done before. A point
// of a curve that cannot be taken is no error: it is left out.
func (p *Plan) Do(ctx context.Context) (Runs, error) {
	var runs Runs
	for round := range p.Rounds {
		for _, pinned := range p.Pins {
			for _, m := range p.Measures {
				for i := range p.Contestants {
					name := p.Contestants[(i+round)%len(p.Contestants)]
					run, err := p.quietRun(ctx, Run{Round: round, Pinned: pinned, Measure: m, Contestant: name})
					if err != nil && measure.IsPoint(m) && ctx.Err() == nil {
						run.Left, err = err.Error(), nil
						fmt.Fprintf(p.Progress, "%s: %s: left out: %s\n", m, name, run.Left)
					}
					if err != nil {
						return runs, fmt.Errorf("round %d: %s: %s: %w", round+1, m, name, err)
					}
					runs = append(runs, run)
				}
			}
			fmt.Fprintf(p.Progress, "round %d of %d, %s: done\n", round+1, p.Rounds, PinName(pinned))
		}
	}
	return runs, nil
}

// PinName says how processes were pinned.
func PinName(pinned bool) string {
	if pinned {
		return "one processor"
	}
	return "all processors"
}

// quietRun repeats a run while other programs keep the machine busy, and returns the
// quietest.
func (p *Plan) quietRun(ctx context.Context, r Run) (Run, error) {
	var best Run
	for try := range p.Repeats + 1 {
		run, err := p.take(ctx, r)
		if err != nil {
			return r, err
		}
		if try == 0 || run.Foreign < best.Foreign {
			best = run
		}
		best.Repeated = try
		if best.Foreign <= tooBusy {
			break
		}
	}
	return best, nil
}

// Runs are the runs of a comparison.
type Runs []Run

// Values returns one figure of a contestant, by round.
func (rs Runs) Values(pinned bool, contestant string, m Key) map[int]float64 {
	values := map[int]float64{}
	for _, r := range rs {
		if r.Pinned == pinned && r.Contestant == contestant && r.Measure == m.Measure {
			if v, ok := r.Values[m.Metric]; ok {
				values[r.Round] = v
			}
		}
	}
	return values
}

// Key names a figure.
type Key struct{ Measure, Metric string }

// Median returns the median of a contestant's figure over the rounds.
func (rs Runs) Median(pinned bool, contestant string, k Key) (float64, bool) {
	var all []float64
	for _, v := range rs.Values(pinned, contestant, k) {
		all = append(all, v)
	}
	return median(all)
}

// Ratio returns the median over the rounds of the ratio between the figures of two
// contestants in the same round.
func (rs Runs) Ratio(pinned bool, over, under string, k Key) (float64, bool) {
	unders := rs.Values(pinned, under, k)
	var all []float64
	for round, v := range rs.Values(pinned, over, k) {
		if u := unders[round]; u != 0 {
			all = append(all, v/u)
		}
	}
	return median(all)
}

func median(all []float64) (float64, bool) {
	if len(all) == 0 {
		return 0, false
	}
	slices.Sort(all)
	mid := len(all) / 2
	if len(all)%2 == 1 {
		return all[mid], true
	}
	return (all[mid-1] + all[mid]) / 2, true
}

// Load describes the foreign load of all runs.
func (rs Runs) Load() (typical, worst float64, repeated int) {
	var all []float64
	for _, r := range rs {
		all = append(all, r.Foreign)
		worst = max(worst, r.Foreign)
		repeated += r.Repeated
	}
	typical, _ = median(all)
	return typical, worst, repeated
}

// deadline bounds one run. Only a run that is stuck takes as long: even 10,000 connections
// take less.
const deadline = 5 * time.Minute

var errStuck = fmt.Errorf("it took longer than %v", deadline)
