package plugintest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/internal/auth"
)

// checks holds an action against what a host refuses, and against what a person may read.
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

// texts are those of an action that a person reads.
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
		return o.command()
	case step.ActionKey:
		return &step.Event{Key: &step.PublicKey{JWK: json.RawMessage(`{"kty":"EC","crv":"P-256"}`), Thumbprint: "kit"}}
	case step.ActionSign:
		return &step.Event{Signed: &step.Signed{JWT: "e30.e30.a2l0"}}
	case step.ActionListen:
		return &step.Event{Listening: &step.Listening{RedirectURI: "http://127.0.0.1:49152/callback"}}
	case step.ActionOpenBrowser, step.ActionPrompt:
		return o.person(a)
	}
	return &step.Event{}
}

func problem(code string) *step.Event {
	return &step.Event{Problem: &step.Problem{Code: code, Text: "the kit says so"}}
}

// person does what the profile says a person does, or declines.
func (o *authHost) person(a *step.Action) *step.Event {
	o.flow.asked++
	switch {
	case o.declines:
		return problem(step.ProblemCancelled)
	case a.Kind == step.ActionPrompt:
		return &step.Event{Input: &step.Input{Text: o.profile.Typed}}
	}
	return &step.Event{Redirect: &step.Redirect{Params: o.profile.Redirect}}
}

// command runs the command of the server entry.
func (o *authHost) command() *step.Event {
	o.runs++
	run := *o.profile.Run
	run.Stdout = string(expand(run.Stdout, map[string]string{"count": strconv.Itoa(o.runs)}))
	return &step.Event{Run: &run}
}

// exchange answers an HTTP request, as the network and the profile say.
func (o *authHost) exchange(r *step.HTTP) *step.Event {
	answer := &step.Response{Status: 404, URL: r.URL, Headers: map[string]string{"content-type": "text/html"}, Body: "<p>not found"}
	switch o.network {
	case "down":
		return problem(step.ProblemNetwork)
	case "errors":
		answer.Status, answer.Body = 503, "<p>later, perhaps"
	case "garbage":
		answer.Status, answer.Headers, answer.Body = 200, map[string]string{"content-type": "application/json"}, nonsense[int(o.entropy)%len(nonsense)]
	case "large":
		answer.Status, answer.Headers = 200, map[string]string{"content-type": "application/json"}
		answer.Body = `{"note":"` + strings.Repeat("a", step.MaxResponse-100) + `"}`
	default:
		o.answer(r, answer)
	}
	return &step.Event{Response: answer}
}

// nonsense are bodies that no client expects.
var nonsense = []string{"", "{", "null", "[1,2]", `{"access_token":7,"expires_in":"soon"}`, "\x00\xff\xfe", `"a text"`}

// answer lets the profile answer, if it has an answer.
func (o *authHost) answer(r *step.HTTP, answer *step.Response) {
	for i := range o.profile.Answers {
		a := &o.profile.Answers[i]
		asked := []byte(r.Method + " " + r.URL + "\n" + r.Body)
		m := a.to.FindSubmatchIndex(asked)
		if m == nil {
			continue
		}
		o.counts[a]++
		vars := map[string]string{"count": strconv.Itoa(o.counts[a])}
		capture(vars, a.to, asked, m)
		answer.Headers = map[string]string{"content-type": "application/json"}
		for name, value := range a.Headers {
			answer.Headers[strings.ToLower(name)] = value
		}
		if answer.Status = a.Status; answer.Status == 0 {
			answer.Status = 200
		}
		answer.Body = string(expand(a.Body, vars))
		return
	}
}
