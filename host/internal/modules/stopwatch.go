package modules

import (
	"sync"
	"time"
)

// stopwatch adds up the time in which at least one plugin is being loaded. Its zero value has
// measured none. All methods are safe for concurrent use.
type stopwatch struct {
	mu      sync.Mutex
	running int // loads under way
	since   time.Time
	total   time.Duration // without the time since then
}

// start notes that a load has begun. The caller calls stop when it has ended.
func (w *stopwatch) start() (stop func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running++; w.running == 1 {
		w.since = time.Now()
	}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.running--; w.running == 0 {
			w.total += time.Since(w.since)
		}
	}
}

func (w *stopwatch) elapsed() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running > 0 {
		return w.total + time.Since(w.since)
	}
	return w.total
}
