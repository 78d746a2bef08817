package plugintest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/internal/auth"
)

// authHost runs a scenario with an auth provider. It acts as the host, with the vault, network,
// person and clock that the scenario describes.
type authHost struct {
	ctx       context.Context
	profile   *SignIn
	instances []auth.Provider // which take the steps in turn
	manifest  *step.Manifest
	secrets   []string

	now      int64  // in milliseconds
	entropy  uint64 // of events so far
	network  string
	declines bool // the person says no
	strange  bool // the next event has an unknown kind
	records  map[step.RecordKey]json.RawMessage
	counts   map[*Answer]int
	runs     int // of the command

	flow  result // of the newest flow
	steps int
	state int           // bytes of the largest
	slow  time.Duration // of the slowest step

	lines   []string // of the trace
	replies []string // as they came
	given   []string // credentials, as a request would carry them
}

// result is the outcome of one flow.
type result struct {
	credentials *step.Credentials
	material    *step.Material
	fail        *step.Fail
	state       json.RawMessage
	asked       int            // of the person
	kinds       map[string]int // actions
	listening   bool
}

// firstMoment is the time at which every run begins, in milliseconds.
const firstMoment = 1_800_000_000_000

// start runs one flow to its end. An error is a broken contract.
func (o *authHost) start(s *step.Start) error {
	o.flow = result{kinds: map[string]int{}}
	s.Server = *o.server()
	s.Settings, s.Client = o.profile.Settings, step.Client{Name: "kit", Version: "1"}
	o.note("--> start %s%s", s.Reason, map[bool]string{true: ", interactive"}[s.Interactive])
	return o.run(step.Call{Event: step.Event{Kind: step.EventStart, Start: s}})
}

// server returns the server of the entry.
func (o *authHost) server() *step.Server {
	return &step.Server{Name: "kit", URL: o.profile.Server, Resource: o.profile.Server}
}

// maxFlowTime is how long a host lets a flow take that asks a person.
const maxFlowTime = 10*time.Minute + 30*time.Second

// run steps until an action ends the flow.
func (o *authHost) run(call step.Call) error {
	began := o.now
	for range step.MaxSteps {
		if took := time.Duration(o.now-began) * time.Millisecond; took > maxFlowTime {
			return fmt.Errorf("the flow has not ended after %v, and a host has given it up", took.Round(time.Second))
		}
		reply, err := o.step(&call)
		if err != nil {
			return err
		}
		event, err := o.take(reply.Actions)
		if err != nil {
			return err
		}
		o.flow.state = reply.State
		if event == nil {
			return nil
		}
		if o.strange {
			event, o.strange = &step.Event{Kind: "tide"}, false
		}
		o.note("--> %s%s", event.Kind, describeEvent(event))
		call = step.Call{State: reply.State, Event: *event}
	}
	return fmt.Errorf("the flow has not ended after %d steps", step.MaxSteps)
}

// step calls the provider once, on the instance whose turn it is. The clock moves on,
// and randomness is the same in every run.
func (o *authHost) step(call *step.Call) (*step.Reply, error) {
	if err := o.ctx.Err(); err != nil {
		return nil, err
	}
	o.now++
	o.entropy++
	entropy := sha256.Sum256(binary.LittleEndian.AppendUint64(nil, o.entropy))
	call.Event.Now, call.Event.Entropy = o.now, entropy[:]
	began := time.Now()
	reply, err := o.instances[o.steps%len(o.instances)].Step(o.ctx, call)
	o.slow = max(o.slow, time.Since(began))
	o.steps++
	if err != nil {
		return nil, err
	}
	o.state = max(o.state, len(reply.State))
	text, err := json.Marshal(reply)
	o.replies = append(o.replies, string(text))
	return reply, err
}

// take performs the actions of a reply, and returns the event that answers the last one;
// nil at the end of a flow.
func (o *authHost) take(actions []step.Action) (*step.Event, error) {
	for i := range actions {
		a := &actions[i]
		o.note("  <-- %s", describeAction(a))
		o.flow.kinds[a.Kind]++
		if err := o.checks(a); err != nil {
			return nil, fmt.Errorf("%s: %w", a.Kind, err)
		}
		switch a.Kind {
		case step.ActionCredentials:
			o.flow.credentials = a.Credentials
			o.given = append(o.given, shown(a.Credentials))
		case step.ActionMaterial:
			o.flow.material = a.Material
		case step.ActionFail:
			o.flow.fail = a.Fail
			return nil, nil
		case step.ActionDone:
			return nil, nil
		}
		if kind := step.Awaits(a.Kind); kind != "" {
			event := o.perform(a)
			event.Kind = kind
			return event, nil
		}
	}
	return nil, errors.New("a reply neither awaits anything nor ends the flow")
}

// shown returns the text of what a request would carry.
func shown(c *step.Credentials) string {
	text, _ := json.Marshal(map[string]any{"token": c.Token, "headers": c.Headers}) // of texts
	return string(text)
}

func (o *authHost) note(format string, args ...any) {
	o.lines = append(o.lines, fmt.Sprintf(format, args...))
}

// trace returns the trace of the run, or "" if the run never began.
func (o *authHost) trace() string {
	if o == nil {
		return ""
	}
	return strings.Join(o.lines, "\n")
}

// signedIn reports whether the newest flow ended with credentials. For a signer, a state with
// which a host would call it counts too.
func (o *authHost) signedIn() bool {
	r := &o.flow
	return r.fail == nil && (r.credentials != nil || r.material != nil || o.manifest.Wants.Requests && r.kinds[step.ActionDone] > 0 && step.HasState(r.state))
}

// describeAction returns the line of an action in the trace, without anything that may be secret.
func describeAction(a *step.Action) string {
	switch a.Kind {
	case step.ActionLoad:
		return fmt.Sprintf("load %q%s", a.Load.Key.Name, map[bool]string{true: ", locked"}[a.Load.Lock])
	case step.ActionStore:
		return fmt.Sprintf("store %q", a.Store.Key.Name)
	case step.ActionForget:
		return fmt.Sprintf("forget %q", a.Forget.Key.Name)
	case step.ActionHTTP:
		return fmt.Sprintf("http %s %s, %d bytes", a.HTTP.Method, plainURL(a.HTTP.URL), len(a.HTTP.Body))
	case step.ActionOpenBrowser:
		return "open_browser " + plainURL(a.OpenBrowser.URL)
	case step.ActionPrompt:
		return fmt.Sprintf("prompt %q", a.Prompt.Label)
	case step.ActionWait:
		return fmt.Sprintf("wait %d ms", a.Wait.Milliseconds)
	case step.ActionFail:
		return fmt.Sprintf("fail %s: %s", a.Fail.Class, a.Fail.Message)
	}
	return a.Kind
}

// describeEvent returns the line of an event in the trace.
func describeEvent(e *step.Event) string {
	switch {
	case e.Problem != nil:
		return ", problem " + e.Problem.Code
	case e.Response != nil:
		return fmt.Sprintf(" %d, %d bytes", e.Response.Status, len(e.Response.Body))
	case e.Kind == step.EventLoaded && e.Record == nil:
		return ", nothing"
	}
	return ""
}

// plainURL returns a URL without its query, which may hold a secret.
func plainURL(url string) string {
	url, _, _ = strings.Cut(url, "?")
	return url
}

// checks returns what is wrong with an action: a host refuses it, it shows a secret to a person,
// or it comes out of turn.
func (o *authHost) checks(a *step.Action) error {
	if err := auth.CheckAction(a, &o.manifest.Wants, o.server()); err != nil {
		return fmt.Errorf("a host refuses it: %w", err)
	}
	for _, text := range texts(a) {
		for _, secret := range o.secrets {
			if strings.Contains(text, secret) {
				return errors.New("a secret of the settings stands in what a person is shown")
			}
		}
	}
	switch a.Kind {
	case step.ActionListen:
		o.flow.listening = true
	case step.ActionOpenBrowser:
		if !o.flow.listening {
			return errors.New("expected listen before it")
		}
	case step.ActionCredentials:
		if c := a.Credentials; (c.Token == "") == (len(c.Headers) == 0) {
			return errors.New("expected either a token or headers")
		}
	}
	return nil
}

// texts returns the texts of an action that a person reads.
func texts(a *step.Action) []string {
	switch {
	case a.Fail != nil:
		return []string{a.Fail.Message, a.Fail.Hint, a.Fail.URL}
	case a.Show != nil:
		return []string{a.Show.URL, a.Show.Code, a.Show.Complete}
	case a.Prompt != nil:
		return []string{a.Prompt.Label, a.Prompt.Hint}
	case a.OpenBrowser != nil:
		return []string{a.OpenBrowser.URL}
	}
	return nil
}

// perform does what an action asks for, or says why it cannot.
func (o *authHost) perform(a *step.Action) *step.Event {
	if o.network == "unavailable" && a.Kind != step.ActionWait {
		return problem(step.ProblemUnavailable)
	}
	switch a.Kind {
	case step.ActionLoad:
		if value, ok := o.records[a.Load.Key]; ok {
			return &step.Event{Record: &step.Record{Value: value}}
		}
	case step.ActionStore:
		o.records[a.Store.Key] = a.Store.Value
	case step.ActionForget:
		delete(o.records, a.Forget.Key)
	case step.ActionHTTP:
		return o.exchange(a.HTTP)
	case step.ActionWait:
		o.now += a.Wait.Milliseconds
	case step.ActionRun:
		o.runs++
		run := *o.profile.Run
		run.Stdout = string(expand(run.Stdout, map[string]string{"count": strconv.Itoa(o.runs)}))
		return &step.Event{Run: &run}
	case step.ActionKey:
		return &step.Event{Key: &step.PublicKey{JWK: json.RawMessage(`{"kty":"EC","crv":"P-256"}`), Thumbprint: "kit"}}
	case step.ActionSign:
		return &step.Event{Signed: &step.Signed{JWT: "e30.e30.a2l0"}}
	case step.ActionListen:
		return &step.Event{Listening: &step.Listening{RedirectURI: "http://127.0.0.1:49152/callback"}}
	case step.ActionOpenBrowser, step.ActionPrompt:
		o.flow.asked++
		switch {
		case o.declines:
			return problem(step.ProblemCancelled)
		case a.Kind == step.ActionPrompt:
			return &step.Event{Input: &step.Input{Text: o.profile.Typed}}
		}
		return &step.Event{Redirect: &step.Redirect{Params: o.profile.Redirect}}
	}
	return &step.Event{}
}

func problem(code string) *step.Event {
	return &step.Event{Problem: &step.Problem{Code: code, Text: "the kit says so"}}
}

// exchange answers an HTTP request, as the network and the profile say.
func (o *authHost) exchange(r *step.HTTP) *step.Event {
	const html, asJSON = "text/html", "application/json"
	answer := func(status int, media, body string) *step.Event {
		return &step.Event{Response: &step.Response{Status: status, URL: r.URL, Headers: map[string]string{"content-type": media}, Body: body}}
	}
	switch o.network {
	case "down":
		return problem(step.ProblemNetwork)
	case "errors":
		return answer(503, html, "<p>later, perhaps")
	case "garbage":
		return answer(200, asJSON, nonsense[int(o.entropy)%len(nonsense)])
	case "large":
		return answer(200, asJSON, `{"note":"`+strings.Repeat("a", step.MaxResponse-100)+`"}`)
	}
	asked := []byte(r.Method + " " + r.URL + "\n" + r.Body)
	for i := range o.profile.Answers {
		a := &o.profile.Answers[i]
		m := a.to.FindSubmatchIndex(asked)
		if m == nil {
			continue
		}
		o.counts[a]++
		values := map[string]string{"count": strconv.Itoa(o.counts[a])}
		capture(values, a.to, asked, m)
		event := answer(cmp.Or(a.Status, 200), asJSON, string(expand(a.Body, values)))
		for name, value := range a.Headers {
			event.Response.Headers[strings.ToLower(name)] = value
		}
		return event
	}
	return answer(404, html, "<p>not found")
}

// nonsense are bodies that no client expects.
var nonsense = []string{"", "{", "null", "[1,2]", `{"access_token":7,"expires_in":"soon"}`, "\x00\xff\xfe", `"a text"`}
