package flowrecord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/internal/redact"
)

// Provider is an auth provider as the flows of one account see it.
type Provider interface {
	Manifest() *step.Manifest
	Step(ctx context.Context, call *step.Call) (*step.Reply, error)
}

// Recorder is a provider that records its flows. Several recorders may share all fields except the
// two providers.
type Recorder struct {
	Provider           // signs in
	Rehearsal Provider // of the same module, with instances of its own

	Secrets *redact.Set       // texts that the host knows as secrets; may be nil
	Write   func(line []byte) // gets each flow when it has ended
	Warn    func(text string) // gets the reason why a flow could not be recorded

	mu    sync.Mutex
	taken []taken // steps of the current flow, or of the last one until a request is signed with it
	bytes int
	over  bool // the flow has ended
}

// taken is a step of the real run.
type taken struct {
	event step.Event
	shape []string // of the actions
}

// rehearsalTime bounds the second run of a flow.
const rehearsalTime = 10 * time.Second

// Step implements [Provider]. At the end of a flow it returns when the flow is recorded. If the
// provider signs requests, the first request records the flow again.
func (r *Recorder) Step(ctx context.Context, call *step.Call) (*step.Reply, error) {
	reply, err := r.Provider.Step(ctx, call)
	if err != nil {
		return reply, err
	}
	flow := r.note(call, reply)
	if flow == nil {
		return reply, nil
	}
	again, cancel := context.WithTimeout(context.WithoutCancel(ctx), rehearsalTime)
	defer cancel()
	line, problem := r.rehearse(again, flow)
	if problem != nil {
		r.Warn(fmt.Sprintf("the sign-in with %s is not recorded: %v", r.Manifest().Name, problem))
	} else {
		r.Write(line)
	}
	return reply, nil
}

// note adds a step. It returns the whole flow if it has to be recorded now.
func (r *Recorder) note(call *step.Call, reply *step.Reply) []taken {
	r.mu.Lock()
	defer r.mu.Unlock()
	isRequest := call.Event.Kind == step.EventRequest
	switch {
	case call.Event.Kind == step.EventStart:
		r.taken, r.bytes, r.over = nil, 0, false
	case isRequest != r.over:
		return nil // a later request, or one that is signed during a flow
	}
	text, _ := json.Marshal(call.Event) // the provider has had it as JSON
	if r.bytes += len(text); r.bytes <= maxLine {
		r.taken = append(r.taken, taken{call.Event, shape(reply.Actions)})
	}
	last := reply.Actions[len(reply.Actions)-1].Kind
	r.over = step.Awaits(last) == "" && !isRequest
	switch {
	case isRequest:
		defer func() { r.taken = nil }()
	case !r.over:
		return nil
	}
	if r.bytes > maxLine {
		r.Warn(fmt.Sprintf("a sign-in with %s is not recorded: its events have %d bytes, and a flow may have %d", r.Manifest().Name, r.bytes, maxLine))
		return nil
	}
	return slices.Clone(r.taken)
}

// shape returns the parts of the actions that must be equal in both runs: the kinds, the target of
// a request, the failure of a flow.
func shape(actions []step.Action) (out []string) {
	for i := range actions {
		a := &actions[i]
		text := a.Kind
		switch {
		case a.HTTP != nil:
			to, err := url.Parse(a.HTTP.URL)
			if err == nil {
				text += " " + a.HTTP.Method + " " + to.Host
			}
		case a.Fail != nil:
			text += " " + a.Fail.Class
		}
		out = append(out, text)
	}
	return out
}

// rehearse is the second run.
func (r *Recorder) rehearse(ctx context.Context, flow []taken) ([]byte, error) {
	m := r.Rehearsal.Manifest()
	s := newStandIns(m, r.Secrets)
	events := make([]step.Event, len(flow))
	for i := range flow {
		events[i] = s.event(i, &flow[i].event)
	}
	out := Flow{Kind: Kind, Format: Format, Provider: m.Name, Version: m.Version}
	var state json.RawMessage
	for i := range events {
		if err := s.sweep(&events[i]); err != nil {
			return nil, err
		}
		reply, err := r.Rehearsal.Step(ctx, &step.Call{State: state, Event: events[i]})
		if err != nil {
			return nil, fmt.Errorf("step %d, run with stand-ins for secrets: %w", i+1, err)
		}
		if got, want := shape(reply.Actions), flow[i].shape; !slices.Equal(got, want) {
			return nil, fmt.Errorf("step %d: with stand-ins for secrets it asks for %s, and not for %s",
				i+1, strings.Join(got, ", "), strings.Join(want, ", "))
		}
		state = reply.State
		out.Steps = append(out.Steps, Step{events[i], reply.Actions})
	}
	line, err := out.encode()
	switch {
	case err != nil:
		return nil, err
	case len(line) > maxLine:
		return nil, fmt.Errorf("it has %d bytes, and a flow may have %d", len(line), maxLine)
	case s.leaked(line):
		return nil, errors.New("a secret stands in what it asks for, also when it is run with stand-ins")
	}
	return line, nil
}
