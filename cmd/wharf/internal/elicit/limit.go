package elicit

import (
	"sync"
	"time"
)

// A server may ask manyQuestions within a period before the person can tell it to
// stop. Once stopped, its questions are reported at most once a period.
const (
	manyQuestions = 3
	askingPeriod  = time.Minute
)

// limit counts the questions of one server, and knows whether the person has stopped
// it from asking. Safe for concurrent use.
type limit struct {
	mu       sync.Mutex
	asked    []time.Time // the questions of the last period that were put to the person
	stopped  bool
	declined int       // questions that were declined since the last report
	reported time.Time // when the person was last told of them
}

func (l *limit) isStopped() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stopped
}

// count counts a question, and reports whether there were many before it.
func (l *limit) count() (many bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	for len(l.asked) > 0 && now.Sub(l.asked[0]) >= askingPeriod {
		l.asked = l.asked[1:]
	}
	if many = len(l.asked) >= manyQuestions; many {
		l.asked = nil // the person is asked again after as many more
	}
	l.asked = append(l.asked, now)
	return many
}

func (l *limit) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = true
}

// decline counts a question that is not put to the person, and returns how many to
// report now; 0 is none.
func (l *limit) decline() (report int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.declined++
	if now := time.Now(); l.reported.IsZero() || now.Sub(l.reported) >= askingPeriod {
		report, l.declined, l.reported = l.declined, 0, now
	}
	return report
}
