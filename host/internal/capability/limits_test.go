//go:build unix

package capability

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestAllowance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := rateLimiter{burst: 3, refill: time.Second}
		takes := func(want int) {
			t.Helper()
			n := 0
			for a.allow(time.Now()) {
				n++
			}
			if n != want {
				t.Errorf("%d opens at once, want %d", n, want)
			}
		}
		takes(3)
		time.Sleep(999 * time.Millisecond)
		takes(0)
		time.Sleep(time.Millisecond)
		takes(1)
		time.Sleep(2500 * time.Millisecond)
		takes(2)
		time.Sleep(500 * time.Millisecond)
		takes(1)
		time.Sleep(24 * time.Hour)
		takes(3)
	})
}
