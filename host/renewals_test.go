package host

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// A server that says all the time that its lists have changed, and in answer to each list, is
// asked at once and then less and less often, and never twice at the same time.
func TestRenewals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var r renewals
		var at []time.Duration
		began, asking := time.Now(), false
		renew := func(context.Context) {
			if asking {
				t.Error("asked while it was asked")
			}
			asking, at = true, append(at, time.Since(began).Round(time.Second))
			time.Sleep(time.Millisecond)
			for n := 0; n < 1000 && ctx.Err() == nil; n++ {
				if r.want() {
					t.Error("another renewal would run")
				}
			}
			asking = false
		}
		if !r.want() {
			t.Fatal("no one renews")
		}
		time.AfterFunc(5*time.Minute, cancel)
		r.run(ctx, renew)
		want := []time.Duration{0, 1, 3, 7, 15, 31, 63, 123, 183, 243, 300}
		for i := range want {
			want[i] *= time.Second
		}
		if !slices.Equal(at, want) {
			t.Errorf("asked after %v, want %v", at, want)
		}
	})
}

// One that is quiet again is asked at once when it says so next.
func TestRenewalsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r renewals
		asked := 0
		for range 2 {
			if !r.want() {
				t.Fatal("no one renews")
			}
			r.run(t.Context(), func(context.Context) { asked++ })
		}
		if asked != 2 {
			t.Errorf("asked %d times", asked)
		}
	})
}
