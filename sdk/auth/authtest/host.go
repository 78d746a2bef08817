// Package authtest runs auth providers natively, against a simulated host: a test says
// what the network answers, what a person does and what is saved. The package takes the
// actions of package step one by one and checks that the provider keeps the contract. It
// writes down each action, so that a test can compare a flow with the lines that describe
// it.
package authtest

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/sdk/auth"
)

// Host is one host with one vault. A nil function means that the host lacks that ability: no
// network, no person to ask. It is not safe for concurrent use.
type Host struct {
	Now   int64 // Unix time in milliseconds; a wait moves it
	Vault Vault

	// Serve answers for the network. A nil response is no answer.
	Serve func(*step.HTTP) *step.Response

	// Browse acts for the person at a browser. It gets the page, and returns the parameters that
	// come to the callback; nil means that the person closes the page.
	Browse func(page *url.URL) map[string]string

	// Type acts for the person at a prompt. ok is false if the person declines.
	Type func(*step.Prompt) (text string, ok bool)

	// Taken are the ports that are already in use.
	Taken map[int]bool

	entropy uint64
}

// Outcome says how a flow ended, and lists all that it did.
type Outcome struct {
	Lines       []string // the actions, a line each
	Credentials *step.Credentials
	Material    *step.Material
	Fail        *step.Fail      // nil if it was done
	State       json.RawMessage // at the end
	Largest     int             // bytes of the largest state
}

// Run runs one flow to its end. An error says that the provider breaks the contract.
func (h *Host) Run(p auth.Provider, start step.Start) (*Outcome, error) {
	out := &Outcome{}
	h.Vault.begin()
	if len(start.Settings) == 0 {
		start.Settings = json.RawMessage("{}")
	}
	call := step.Call{Event: step.Event{Kind: step.EventStart, Start: &start}}
	for range step.MaxSteps {
		h.stamp(&call.Event)
		reply, err := take(p, &call)
		if err != nil {
			return out, err
		}
		out.Largest = max(out.Largest, len(reply.State))
		event, err := h.act(out, reply.Actions)
		if err != nil {
			return out, err
		}
		if event == nil {
			out.State = reply.State
			return out, nil
		}
		call = step.Call{State: reply.State, Event: *event}
	}
	return out, fmt.Errorf("the flow has more than %d steps", step.MaxSteps)
}

// take runs one step of the provider, within the bounds of the contract.
func take(p auth.Provider, call *step.Call) (*step.Reply, error) {
	in, err := json.Marshal(call)
	if err != nil {
		return nil, err
	}
	b, err := auth.Step(p, in)
	if err != nil {
		return nil, err
	}
	var reply step.Reply
	if err := json.Unmarshal(b, &reply); err != nil {
		return nil, err
	}
	if len(in) > step.MaxCall || len(b) > step.MaxReply || len(reply.State) > step.MaxState || len(reply.Actions) > step.MaxActions {
		return nil, fmt.Errorf("a step is larger than the contract allows: call %d, reply %d, state %d, actions %d",
			len(in), len(b), len(reply.State), len(reply.Actions))
	}
	return &reply, nil
}

// stamp gives an event its time, and randomness that is the same in each run.
func (h *Host) stamp(e *step.Event) {
	h.entropy++
	e.Now, e.Entropy = h.Now, binary.BigEndian.AppendUint64(make([]byte, 24), h.entropy)
}

// act takes the actions of one reply. It returns nil at the end of the flow.
func (h *Host) act(out *Outcome, actions []step.Action) (*step.Event, error) {
	for i := range actions {
		a := &actions[i]
		out.Lines = append(out.Lines, line(a))
		want, last := step.Awaits(a.Kind), i == len(actions)-1
		ends := a.Kind == step.ActionDone || a.Kind == step.ActionFail
		if last != (want != "" || ends) {
			return nil, fmt.Errorf("action %d of %d is %s", i+1, len(actions), a.Kind)
		}
		switch a.Kind {
		case step.ActionCredentials:
			out.Credentials = a.Credentials
		case step.ActionMaterial:
			out.Material = a.Material
		case step.ActionFail:
			out.Fail = a.Fail
			return nil, nil
		case step.ActionDone:
			return nil, nil
		}
		if want != "" {
			e := h.perform(a)
			e.Kind = want
			return e, nil
		}
	}
	return nil, fmt.Errorf("a reply without actions")
}

// perform takes an awaited action.
func (h *Host) perform(a *step.Action) *step.Event {
	switch a.Kind {
	case step.ActionLoad:
		return h.Vault.load(a.Load)
	case step.ActionStore:
		h.Vault.store(a.Store.Key, a.Store.Value)
		return &step.Event{}
	case step.ActionForget:
		h.Vault.forget(a.Forget.Key)
		return &step.Event{}
	case step.ActionHTTP:
		return h.exchange(a.HTTP)
	case step.ActionWait:
		h.Now += a.Wait.Milliseconds
		return &step.Event{}
	case step.ActionKey:
		return key(a.Key)
	case step.ActionSign:
		return &step.Event{Signed: &step.Signed{JWT: jwt(a.Sign)}}
	}
	return h.ask(a)
}

// ask takes an action that involves a person.
func (h *Host) ask(a *step.Action) *step.Event {
	switch {
	case a.Kind == step.ActionListen && h.Browse != nil:
		return h.listen(a.Listen)
	case a.Kind == step.ActionOpenBrowser && h.Browse != nil:
		page, err := url.Parse(a.OpenBrowser.URL)
		if err != nil || page.Query().Has("state") {
			return problem(step.ProblemRefused, "this page cannot be shown")
		}
		if params := h.Browse(page); params != nil {
			return &step.Event{Redirect: &step.Redirect{Params: params}}
		}
		return problem(step.ProblemCancelled, "the person closed the page")
	case a.Kind == step.ActionPrompt && h.Type != nil:
		if text, ok := h.Type(a.Prompt); ok {
			return &step.Event{Input: &step.Input{Text: text}}
		}
		return problem(step.ProblemCancelled, "the person said no")
	}
	return problem(step.ProblemUnavailable, "there is no person to ask")
}

func (h *Host) exchange(r *step.HTTP) *step.Event {
	if h.Serve == nil {
		return problem(step.ProblemNetwork, "no answer")
	}
	answer := h.Serve(r)
	if answer == nil {
		return problem(step.ProblemNetwork, "no answer")
	}
	if answer.URL == "" {
		answer.URL = r.URL
	}
	return &step.Event{Response: answer}
}

// freePort is the port for a Listen without one. If it is taken, the next free one is.
const freePort = 49152

func (h *Host) listen(l *step.Listen) *step.Event {
	host, port, path := l.Host, l.Port, l.Path
	if h.Taken[port] {
		return problem(step.ProblemRefused, "the port is taken")
	}
	if host == "" {
		host = "127.0.0.1"
	}
	if path == "" {
		path = "/callback"
	}
	if port == 0 {
		for port = freePort; h.Taken[port]; port++ {
		}
	}
	return &step.Event{Listening: &step.Listening{RedirectURI: fmt.Sprintf("http://%s:%d%s", host, port, path)}}
}

func problem(code, text string) *step.Event {
	return &step.Event{Problem: &step.Problem{Code: code, Text: text}}
}

func key(k *step.Key) *step.Event {
	if k.Do == step.KeyImport && k.PEM == "" {
		return problem(step.ProblemRefused, "this is no key")
	}
	return &step.Event{Key: &step.PublicKey{JWK: json.RawMessage(`{"kty":"test"}`), Thumbprint: "thumbprint"}}
}

// jwt returns a JWT whose signature is the name of the key. [Claims] reads it.
func jwt(s *step.Sign) string {
	encode := base64.RawURLEncoding.EncodeToString
	return encode(s.Header) + "." + encode(s.Claims) + "." + encode([]byte(s.Key))
}
