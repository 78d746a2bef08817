package control

import (
	"context"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/policy"
)

// The rules hold for editors too, through each method that reaches a server.
func TestAccessOfAnEditor(t *testing.T) {
	rules, err := policy.New([]policy.Table{
		{Name: "editors", Match: []string{"control"}, Deny: []string{"files/echo", "prompt:files/*"}},
		{Name: "test", Match: []string{"client:test"}, Deny: []string{"resource:files/test:///note"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := newScene(t, func(_ *Control, c *host.Config) { c.Deciders = []policy.Decider{rules} })
	e := s.ready(`{}`)
	if got := e.call("tools/list", `{"server":"files"}`); strings.Contains(got, `"echo"`) || !strings.Contains(got, `"name"`) {
		t.Errorf("tools: %s", got)
	}
	for method, params := range map[string]string{
		"tools/call":          `{"server":"files","name":"echo"}`,
		"tasks/start":         `{"server":"files","name":"echo"}`,
		"prompts/get":         `{"server":"files","name":"greet"}`,
		"complete":            `{"server":"files","ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"who","value":"A"}}`,
		"resources/read":      `{"server":"files","uri":"test:///note"}`,
		"resources/subscribe": `{"server":"files","uri":"test:///note"}`,
		"request":             `{"server":"files","method":"tools/call","params":{"name":"echo","Name":"count"}}`,
	} {
		if got := e.answer(e.begin(method, params)); got.Error == nil || got.Error.Data.Kind != KindDenied {
			t.Errorf("%s: %+v", method, got)
		}
	}
}

// asks is a decider that wants a person to be asked about each call.
type asks struct{}

func (asks) Scope(*policy.Caller, string) policy.Scope { return policy.Some }

func (asks) Decide(context.Context, *policy.Call) policy.Decision {
	return policy.Decision{Ask: true, Rule: "policy.costs", Reason: "it costs money"}
}

// A decider that wants a person to be asked has the editor asked whose call it is. One that shows no forms is
// refused.
func TestDeciderAsksTheEditor(t *testing.T) {
	s := newScene(t, func(_ *Control, c *host.Config) { c.Deciders = []policy.Decider{asks{}} })
	able, unable := s.ready(`{"elicit":true}`), s.ready(`{}`)
	for action, want := range map[string]string{"accept": "hi", "decline": "said no", "never heard of": "said no"} {
		id := able.begin("tools/call", `{"server":"files","name":"echo","arguments":{"message":"hi"}}`)
		m := able.asked("elicit")
		able.wantHas(string(m.Params), `"server":"files"`, `files/echo`, `it costs money`, `"fields":[]`)
		able.reply(m, `{"action":"`+action+`"}`)
		answer := able.answer(id)
		got := string(answer.Result)
		if answer.Error != nil {
			got = answer.Error.Message
		}
		able.wantHas(got, want)
	}
	got := unable.answer(unable.begin("tools/call", `{"server":"files","name":"echo","arguments":{"message":"hi"}}`))
	if got.Error == nil || got.Error.Data.Kind != KindDenied || !strings.Contains(got.Error.Message, "no editor is there") {
		t.Errorf("%+v", got)
	}
}
