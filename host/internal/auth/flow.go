package auth

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/vault"
)

// How long a flow takes at most.
const (
	machineTime = 30 * time.Second // of a flow that does not ask a person, and of the rest after the person answered
	personTime  = 10 * time.Minute // until a person has answered everything
	endTime     = 20 * time.Second // to bring home what is on its way when the time is over
)

// maxFlowBytes is how much may go in and out of a provider in one flow.
const maxFlowBytes = 64 << 20

// flow is one sign-in: the loop of steps, and what is held for the provider
// between them. It belongs to the goroutine that runs it.
type flow struct {
	config   *Config
	provider Provider
	wants    step.Wants
	start    *step.Start
	nonces   *nonces

	// person ends when no login waits for the flow any more, or when the person has not
	// answered for too long. The flow then goes on without the person. It is nil if the
	// flow may not ask a person.
	person context.Context

	time     context.Context // ends when nothing new is begun any more
	locks    map[vault.Key]func()
	seen     map[vault.Key]uint64 // generations of records loaded and stored; 0 if there was none
	keys     map[string]*key
	callback Callback
	page     string // that the person was to see last
	bytes    int
	found    bool // a record was loaded
	asked    bool // something was done that can bring what is in no record
	result   result
}

// run runs a flow to its end. Every error is an *Error.
//
// When its time is over, a flow begins nothing new. But an answer that is on its
// way is waited for and may be stored: a server that has taken a refresh token
// has nothing else left for us than what is in that answer.
func (f *flow) run(ctx context.Context) (*result, error) {
	limit := machineTime
	if f.start.Interactive {
		limit += personTime
	}
	late := fmt.Errorf("no end of it after %v: %w", limit, context.DeadlineExceeded)
	ctx, cancel := context.WithTimeoutCause(ctx, limit+endTime, late)
	defer cancel()
	var over context.CancelFunc
	f.time, over = context.WithTimeoutCause(ctx, limit, late)
	defer over()
	if f.person == nil {
		f.person = f.time
	}
	f.locks, f.seen, f.keys = map[vault.Key]func(){}, map[vault.Key]uint64{}, map[string]*key{}
	f.wants = f.provider.Manifest().Wants
	defer f.release()
	if err := f.loop(ctx); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, blame(f.config.Name, "sign in to "+f.config.Server.Name, err)
	}
	return &f.result, nil
}

// release gives back what the flow has held.
func (f *flow) release() {
	for _, unlock := range f.locks {
		unlock()
	}
	if f.callback != nil {
		_ = f.callback.Close()
	}
}

// loop steps until an action ends the flow.
func (f *flow) loop(ctx context.Context) error {
	call := step.Call{Event: step.Event{Kind: step.EventStart, Start: f.start}}
	for range step.MaxSteps {
		stamp(&call.Event)
		reply, err := f.provider.Step(ctx, &call)
		if err != nil {
			return err
		}
		if f.bytes += len(call.State) + len(reply.State); f.bytes > maxFlowBytes {
			return violationf("its flow took more than %d bytes", maxFlowBytes)
		}
		call.State = reply.State
		event, err := f.take(ctx, reply.Actions)
		switch {
		case err != nil:
			return err
		case event == nil:
			f.result.state, f.result.saved = reply.State, f.found && !f.asked
			return nil
		}
		call.Event = *event
	}
	return violationf("its flow took more than %d steps", step.MaxSteps)
}

// stamp gives an event its time and randomness.
func stamp(e *step.Event) {
	e.Now, e.Entropy = time.Now().UnixMilli(), make([]byte, 32)
	_, _ = rand.Read(e.Entropy) // does not fail
}

// take takes the actions of one reply. It returns the event that the last one
// awaits, or nil at the end of the flow.
func (f *flow) take(ctx context.Context, actions []step.Action) (*step.Event, error) {
	for i := range actions {
		a := &actions[i]
		switch a.Kind {
		case step.ActionDone:
			return nil, nil
		case step.ActionFail:
			return nil, f.fail(a.Fail)
		}
		event, err := f.act(ctx, a)
		if err != nil || event != nil {
			return event, err
		}
	}
	return nil, violationf("its reply neither awaits anything nor ends the flow")
}

// act takes one action, if [CheckAction] has nothing against it. What could not be done
// comes back as the event with a problem; any other error ends the flow.
func (f *flow) act(ctx context.Context, a *step.Action) (*step.Event, error) {
	if begins := a.Kind == step.ActionHTTP || !endures(a.Kind); begins && f.time.Err() != nil {
		return nil, context.Cause(f.time)
	}
	if !endures(a.Kind) {
		ctx = f.time
	}
	var event *step.Event
	err := CheckAction(a, &f.wants, &f.config.Server)
	if err == nil {
		event, err = performers[a.Kind](f, ctx, a)
	}
	f.asked = f.asked || brings(a.Kind)
	f.found = f.found || event != nil && event.Record != nil
	var problem *step.Problem
	awaited := step.Awaits(a.Kind)
	switch {
	case errors.As(err, &problem) && awaited == "":
		return nil, violation(problem.Text)
	case problem != nil:
		event = &step.Event{Problem: &step.Problem{Code: problem.Code, Text: cleantext.Line(problem.Text, 1<<10)}}
	case err != nil:
		return nil, err
	}
	if event != nil {
		event.Kind = awaited
	}
	return event, nil
}

// performers are the actions that do something. One that awaits nothing returns
// no event.
var performers = map[string]func(*flow, context.Context, *step.Action) (*step.Event, error){
	step.ActionLoad:        (*flow).load,
	step.ActionStore:       (*flow).store,
	step.ActionForget:      (*flow).forget,
	step.ActionHTTP:        (*flow).fetch,
	step.ActionListen:      (*flow).listen,
	step.ActionOpenBrowser: (*flow).openBrowser,
	step.ActionPrompt:      (*flow).prompt,
	step.ActionRun:         (*flow).command,
	step.ActionKey:         (*flow).openKey,
	step.ActionSign:        (*flow).sign,
	step.ActionWait:        (*flow).wait,
	step.ActionShow:        (*flow).show,
	step.ActionCredentials: (*flow).setCredentials,
	step.ActionMaterial:    (*flow).setMaterial,
}

// endures tells the actions that are let finish when the time of a flow is over.
func endures(kind string) bool {
	switch kind {
	case step.ActionListen, step.ActionOpenBrowser, step.ActionPrompt, step.ActionRun, step.ActionWait:
		return false
	}
	return true
}

// brings tells the actions by which a flow can get what was in no record before.
func brings(kind string) bool {
	switch kind {
	case step.ActionHTTP, step.ActionOpenBrowser, step.ActionPrompt, step.ActionRun, step.ActionSign:
		return true
	}
	return false
}

// ungranted is the error of what the server entry does not allow; line is what
// allows it.
func ungranted(what, line string) error {
	return &refused{what + " is not granted", "to grant it, write in auth of the server: " + line}
}

// refused is a broken contract that the user can mend, as its hint says.
type refused struct{ text, hint string }

func (r *refused) Error() string { return r.text }

func unavailable(text string) error { return &step.Problem{Code: step.ProblemUnavailable, Text: text} }
