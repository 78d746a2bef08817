package plugintest

import (
	"cmp"
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
