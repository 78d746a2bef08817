//go:build unix

package capability

import (
	"context"
	"testing"
	"time"
)

// patienceOf returns a patience that waits as long as d for a body, and the
// context that it ends.
func patienceOf(d time.Duration) (*patience, context.Context) {
	ctx, cancel := context.WithCancelCause(context.Background())
	return &patience{limits: &Limits{Head: time.Hour, Body: d}, cancel: cancel}, ctx
}

// A clock that rang may still be about to tell its owner: it must not end an
// exchange that came after.
func TestAClockThatRangIsNotHandedOn(t *testing.T) {
	for name, end := range map[string]func(w *patience){
		"while it ran": func(*patience) {},
		"before a rest": func(w *patience) {
			w.rest()
			w.begin(forHead)
		},
		"before another phase": func(w *patience) { w.begin(forHead) },
	} {
		w, ctx := patienceOf(time.Nanosecond)
		w.begin(forHead)
		w.begin(forBody)
		<-ctx.Done()
		end(w)
		if w.over(); w.clock == nil {
			t.Errorf("%s: it was handed on", name)
		}
	}
}

func TestAClockIsHandedOn(t *testing.T) {
	w, ctx := patienceOf(time.Hour)
	w.begin(forHead)
	w.rest()
	w.rest()
	w.begin(forBody)
	w.begin(forHead)
	if w.over(); w.clock != nil || ctx.Err() != nil {
		t.Errorf("it was kept; %v", ctx.Err())
	}
	w.over()
}

// Nobody is given up while it is we who are waited for, even if the clock ran
// out a moment before.
func TestARestIsOurs(t *testing.T) {
	w, ctx := patienceOf(time.Hour)
	w.begin(forBody)
	w.rest()
	w.runOut()
	w.taken(false)
	if w.runOut(); ctx.Err() != nil {
		t.Error(context.Cause(ctx))
	}
	w.begin(forBody)
	if w.runOut(); ctx.Err() == nil {
		t.Error("the patience has no end")
	}
}
