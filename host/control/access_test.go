package control

import (
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
