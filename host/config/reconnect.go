package config

import (
	"fmt"
	"time"
)

// Reconnect is when a server is tried again that failed. What is zero has the default of
// the host, whose Policy has the same fields and says more of each.
type Reconnect struct {
	Backoff []time.Duration // the first waits; an empty list has none of them
	Slow    time.Duration   // the wait after them, which doubles
	SlowMax time.Duration   // up to this

	// Calm is how long a connection has to last before the failures before it are forgiven.
	Calm time.Duration

	// Failures in a Window are too many; below zero they never are.
	Failures int
	Window   time.Duration
}

// maxFailures bounds what is remembered of a server.
const maxFailures = 1000

// reconnect reads the table of that name.
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
