package measure

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wharf-mcp/wharf/cmd/compare/internal/contestant"
)

func TestQuantiles(t *testing.T) {
	var took []time.Duration
	for n := range 100 {
		took = append(took, time.Duration(n+1))
	}
	if p50, p99 := quantile(took, 0.50), quantile(took, 0.99); p50 != 51 || p99 != 100 {
		t.Errorf("got %d and %d, want 51 and 100", p50, p99)
	}
	if got := mean(took); got != 50 {
		t.Errorf("mean %d, want 50", got)
	}
	if quantile(nil, 0.5) != 0 || mean(nil) != 0 {
		t.Error("nothing has a figure")
	}
}

func TestCostIsPerCall(t *testing.T) {
	before := meter{cpu: time.Second, allocs: 100, bytes: 1000}
	after := meter{cpu: 3 * time.Second, allocs: 300, bytes: 5000}
	got := after.since(before, 100)
	if got[CPU] != 2000 || got[Allocs] != 2 || got[Bytes] != 40 {
		t.Errorf("got %v", got)
	}
}

// stub is a connection that counts calls and fails at one of them.
type stub struct {
	contestant.Client
	failAt int
	calls  int
}

var errStub = errors.New("the call failed")

func (s *stub) Echo(context.Context, *contestant.Text) error {
	s.calls++
	if s.calls == s.failAt {
		return errStub
	}
	return nil
}

func (s *stub) Flood(context.Context, int) error { return nil }

func TestOneFailedCallFailsTheMeasure(t *testing.T) {
	for name, take := range map[string]func(context.Context, *run) (Values, error){
		"in sequence": inSequence(1),
		"at once":     atOnce(1, 1),
	} {
		t.Run(name, func(t *testing.T) {
			r := &run{Job: Job{Time: time.Hour}, client: &stub{failAt: 3}}
			if _, err := take(t.Context(), r); !errors.Is(err, errStub) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestMissingNotificationsAreLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &run{client: &stub{}, heard: contestant.NewTally()}
		heard, err := r.pour(t.Context(), 10)
		if heard != 0 || err != nil {
			t.Errorf("heard %d, error %v", heard, err)
		}
	})
}
