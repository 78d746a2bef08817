package auth

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/wharf-mcp/wharf/abi/step"
)

// Provider signs in to servers.
type Provider interface {
	// SignIn does what the start of the flow asks for. If it returns nil, the flow is done,
	// with the credentials that it has given or without any. An error ends the flow. A
	// *[Failure] tells the host what can help; any other error counts as one that a later try
	// may mend.
	SignIn(f *Flow) error
}

// Signer is a provider that signs every request by itself. Its manifest sets Wants.Requests, and
// also Wants.Body if it needs the bytes of the bodies.
type Signer interface {
	Provider

	// Sign returns the headers that r needs, at the time now, in Unix milliseconds. kept is the
	// value that the last flow gave to [Flow.Keep]. If that flow kept nothing, Sign is not
	// called: requests go unsigned, and when the server refuses one (401), SignIn runs with the
	// reason challenged.
	Sign(r *Request, now int64, kept json.RawMessage) (headers map[string]string, err error)
}

// Failure is an error that tells the host what can help.
type Failure struct {
	Class   string // step.FailRetry, step.FailLogin or step.FailConfig
	Message string
	Hint    string // what to do, if the host cannot know; may be ""
	URL     string // of class login: where the person would sign in; may be ""
}

func (f *Failure) Error() string { return f.Message }

// NeedsLogin returns the failure of a flow that needs a person, if no person can be asked or the
// person declined.
func NeedsLogin(message, hint string) error {
	return &Failure{Class: step.FailLogin, Message: message, Hint: hint}
}

// Misconfigured returns a failure that only a change of the configuration mends.
func Misconfigured(message, hint string) error {
	return &Failure{Class: step.FailConfig, Message: message, Hint: hint}
}

// Describe does the work of the export wharf_auth_describe.
func Describe(m Manifest) []byte {
	m.ABI = step.Version
	return encode(m)
}

// history is the state between two steps. Past has the answers so far: the next step runs the
// flow again from its start with them. After the flow, Keep has the value for signing.
type history struct {
	Past []step.Event    `json:"past,omitempty"`
	Keep json.RawMessage `json:"keep,omitempty"`
}

// Step does the work of the export wharf_auth_step: it reads a step.Call and returns a
// step.Reply. A test can call it natively.
func Step(p Provider, call []byte) ([]byte, error) {
	var in step.Call
	if err := json.Unmarshal(call, &in); err != nil {
		return nil, fmt.Errorf("the call is not of this contract: %w", err)
	}
	var h history
	if in.State != nil {
		if err := json.Unmarshal(in.State, &h); err != nil {
			return nil, fmt.Errorf("the state is not ours: %w", err)
		}
	}
	if in.Event.Kind == step.EventRequest && in.Event.Request != nil {
		return encode(sign(p, &in.Event, h.Keep)), nil
	}
	past := append(h.Past, in.Event)
	for i := range past {
		if !isWhole(&past[i], i == 0) {
			return nil, fmt.Errorf("event %s comes without what belongs to it", past[i].Kind)
		}
	}
	f := &Flow{past: past}
	f.seed()
	f.run(p)
	return encode(f.reply()), nil
}

// isWhole reports whether an event has the field that the methods of Flow read. The first event
// must be a start, and no other may.
func isWhole(e *step.Event, first bool) bool {
	if first || e.Kind == step.EventStart {
		return first && e.Kind == step.EventStart && e.Start != nil && e.Problem == nil
	}
	if e.Problem != nil {
		return true
	}
	switch e.Kind {
	case step.EventResponse:
		return e.Response != nil
	case step.EventListening:
		return e.Listening != nil
	case step.EventRedirect:
		return e.Redirect != nil
	case step.EventInput:
		return e.Input != nil
	case step.EventRun:
		return e.Run != nil
	case step.EventKey:
		return e.Key != nil
	case step.EventSigned:
		return e.Signed != nil
	}
	isResult := strings.HasPrefix(e.Kind, eventSettled) && e.Record != nil
	return isResult || e.Kind == step.EventLoaded || e.Kind == step.EventStored || e.Kind == step.EventTimer
}

// run runs SignIn until it returns, or awaits an answer that has not come yet.
func (f *Flow) run(p Provider) {
	defer func() {
		if r := recover(); r != nil && r != (any)(suspended{}) {
			panic(r)
		}
	}()
	f.end(p.SignIn(f))
}

// end adds the action that ends the flow.
func (f *Flow) end(err error) {
	if err == nil {
		f.actions = append(f.actions, step.Action{Kind: step.ActionDone})
		return
	}
	f.actions = []step.Action{failure(err)}
}

// failure returns the action that reports an error to the host.
func failure(err error) step.Action {
	fail := step.Fail{Class: step.FailRetry, Message: err.Error()}
	var known *Failure
	var problem *Problem
	switch {
	case errors.As(err, &known):
		fail.Class, fail.Hint, fail.URL = known.Class, known.Hint, known.URL
	case !errors.As(err, &problem):
	case problem.Code == step.ProblemCancelled, problem.Code == step.ProblemTimeout:
		fail.Class = step.FailLogin
	case problem.Code == step.ProblemUnavailable, problem.Code == step.ProblemRefused:
		fail.Class = step.FailConfig
	}
	return step.Action{Kind: step.ActionFail, Fail: &fail}
}

// reply returns the output of this step.
func (f *Flow) reply() step.Reply {
	h := history{Past: f.past}
	if last := f.actions[len(f.actions)-1].Kind; step.Awaits(last) == "" {
		if f.keep == nil {
			return step.Reply{Actions: f.actions}
		}
		h = history{Keep: f.keep}
	}
	return step.Reply{State: encode(h), Actions: f.actions}
}

// sign answers a request event.
func sign(p Provider, e *step.Event, kept json.RawMessage) step.Reply {
	state := encode(history{Keep: kept})
	s, ok := p.(Signer)
	if !ok {
		return step.Reply{State: state, Actions: []step.Action{failure(errors.New("this provider signs no requests"))}}
	}
	headers, err := s.Sign(e.Request, e.Now, kept)
	if err != nil {
		return step.Reply{State: state, Actions: []step.Action{failure(err)}}
	}
	return step.Reply{State: state, Actions: []step.Action{
		{Kind: step.ActionCredentials, Credentials: &step.Credentials{Headers: headers}},
		{Kind: step.ActionDone},
	}}
}

// encode is json.Marshal for values that always have a JSON form.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("auth: " + err.Error())
	}
	return b
}
