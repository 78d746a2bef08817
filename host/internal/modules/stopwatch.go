package modules

import (
	"sync"
	"time"
)

// stopwatch notes when plugins are being loaded. Its zero value has noted nothing. All methods are safe
// for concurrent use.
type stopwatch struct {
	mu      sync.Mutex
	running int       // loads under way
	began   time.Time // when at least one has been under way since
	spans   []span    // before that, in their order
}

// span is a time in which at least one plugin was being loaded.
type span struct{ from, to time.Time }

// mostSpans is how many spans are kept: the newest.
const mostSpans = 64

// start notes that a load has begun. The caller calls stop when it has ended.
func (w *stopwatch) start() (stop func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running++; w.running == 1 {
		w.began = time.Now()
	}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.running--; w.running == 0 {
			w.spans = append(w.spans[max(0, len(w.spans)-mostSpans+1):], span{w.began, time.Now()})
		}
	}
}

// since returns for how long at least one plugin has been loaded since a time.
func (w *stopwatch) since(t time.Time) (busy time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	spans := w.spans
	if w.running > 0 {
		spans = append(spans[:len(spans):len(spans)], span{w.began, time.Now()})
	}
	for _, s := range spans {
		if from := s.from; s.to.After(t) {
			if t.After(from) {
				from = t
			}
			busy += s.to.Sub(from)
		}
	}
	return busy
}
