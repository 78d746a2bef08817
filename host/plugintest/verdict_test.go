package plugintest

import (
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/internal/testenv"
)

// A verdict is the check that a guest fails, and a part of the first line that it gets.
// Without a check nothing fails, and the words are why nothing could be tried.
type verdict struct{ check, says string }

// verdicts are what the kit says of guests with a fault that a person thought of to get
// past it: where a profile says how messages look or the kit knows it, and where it has
// to learn that from the guest.
var verdicts = map[string]struct{ known, learned verdict }{
	"":               {},
	"spin":           {verdict{basic, "used up its budget"}, verdict{basic, "used up its budget"}},
	"trap3":          {verdict{"many", "the guest was stopped"}, verdict{basic, "the guest was stopped"}},
	"truncates":      {verdict{basic, "the server got what was not sent"}, verdict{"", "does not understand what it says itself"}},
	"twice":          {verdict{"response", "delivered twice"}, verdict{basic, "delivered twice"}},
	"stale":          {verdict{"many", "delivered twice"}, verdict{"many", "delivered twice"}},
	"leaks-early":    {verdict{"memory-growth", "calls added"}, verdict{"memory-growth", "calls added"}},
	"wrong-exchange": {verdict{"response", "delivered to exchange 7, which no message has"}, verdict{basic, "delivered to exchange 7, which no message has"}},
	"done-early":     {verdict{"response", "ends it without an answer"}, verdict{basic, "ends it without one"}},
	"no-up":          {verdict{basic, "expected report(UP)"}, verdict{"", "has not said report(UP)"}},
}

func TestVerdicts(t *testing.T) {
	if raceEnabled {
		t.Skip("it is done without the race detector")
	}
	for fault, want := range testenv.Part(verdicts, 2) {
		only := func(v verdict) []string { return []string{basic, "response", v.check} }
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

func (v verdict) judge(t *testing.T, r *Report) {
	t.Helper()
	failed := r.binding(Failed)
	switch {
	case v == verdict{}:
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
