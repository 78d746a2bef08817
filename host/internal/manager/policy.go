package manager

import (
	"cmp"
	"slices"
	"time"
)

// Policy says when a connection is tried again. A zero field has the default that is named beside
// it.
type Policy struct {
	Backoff []time.Duration // the first waits: 500 ms, 1 s, 2 s, 4 s
	Slow    time.Duration   // the wait after Backoff, which doubles each time: 60 s
	SlowMax time.Duration   // the longest wait: 5 min

	// Calm is how long a connection has to last before earlier failures are forgotten: 60 s. A good
	// start alone is no sign of health.
	Calm time.Duration

	// Failures within a Window trip the breaker: 5 in 60 s. Below zero, no number does. With the
	// backoff they also bound how often a server is started in any window, because every dial
	// either fails or lasts.
	Failures int
	Window   time.Duration
}

var defaultBackoff = []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second}

func (p Policy) withDefaults() Policy {
	if p.Backoff == nil {
		p.Backoff = defaultBackoff
	}
	p.Slow = cmp.Or(p.Slow, time.Minute)
	p.SlowMax = cmp.Or(p.SlowMax, 5*time.Minute)
	p.Calm = cmp.Or(p.Calm, time.Minute)
	p.Failures = cmp.Or(p.Failures, 5)
	p.Window = cmp.Or(p.Window, time.Minute)
	return p
}

// backoff holds the failures that count against a server. Its zero value holds none.
type backoff struct {
	waits   int         // the waits so far
	times   []time.Time // of each failure in the newest window
	tripped bool        // the breaker is open until all failures are forgotten: one good start is not enough
}

// fail notes a failure.
func (s *backoff) fail(p *Policy, now time.Time) {
	if p.Failures < 0 {
		return
	}
	s.times = slices.DeleteFunc(s.times, func(t time.Time) bool { return now.Sub(t) >= p.Window })
	s.times = append(s.times, now)
	s.tripped = s.tripped || len(s.times) >= p.Failures
}

// spread lengthens or shortens a time by up to a quarter. random is from 0 up to 1.
func spread(d time.Duration, random float64) time.Duration {
	return time.Duration(float64(d) * (0.75 + random/2))
}

// wait returns how long to wait before the next dial, and whether that is a step of the backoff. When
// the breaker has tripped, there are no steps, and the wait is p.Window or longer. random, in [0, 1), varies the wait by a quarter to either side,
// so that servers that failed together are not dialled together.
func (s *backoff) wait(p *Policy, random float64) (d time.Duration, step bool) {
	if s.tripped {
		s.waits = max(s.waits, len(p.Backoff))
	}
	step = s.waits < len(p.Backoff)
	if step {
		d = p.Backoff[s.waits]
	} else {
		d = p.Slow
		for range s.waits - len(p.Backoff) {
			if d = min(2*d, p.SlowMax); d == p.SlowMax {
				break
			}
		}
	}
	s.waits++
	d = spread(d, random)
	if s.tripped {
		d = max(d, p.Window) // else the next dial could be one too many in the window
	}
	return d, step
}
