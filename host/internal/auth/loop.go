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

// run runs a flow to its end. Every error is an *Error.
//
// When its time is over, a flow begins nothing new. But it waits for an answer that it has
// requested, and may store it: once a server has taken a refresh token, only that answer holds the
// new one.
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
	person, leave := context.WithCancel(f.person)
	f.person = person
	defer f.showing.Wait()
	defer leave()
	f.locks, f.seen, f.keys = map[vault.Key]func(){}, map[vault.Key]uint64{}, map[string]*key{}
	f.wants = f.provider.Manifest().Wants
	defer func() {
		for _, unlock := range f.locks {
			unlock()
		}
		if f.callback != nil {
			_ = f.callback.Close()
		}
	}()
	if err := f.loop(ctx); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, blame(f.config.Name, "sign in to "+f.config.Server.Name, err)
	}
	return &f.result, nil
}

// loop takes steps until an action ends the flow.
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
		var event *step.Event // the event that the last action awaits
		for i := range reply.Actions {
			if reply.Actions[i].Kind == step.ActionDone {
				f.result.state, f.result.saved = reply.State, f.found && !f.asked
				return nil
			}
			if event, err = f.act(ctx, &reply.Actions[i]); err != nil {
				return err
			}
			if event != nil {
				break
			}
		}
		if event == nil {
			return violationf("its reply neither awaits anything nor ends the flow")
		}
		call.Event = *event
	}
	return violationf("its flow took more than %d steps", step.MaxSteps)
}

// stamp gives an event its time and randomness.
func stamp(e *step.Event) {
	e.Now, e.Entropy = time.Now().UnixMilli(), make([]byte, 32)
	_, _ = rand.Read(e.Entropy) // it never fails
}

// act takes one action, if [CheckAction] allows it. A failure that is a problem comes back as an
// event if the action awaits one; any other error ends the flow. An action that awaits nothing has no
// event.
func (f *flow) act(ctx context.Context, a *step.Action) (*step.Event, error) {
	does := actions[a.Kind]
	if (does.stops || a.Kind == step.ActionHTTP) && f.time.Err() != nil {
		return nil, context.Cause(f.time)
	}
	if does.stops {
		ctx = f.time
	}
	var event *step.Event
	err := CheckAction(a, &f.wants, &f.config.Server)
	if err == nil {
		event, err = does.perform(f, ctx, a)
	}
	f.asked = f.asked || does.brings
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

// actions holds the kinds of action, except done.
var actions = map[string]struct {
	perform func(*flow, context.Context, *step.Action) (*step.Event, error)
	stops   bool // refused when the time of the flow is over, while others may finish
	brings  bool // the result can be something that no record has
}{
	step.ActionLoad:        {perform: (*flow).load},
	step.ActionStore:       {perform: (*flow).store},
	step.ActionForget:      {perform: (*flow).forget},
	step.ActionHTTP:        {perform: (*flow).fetch, brings: true},
	step.ActionListen:      {perform: (*flow).listen, stops: true},
	step.ActionOpenBrowser: {perform: (*flow).openBrowser, stops: true, brings: true},
	step.ActionPrompt:      {perform: (*flow).prompt, stops: true, brings: true},
	step.ActionRun:         {perform: (*flow).command, stops: true, brings: true},
	step.ActionKey:         {perform: (*flow).openKey},
	step.ActionSign:        {perform: (*flow).sign, brings: true},
	step.ActionWait:        {perform: (*flow).wait, stops: true},
	step.ActionShow:        {perform: (*flow).show},
	step.ActionCredentials: {perform: (*flow).setCredentials},
	step.ActionMaterial:    {perform: (*flow).setMaterial},
	step.ActionFail:        {perform: (*flow).fail},
}
