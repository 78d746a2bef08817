package arena

import (
	"testing"

	"github.com/wharf-mcp/wharf/cmd/compare/internal/measure"
)

func sample(round int, contestant string, p50 float64) Run {
	return Run{Round: round, Pinned: true, Measure: "100B", Contestant: contestant, Values: measure.Values{"p50": p50}}
}

func TestRatiosPairTheSameRound(t *testing.T) {
	// The machine is twice as slow in the second round, and very slow in the
	// third: the pairs do not see it.
	runs := Runs{
		sample(0, "a", 10), sample(0, "b", 5),
		sample(1, "b", 10), sample(1, "a", 20),
		sample(2, "a", 200), sample(2, "b", 100),
		sample(3, "a", 7), // without a partner
	}
	if got, ok := runs.Ratio(true, "a", "b", Key{"100B", "p50"}); !ok || got != 2 {
		t.Errorf("ratio: got %v, %v, want 2", got, ok)
	}
	if got, ok := runs.Median(true, "a", Key{"100B", "p50"}); !ok || got != 15 {
		t.Errorf("median: got %v, %v, want 15", got, ok)
	}
}

func TestNothingMeasuredIsNoFigure(t *testing.T) {
	runs := Runs{sample(0, "a", 10)}
	if _, ok := runs.Ratio(true, "a", "b", Key{"100B", "p50"}); ok {
		t.Error("a ratio without a partner")
	}
	if _, ok := runs.Median(false, "a", Key{"100B", "p50"}); ok {
		t.Error("a median of another pinning")
	}
}

func TestLoad(t *testing.T) {
	runs := Runs{{Foreign: 0.1, Repeated: 1}, {Foreign: 0.5, Repeated: 2}, {Foreign: 0.2}}
	if typical, worst, repeated := runs.Load(); typical != 0.2 || worst != 0.5 || repeated != 3 {
		t.Errorf("got %v, %v, %v", typical, worst, repeated)
	}
}
