package elicit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// A server may ask manyQuestions within a period before the person can tell it to
// stop. Once stopped, its questions are reported at most once a period.
const (
	manyQuestions = 3
	askingPeriod  = time.Minute
)

// errStopped says that the person wants no more questions of a server.
var errStopped = errors.New("the person wants no more questions")

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

// checkLimit asks the person whether they want another question of a server that has
// asked many, and returns errStopped if they want no more. The caller holds the
// dialog.
func (a *Asker) checkLimit(ctx context.Context) error {
	if a.limit.isStopped() { // while this question waited for the dialog
		return errStopped
	}
	if !a.limit.count() {
		return nil
	}
	q := term.Question{
		Above:  "\n" + a.Own("%s has asked you %d times within a minute, and asks again.", plain.Server(a.Server), manyQuestions),
		Prompt: "Hear it? [y]es, [n]o, [s]top it from asking: ", Consent: true,
	}
	for {
		text, err := a.Ask(ctx, q)
		if err != nil {
			return err
		}
		switch strings.ToLower(strings.TrimSpace(text)) {
		case "y", "yes":
			return nil
		case "n", "no":
			return term.ErrDeclined
		case "s", "stop":
			a.limit.stop()
			return errStopped
		}
		q.Consent = false
	}
}

// declineUnasked declines a question of a server that was told to stop asking.
func (a *Asker) declineUnasked() (mcp.ElicitResult, error) {
	if n := a.limit.decline(); n > 0 {
		fmt.Fprint(a.Err, a.Own("note: %s has asked, and was declined, as you told it to stop (%d); this ends with the command.", plain.Server(a.Server), n))
	}
	return mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
}
