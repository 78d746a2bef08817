package plugintest

import (
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/internal/testenv"
)

// A finding is the check that a guest fails, and a part of the first line that it gets.
// Without a check nothing fails, and the words are why nothing could be tried.
type finding struct{ check, says string }

// verdicts are what the kit says of guests with a fault that a person thought of to get
// past it: where a profile says how messages look or the kit knows it, and where it has
// to learn that from the guest.
var verdicts = map[string]struct{ known, learned finding }{
	"":               {},
	"spin":           {finding{basic, "used up its budget"}, finding{basic, "used up its budget"}},
	"trap3":          {finding{"many", "the guest was stopped"}, finding{basic, "the guest was stopped"}},
	"truncates":      {finding{basic, "the server got what was not sent"}, finding{"", "does not understand what it says itself"}},
	"twice":          {finding{"response", "delivered twice"}, finding{basic, "delivered twice"}},
	"stale":          {finding{"many", "delivered twice"}, finding{"many", "delivered twice"}},
	"leaks-early":    {finding{"memory-growth", "calls added"}, finding{"memory-growth", "calls added"}},
	"wrong-exchange": {finding{"response", "delivered to exchange 7, which no message has"}, finding{basic, "delivered to exchange 7, which no message has"}},
	"done-early":     {finding{"response", "ends it without an answer"}, finding{basic, "ends it without one"}},
	"no-up":          {finding{basic, "expected report(UP)"}, finding{"", "has not said report(UP)"}},
}

func TestVerdicts(t *testing.T) {
	if raceEnabled {
		t.Skip("it is done without the race detector")
	}
	for fault, want := range testenv.Part(verdicts, 2) {
		only := func(v finding) []string { return []string{basic, "response", v.check} }
		t.Run(fault+" with a profile", func(t *testing.T) {
			want.known.judge(t, try(t, fault, Options{Only: only(want.known)}))
		})
		if want.known.check != basic || want.learned.check == basic { // or it never gets as far as to show its wire
			t.Run(fault+" on a wire that is known", func(t *testing.T) {
				want.known.judge(t, try(t, fault, Options{Profile: &Profile{}, Only: only(want.known)}))
			})
		}
		t.Run(fault+" on a wire that is learned", func(t *testing.T) {
			o := Options{Profile: &Profile{}, Settings: map[string]string{"end": "\x1e"}, Only: only(want.learned)}
			want.learned.judge(t, try(t, fault, o))
		})
	}
}

func (v finding) judge(t *testing.T, r *Report) {
	t.Helper()
	failed := r.binding(Failed)
	switch {
	case v == finding{}:
		if !r.OK {
			t.Errorf("it fails: %s", r.Shortfall())
		}
	case v.check == "":
		if r.OK || len(failed) > 0 || !strings.Contains(r.Shortfall(), v.says) {
			t.Errorf("failed: %v; it says %q", failed, r.Shortfall())
		}
	case len(failed) == 0:
		t.Errorf("nothing failed: %q", r.Shortfall())
	default:
		c := r.Check(v.check)
		if first, _, _ := strings.Cut(c.Got, "\n"); c.Result != Failed || !strings.Contains(first, v.says) || c.Trace == "" {
			t.Errorf("%s: %s, %q; failed: %v", v.check, c.Result, c.Got, failed)
		}
		if r.Check(basic).Result == Failed && failed[0] != basic {
			t.Errorf("the first failure is %s", failed[0])
		}
	}
}
