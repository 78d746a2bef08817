//go:build unix

package httpclient

import (
	"context"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/capability"
)

// patienceOf returns a patience that waits as long as d for a body, and the
// context that it ends.
func patienceOf(d time.Duration) (*phaseTimer, context.Context) {
	ctx, cancel := context.WithCancelCause(context.Background())
	return &phaseTimer{limits: &capability.Limits{Head: time.Hour, Body: d}, cancel: cancel}, ctx
}

// A clock that rang may still be about to tell its owner: it must not end an
// exchange that came after.
func TestAClockThatRangIsNotHandedOn(t *testing.T) {
	for name, end := range map[string]func(w *phaseTimer){
		"while it ran": func(*phaseTimer) {},
		"before a rest": func(w *phaseTimer) {
			w.stop()
			w.await(forHead)
		},
		"before another phase": func(w *phaseTimer) { w.await(forHead) },
	} {
		w, ctx := patienceOf(time.Nanosecond)
		w.await(forHead)
		w.await(forBody)
		<-ctx.Done()
		end(w)
		if w.recycle(); w.clock == nil {
			t.Errorf("%s: it was handed on", name)
		}
	}
}

func TestAClockIsHandedOn(t *testing.T) {
	w, ctx := patienceOf(time.Hour)
	w.await(forHead)
	w.stop()
	w.stop()
	w.await(forBody)
	w.await(forHead)
	if w.recycle(); w.clock != nil || ctx.Err() != nil {
		t.Errorf("it was kept; %v", ctx.Err())
	}
	w.recycle()
}

// No server is given up while the host is what is waited for, even if the clock ran
// out a moment before.
func TestARestIsOurs(t *testing.T) {
	w, ctx := patienceOf(time.Hour)
	w.await(forBody)
	w.stop()
	w.expire()
	w.onSent(false)
	if w.expire(); ctx.Err() != nil {
		t.Error(context.Cause(ctx))
	}
	w.await(forBody)
	if w.expire(); ctx.Err() == nil {
		t.Error("the patience has no end")
	}
}
