package control

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/signin"
	"github.com/wharf-mcp/wharf/host/trust"
)

// What a server asks reaches the editor whose call it is, and the answer the server.
func TestServerAsks(t *testing.T) {
	s := newScene(t)
	one, two := s.ready(all), s.ready(all)
	two.call("status", `{}`) // it asked last
	for _, c := range []*client{one, two, one} {
		id := c.begin("tools/call", `{"server":"files","name":"ask","arguments":{"message":"who?"}}`)
		m := c.asked("elicit")
		c.wantHas(string(m.Params), `"server":"files"`, `"message":"who?"`, `"requestedSchema":{`, `"fields":["name"]`)
		c.reply(m, `{"action":"accept","content":{"name":"Ada"}}`)
		c.wantHas(string(c.answer(id).Result), `acceptmap[name:Ada]`)
	}
	id := one.begin("tools/call", `{"server":"files","name":"ask","arguments":{"message":"who?"}}`)
	one.reply(one.asked("elicit"), `{"action":"never heard of"}`)
	one.wantHas(string(one.answer(id).Result), `"cancel`)

	id = one.begin("tools/call", `{"server":"files","name":"sample"}`)
	m := one.asked("sample")
	one.wantHas(string(m.Params), `"request":{`, `"maxTokens":5`)
	one.reply(m, `{"role":"assistant","model":"x","content":{"type":"text","text":"hello"}}`)
	one.wantHas(string(one.answer(id).Result), `"hello"`)

	id = two.begin("tools/call", `{"server":"files","name":"roots"}`)
	two.reply(two.asked("roots"), `{"roots":[{"uri":"file:///work"}]}`)
	two.wantHas(string(two.answer(id).Result), `file:///work`)
	two.send(`{"jsonrpc":"2.0","method":"roots/changed"}`)
	two.call("status", `{}`)
}

// An editor that a server cannot ask is told what to say to be asked.
func TestWhoCouldBeAsked(t *testing.T) {
	s := newScene(t)
	for data, want := range map[string]string{
		`{"requiredCapabilities":{"elicitation":{}}}`:                                   `it goes to an editor with elicit in its capabilities`,
		`{"requiredCapabilities":{"x":{},"sampling":{},"elicitation":{},"roots":null}}`: `it goes to an editor with sample, elicit, roots in its capabilities`,
		`{"requiredCapabilities":{"x":{}}}`:                                             ``,
		`7`:                                                                             ``,
	} {
		fault := faultOf(t.Context(), s.host, &host.RPCError{Code: mcp.CodeMissingClientCapability, Message: "no", Data: json.RawMessage(data)})
		var got ErrorData
		if err := json.Unmarshal(fault.Data, &got); err != nil || got.Kind != KindServer || got.Hint != want {
			t.Errorf("%s: %s, %v; want %q", data, fault.Data, err, want)
		}
	}
}

// The order of the fields of a form is told, whatever the schema of a server is.
func TestFieldsOfAForm(t *testing.T) {
	for schema, want := range map[string]string{
		`{"properties":{"b":{"properties":{"x":{}}},"a":{},"c":7}}`: "b a c",
		`{"properties":{}}`:      "",
		`{"properties":null}`:    "",
		`{"properties":["b"]}`:   "",
		`["properties",{"b":1}]`: "",
		``:                       "",
	} {
		if got := fieldsOf(json.RawMessage(schema)); got == nil || strings.Join(got, " ") != want {
			t.Errorf("%s: got %q, want %q", schema, got, want)
		}
	}
}

// A server is told what the first editor can answer. Another editor that cannot declines at once, and so
// does one whose answer is no answer.
func TestEditorCannotAnswer(t *testing.T) {
	s := newScene(t)
	able, unable := s.ready(`{"elicit":true}`), s.ready(`{}`)
	unable.wantHas(unable.call("tools/call", `{"server":"files","name":"ask","arguments":{"message":"who?"}}`), `"declinemap[]`)
	unable.wantHas(unable.call("tools/call", `{"server":"files","name":"sample"}`), `error: `)
	id := able.begin("tools/call", `{"server":"files","name":"ask","arguments":{"message":"who?"}}`)
	able.reply(able.asked("elicit"), `[7]`)
	able.wantHas(string(able.answer(id).Result), `"cancelmap[]`)
	if len(able.early) > 0 {
		t.Errorf("asked for another's call: %v", able.early)
	}
}

// A server that is restarted is told what the editors that are there then can answer.
func TestRestartForOtherEditors(t *testing.T) {
	s := newScene(t)
	first, able := s.ready(`{}`), s.ready(`{"elicit":true}`)
	const ask = `{"server":"files","name":"ask","arguments":{"message":"who?"}}`
	able.wantHas(able.call("tools/call", ask), `error: `)
	first.stream.Close()
	<-first.ended
	able.call("servers/restart", `{"server":"files"}`)
	id := able.begin("tools/call", ask)
	able.reply(able.asked("elicit"), `{"action":"accept","content":{"name":"ann"}}`)
	able.wantHas(string(able.answer(id).Result), `accept`)
}

// An editor that never answers is told that the answer is not wanted any more, and the call goes on.
func TestEditorNeverAnswers(t *testing.T) {
	s := newScene(t, func(c *Control, _ *host.Config) { c.patience = time.Millisecond })
	c := s.ready(all)
	id := c.begin("tools/call", `{"server":"files","name":"ask","arguments":{"message":"who?"}}`)
	m := c.asked("elicit")
	c.wantHas(string(c.asked("$/cancelRequest").Params), `"id":`+string(m.ID), `did not answer in time`)
	c.wantHas(string(c.answer(id).Result), `"cancelmap[]`)
	c.reply(m, `{"action":"accept"}`) // too late
	c.wantHas(c.call("status", `{}`), `"asked":1,"unanswered":1`)
}

// An editor that dies inside a form ends the question, and its calls; another one is served.
func TestEditorDiesInsideAForm(t *testing.T) {
	s := newScene(t)
	c := s.ready(all)
	c.begin("tools/call", `{"server":"files","name":"ask","arguments":{"message":"who?"}}`)
	c.asked("elicit")
	c.stream.Close()
	<-c.ended
	other := s.ready(all)
	other.wantHas(other.call("status", `{}`), `"editors":1`)
	other.wantHas(other.call("tools/call", `{"server":"files","name":"echo","arguments":{"message":"on"}}`), `"on"`)
}

// Requests to an editor that wait have a bound.
func TestQuestionsAreBounded(t *testing.T) {
	s := newScene(t)
	c := s.ready(all)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, maxAsked)
	for range maxAsked {
		go func() {
			_, err := s.control.roots(ctx, "files")
			ended <- err
		}()
		c.asked("roots")
	}
	if _, err := s.control.roots(ctx, "files"); !errors.Is(err, errBusy) {
		t.Error(err)
	}
	cancel()
	for range maxAsked {
		<-ended
	}
}

// What the host asks a person reaches the editor that asked last of those that can answer.
func TestHostAsks(t *testing.T) {
	s := newScene(t)
	c, other := s.ready(all), s.ready(all)
	c.call("status", `{}`)
	s.ready(`{}`).call("status", `{}`)
	ctx := t.Context()
	h := s.config
	asks := func(method, answer string, params []string, f func() error) error {
		t.Helper()
		done := make(chan error, 1)
		go func() { done <- f() }()
		m := c.asked(method)
		c.wantHas(string(m.Params), params...)
		c.reply(m, answer)
		return <-done
	}
	for answer, want := range map[string]trust.Decision{
		`{"decision":"once"}`: trust.JustOnce, `{"decision":"always"}`: trust.Always, `{"decision":"never"}`: trust.Never,
		`{"decision":"not-now"}`: trust.NotNow, `{"decision":"yes"}`: trust.NotNow, `{}`: trust.NotNow,
	} {
		var got trust.Decision
		err := asks("approve", answer, []string{`"server":"files"`, `"changed":true`, `"hash":"h"`, `"lines":["`}, func() (err error) {
			got, err = h.Approve(ctx, trust.Approval{Entry: trust.Entry{Server: "files", Project: "/p"}, State: trust.Changed, Hash: "stored", Pin: "h"})
			return err
		})
		if err != nil || got != want {
			t.Errorf("%s: %v, %v", answer, got, err)
		}
	}
	var pasted string
	page := signin.Page{Server: "files", URL: "https://as.example/x", Paste: func(address string) error { pasted = address; return nil }}
	open := func() error { return h.Person.OpenURL(ctx, page) }
	if err := asks("openUrl", `{"action":"accept","address":"http://localhost/cb"}`, []string{`"signIn":true`, page.URL}, open); err != nil || pasted != "http://localhost/cb" {
		t.Errorf("%v, %q", err, pasted)
	}
	if err := asks("openUrl", `{"action":"cancel"}`, nil, open); !errors.Is(err, signin.ErrDeclined) {
		t.Error(err)
	}
	var text string
	ask := func() (err error) {
		text, err = h.Person.Ask(ctx, signin.Question{Server: "files", Label: "token", Secret: true})
		return err
	}
	if err := asks("prompt", `{"action":"accept","text":"s3"}`, []string{`"label":"token"`, `"secret":true`}, ask); err != nil || text != "s3" {
		t.Errorf("%v, %q", err, text)
	}
	input := func() (err error) {
		text, err = h.Input(ctx, "files", config.Input{ID: "db", Options: []string{"a", "b"}, Default: "b"})
		return err
	}
	if err := asks("prompt", `{"action":"accept"}`, []string{`"options":["a","b"]`}, input); err != nil || text != "b" {
		t.Errorf("%v, %q", err, text)
	}
	if err := asks("prompt", `{"action":"accept","text":"c"}`, nil, input); err == nil {
		t.Error("took an answer that was not there to choose")
	}
	other.call("status", `{}`) // it is the one now that asked last
	c = other
	if err := asks("prompt", `{"action":"accept","text":"a"}`, nil, input); err != nil || text != "a" {
		t.Errorf("%v, %q", err, text)
	}
	shown, hide := context.WithCancel(ctx)
	h.Person.ShowCode(shown, signin.Code{Server: "files", URL: "https://as.example", Code: "AB-CD"})
	c.wantHas(string(c.asked("showCode").Params), `"code":"AB-CD"`)
	hide()
	c.asked("$/cancelRequest")
}

// Where no editor can answer, what was set before is asked; a code is told as a warning.
func TestNoEditorCanAnswer(t *testing.T) {
	c := New(Config{})
	defer c.Close()
	var asked []string
	h := host.Config{
		Approve: func(context.Context, trust.Approval) (trust.Decision, error) {
			asked = append(asked, "approve")
			return trust.Always, nil
		},
		Person: &signin.Person{OpenURL: func(context.Context, signin.Page) error { asked = append(asked, "page"); return nil }},
		Event:  func(host.Event) { asked = append(asked, "event") },
	}
	c.Install(&h)
	ctx := t.Context()
	if d, err := h.Approve(ctx, trust.Approval{}); d != trust.Always || err != nil {
		t.Error(d, err)
	}
	if err := h.Person.OpenURL(ctx, signin.Page{}); err != nil {
		t.Error(err)
	}
	h.Event(host.Event{Warning: "careful"})
	if _, err := h.Person.Ask(ctx, signin.Question{}); !errors.Is(err, errNoEditor) {
		t.Error(err)
	}
	if _, err := h.Input(ctx, "x", config.Input{}); !errors.Is(err, errNoEditor) {
		t.Error(err)
	}
	h.Person.ShowCode(ctx, signin.Code{Server: "x", Code: "AB-CD"})
	if got := strings.Join(asked, " "); got != "approve page event" {
		t.Error(got)
	}
	if text, _, err := c.events.next(ctx, 1); err != nil || !strings.Contains(string(text), "AB-CD") {
		t.Error(string(text), err)
	}
}

// Where it is not certain whose call a server asks for, no editor is asked, and all hear why.
func TestUncertainQuestion(t *testing.T) {
	s := newScene(t)
	one, two := s.ready(all), s.ready(all)
	two.call("events/since", `{}`)
	first := one.begin("tools/call", `{"server":"files","name":"ask","arguments":{"message":"who?"}}`)
	question := one.asked("elicit")
	second := two.begin("tools/call", `{"server":"files","name":"ask","arguments":{"message":"who?"}}`)
	two.wantHas(string(two.answer(second).Result), `declinemap[]`)
	two.wantHas(two.event(Warning, `"server":"files"`).Text, "(elicit)", "several editors")
	one.reply(question, `{"action":"accept","content":{"name":"Ada"}}`)
	one.wantHas(string(one.answer(first).Result), `acceptmap[name:Ada]`)
}
