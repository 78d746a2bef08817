package plugintest

import (
	"slices"

	"github.com/wharf-mcp/wharf/host/internal/wasm"
)

// A Result is the outcome of a check.
type Result string

// The results. A check is not applicable if it says nothing about the plugin, and skipped if it
// would but could not be made.
const (
	Passed        Result = "pass"
	Failed        Result = "fail"
	NotApplicable Result = "n/a"
	Skipped       Result = "skip"
)

// A Report holds the findings of the kit. Its JSON is stable: fields are added and not renamed.
type Report struct {
	Kit     int      `json:"kit"` // its [Version]
	Plugin  Plugin   `json:"plugin"`
	OK      bool     `json:"ok"` // no binding check failed or was skipped
	Checks  []Check  `json:"checks"`
	Points  []Point  `json:"points"`
	Figures []Figure `json:"figures"`
}

// Plugin describes the tested plugin.
type Plugin struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	SHA256  string `json:"sha256"`
	Size    int    `json:"size"`
	Class   string `json:"class"` // process, stream, http or sse; auth for a provider, policy for a policy
	Wire    string `json:"wire"`  // how its messages are framed; empty if unknown
}

// A Check is the result of one test of the kit.
type Check struct {
	ID       string   `json:"id"`
	Title    string   `json:"title"`
	Level    Level    `json:"level"`
	Points   []string `json:"points,omitempty"`
	Result   Result   `json:"result"`
	Expected string   `json:"expected,omitempty"` // where it failed
	Got      string   `json:"got,omitempty"`      // what happened, why it was not tried, or how it was
	Trace    string   `json:"trace,omitempty"`    // of the run that failed
}

// A Point is one point of the proposal for pluggable transports, and the outcome of its
// checks.
type Point struct {
	ID     string   `json:"id"`
	Text   string   `json:"text"`
	Result Result   `json:"result"`
	Checks []string `json:"checks"`
	Host   string   `json:"host,omitempty"` // the part of it that the host takes care of
}

// A Figure is a measured value. Times differ from machine to machine; other figures do not.
type Figure struct {
	ID    string `json:"id"`
	Of    string `json:"of"`
	Value int64  `json:"value"`
	Unit  string `json:"unit"`
}

// Version is the number of the kit. It grows when a plugin that passed, with its profile and its
// own scenarios, might no longer pass. README.md lists the changes of each version.
const Version = 5

func newReport(module []byte) *Report {
	return &Report{Kit: Version, Plugin: Plugin{SHA256: wasm.Hash(module), Size: len(module)}, Figures: []Figure{}}
}

func (r *Report) add(c *Check, result Result, got string) {
	c.Result, c.Got = result, got
	if result == Passed || result == NotApplicable {
		c.Trace = ""
	}
	if c.Expected = ""; result == Failed {
		c.Expected = c.Title
	}
	r.Checks = append(r.Checks, *c)
}

func (r *Report) figure(id, of string, value int64, unit string) {
	r.Figures = append(r.Figures, Figure{id, of, value, unit})
}

// Check returns the check of that id, or nil.
func (r *Report) Check(id string) *Check {
	i := slices.IndexFunc(r.Checks, func(c Check) bool { return c.ID == id })
	if i < 0 {
		return nil
	}
	return &r.Checks[i]
}

// worse orders results, the most severe first.
var worse = []Result{Failed, Skipped, Passed, NotApplicable}

// conclude computes OK and Points from the checks.
func (r *Report) conclude() {
	r.OK = len(r.binding(Failed))+len(r.binding(Skipped)) == 0
	if r.Plugin.Class == classAuth || r.Plugin.Class == classPolicy {
		r.Points = []Point{} // the proposal is about transports
		return
	}
	for _, p := range points {
		p.Result, p.Checks = NotApplicable, []string{}
		for _, c := range r.Checks {
			if slices.Contains(c.Points, p.ID) {
				p.Checks = append(p.Checks, c.ID)
				p.Result = worse[min(slices.Index(worse, c.Result), slices.Index(worse, p.Result))]
			}
		}
		r.Points = append(r.Points, p)
	}
}
