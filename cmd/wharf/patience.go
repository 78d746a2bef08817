package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/wharf-mcp/wharf/host/mcp"
)

// How often a server may ask before the person can tell it to stop, and how often
// they hear that it goes on.
const (
	manyQuestions = 3
	askingPeriod  = time.Minute
)

// errEnough says that the person wants no more questions of a server.
var errEnough = errors.New("the person wants no more questions")

// patience is what a server has asked so far, and whether the person has had enough.
// Safe for concurrent use.
type patience struct {
	mu     sync.Mutex
	asked  []time.Time // the questions of the last period that were put to the person
	over   bool
	unsaid int       // questions that were declined since the person heard of one
	heard  time.Time // when they did
}

func (p *patience) isOver() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.over
}

// count takes down a question, and reports whether there were many before it.
func (p *patience) count() (many bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	for len(p.asked) > 0 && now.Sub(p.asked[0]) >= askingPeriod {
		p.asked = p.asked[1:]
	}
	if many = len(p.asked) >= manyQuestions; many {
		p.asked = nil // and it is asked about after as many more
	}
	p.asked = append(p.asked, now)
	return many
}

// end has the person hear no more questions.
func (p *patience) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
}

// decline takes down a question that the person does not hear, and returns of how
// many they are to be told: a server that asks without end is told of now and then.
func (p *patience) decline() (tell int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unsaid++
	if now := time.Now(); p.heard.IsZero() || now.Sub(p.heard) >= askingPeriod {
		tell, p.unsaid, p.heard = p.unsaid, 0, now
	}
	return tell
}

// putUpWith asks the person whether they want to hear another question of a server
// that has asked many, and returns errEnough if they want none any more. The caller
// has the floor.
func (a *asker) putUpWith(ctx context.Context) error {
	if a.patience.isOver() { // since it waited for the floor
		return errEnough
	}
	if !a.patience.count() {
		return nil
	}
	q := question{
		above:  "\n" + a.ours("%s has asked you %d times within a minute, and asks again.", who(a.server), manyQuestions),
		prompt: "Hear it? [y]es, [n]o, [s]top it from asking: ", consent: true,
	}
	for {
		text, err := a.ask(ctx, q)
		if err != nil {
			return err
		}
		switch strings.ToLower(strings.TrimSpace(text)) {
		case "y", "yes":
			return nil
		case "n", "no":
			return errRefused
		case "s", "stop":
			a.patience.end()
			return errEnough
		}
		q.consent = false
	}
}

// silenced declines a question of a server that was told to stop asking.
func (a *asker) silenced() (mcp.ElicitResult, error) {
	if n := a.patience.decline(); n > 0 {
		fmt.Fprint(a.err, a.ours("note: %s has asked, and was declined, as you told it to stop (%d); this ends with the command.", who(a.server), n))
	}
	return mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
}
