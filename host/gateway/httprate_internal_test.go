package gateway

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

// S9: a principal has its own bound, waits as long as it is told, and leaves nothing behind.
func TestS9Rates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &rates{perMinute: 60}
		want := func(principal string, n int, wait time.Duration) {
			t.Helper()
			if got := r.take(principal, n); got != wait {
				t.Errorf("%d of %q wait for %v, want %v", n, principal, got, wait)
			}
		}
		want("ann", 60, 0)
		want("ann", 1, time.Second)
		want("ann", 10, 10*time.Second) // the one that was refused does not count
		want("bob", 1, 0)
		want("ann", 61, time.Minute)
		time.Sleep(time.Second)
		want("ann", 1, 0)
		want("ann", 1, time.Second)
		for range 1000 {
			want("", 1000, 0)
		}
		for n := range 10 * minRates {
			want(strconv.Itoa(n), 1, 0)
		}
		if n := len(r.limiters); n < 10*minRates {
			t.Errorf("%d limiters: some that count were removed", n)
		}
		time.Sleep(time.Minute)
		for n := range 20 * minRates {
			want(strconv.Itoa(n), 1, 0)
			time.Sleep(time.Second)
		}
		if n := len(r.limiters); n > 2*minRates {
			t.Errorf("%d limiters are left", n)
		}
		r.perMinute = 0
		want("ann", 1000, 0)
	})
}
