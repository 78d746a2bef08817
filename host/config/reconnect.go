package config

import (
	"fmt"
	"time"
)

// Reconnect says when to try a server again that could not be reached, or whose connection was
// lost. Its zero value is the default: after 0.5, 1, 2 and 4 s, then after a minute, and more
// and more slowly up to 5 min. A server that fails 5 times in a minute rests for a while, in
// which calls fail at once. A connection that has lasted a minute clears these failures. A field
// that is zero has the default that is named beside it.
type Reconnect struct {
	Backoff []time.Duration // the first waits: 500 ms, 1 s, 2 s, 4 s; an empty list has none
	Slow    time.Duration   // the wait after them, which doubles: 60 s
	SlowMax time.Duration   // up to this: 5 min

	// Calm is how long a connection has to last until earlier failures are forgiven: 60 s. A
	// good start alone is no sign of health.
	Calm time.Duration

	// Failures is how many failures in a Window are too many: 5 in 60 s. Below zero there is no
	// limit. Since every dial either fails or lasts, Failures and the backoff also bound how
	// often a server is started in any window.
	Failures int
	Window   time.Duration
}

// maxFailures bounds how many failures of a server are remembered.
const maxFailures = 1000

// reconnect reads the table reconnect.
func (e *entry) reconnect() (r Reconnect) {
	values := valueOf[map[string]any](e, "reconnect", "expected a table, not %s; write [reconnect]")
	if values == nil {
		return r
	}
	e.within("reconnect", values, func(e *entry) {
		e.onlyKeys(reconnectKeys, "")
		r = Reconnect{
			Backoff: e.durations("backoff"), Slow: e.positive("slow"), SlowMax: e.positive("slow_max"),
			Calm: e.positive("calm"), Window: e.positive("window"),
		}
		if failures, ok := values["failures"]; ok {
			n, ok := failures.(int64)
			switch {
			case !ok || n < 0 || n > maxFailures:
				e.fail("failures", "expected a number from 1 to %d, or 0 for any number", maxFailures)
			case n == 0:
				n = -1
			}
			r.Failures = int(n)
		}
		if r.Slow != 0 && r.SlowMax != 0 && r.Slow > r.SlowMax {
			e.fail("slow_max", "is shorter than slow; the waits grow from slow up to slow_max")
		}
	})
	return r
}

// positive reads a duration that is not 0.
func (e *entry) positive(key string) time.Duration {
	d := e.duration(key)
	if d < 0 {
		e.fail(key, `is 0; write "30s" or "2m"`)
		return 0
	}
	return d
}

// durations reads a list of durations.
func (e *entry) durations(key string) []time.Duration {
	known := len(e.wrong)
	texts := e.list(key)
	if texts == nil || len(e.wrong) > known {
		return nil
	}
	list := make([]time.Duration, len(texts))
	for i, text := range texts {
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			e.fail(fmt.Sprintf("%s[%d]", key, i), `%q is no duration above 0; write "500ms" or "2s"`, text)
		}
		list[i] = d
	}
	return list
}
