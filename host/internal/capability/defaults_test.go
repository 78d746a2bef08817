package capability

import (
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/abi"
)

// TestDefaults holds the bounds of a table of which nothing is said, and of a command that
// prints its result and exits: no wait is without an end.
func TestDefaults(t *testing.T) {
	const ms, s = time.Millisecond, time.Second
	if got, want := (Grace{}).withDefaults(), (Grace{Stdin: 2 * s, Term: 2 * s, Exit: 500 * ms, Kill: 5 * s}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got, want := OneShot(), (Grace{Stdin: 100 * ms, Term: 400 * ms, Exit: 500 * ms, Kill: 5 * s}); got != want {
		t.Errorf("for one call %+v, want %+v", got, want)
	}
	want := Limits{
		Handles: 64, Burst: 16, Refill: 250 * ms, Dial: 10 * s, Stall: 10 * s, LowWater: 64 << 10,
		Exchanges: 2 * abi.MaxHandles, Bodies: 64 << 20, Answer: 64 << 20, Head: 300 * s, Body: 120 * s, Idle: 300 * s,
	}
	if got := (Limits{}).withDefaults(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if given := (Limits{Stall: 50 * ms, Answer: 1}).withDefaults(); given.Stall != 50*ms || given.Answer != 1 {
		t.Errorf("what is given is %+v", given)
	}
}
