package gateway

import (
	"testing"
	"testing/synctest"
	"time"
)

// Requests have leaveTime after the newest start and sign-in, however long these take.
func TestAwaitLeaving(t *testing.T) {
	for name, tt := range map[string]struct{ begins, ends, want time.Duration }{
		"not held up":             {0, 0, leaveTime},
		"held up":                 {0, 10 * time.Minute, 10*time.Minute + leaveTime},
		"held up and let go":      {time.Second, 2 * time.Second, 2*time.Second + leaveTime},
		"held up at the last":     {2 * time.Second, 4 * time.Second, 4*time.Second + leaveTime},
		"held up when it is over": {time.Hour, 2 * time.Hour, leaveTime},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				err := awaitLeaving(t.Context(), func() (ended uint64, now bool) {
					passed := time.Since(began)
					if passed >= tt.ends {
						ended = 1
					}
					return ended, tt.begins <= passed && passed < tt.ends
				})
				if took := time.Since(began); err != nil || took < tt.want || took >= tt.want+leaveTime {
					t.Errorf("%v after %v, want %v", err, took, tt.want)
				}
			})
		})
	}
}
