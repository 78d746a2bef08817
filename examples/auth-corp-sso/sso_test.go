// Package sso_test drives the module of the folder as Wharf does: one call after
// the other, through Extism. That it is what its source gives is tested in
// host/pluginbuild.
package sso_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	extism "github.com/extism/go-sdk"

	"github.com/wharf-mcp/wharf/abi/step"
)

func TestModule(t *testing.T) { flows(t, load(t, read(t, "corp-sso.wasm"))) }

func TestDescribe(t *testing.T) {
	out, err := load(t, read(t, "corp-sso.wasm")).call(step.ExportDescribe, nil)
	if err != nil {
		t.Fatal(err)
	}
	var m step.Manifest
	if err := strict(out, &m); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if m.ABI != step.Version || m.Name != "corp-sso" || len(m.Settings) != 4 || !m.Settings[2].Secret {
		t.Errorf("%+v", m)
	}
}

// What is no call of the contract is an error, and no trap.
func TestForeignCalls(t *testing.T) {
	p := load(t, read(t, "corp-sso.wasm"))
	for _, in := range []string{
		"", "null", "{}", `{"event":{}}`, `{"event":{"kind":"start","now":1}}`, `{"event":{"kind":"start","now":-1,"start":{}}}`,
		`{"event":{"kind":"start","now":1,"start":{}}`, `{"event":{"kind":"start","now":1,"start":{}}}x`,
		strings.Repeat("[", 100), `{"a":"` + strings.Repeat("x", step.MaxCall),
	} {
		if out, err := p.call(step.ExportStep, []byte(in)); err == nil || !strings.Contains(err.Error(), "not of this contract") {
			t.Errorf("%.60q: %s, %v", in, out, err)
		}
	}
}

// FuzzBody is a sign-in that answers whatever it likes. What comes of it keeps
// the contract, and no token has what a header cannot.
func FuzzBody(f *testing.F) {
	for _, body := range bodies {
		f.Add(body)
	}
	p := load(f, read(f, "corp-sso.wasm"))
	asked := p.step(f, p.step(f, p.step(f, nil, initial()).State, none()).State, none())
	f.Fuzz(func(t *testing.T, body string) {
		body = strings.ToValidUTF8(body, "\uFFFD") // which the host sees to
		reply := p.step(t, asked.State, answer(200, body))
		last := reply.Actions[len(reply.Actions)-1]
		if last.Kind == step.ActionFail {
			return
		}
		var said struct {
			Token string `json:"access_token"`
		}
		var kept struct {
			Token   string `json:"token"`
			Expires int64  `json:"expires_at"`
		}
		if err := strict(last.Store.Value, &kept); err != nil || kept.Token == "" || strings.ContainsFunc(kept.Token, isOutside) || kept.Expires < 0 {
			t.Fatalf("%s: %v", last.Store.Value, err)
		}
		if json.Unmarshal([]byte(body), &said) == nil && said.Token != kept.Token && strings.Count(body, "oken\"") == 1 {
			t.Fatalf("%q, and not %q", kept.Token, said.Token)
		}
	})
}

func isOutside(r rune) bool { return r <= ' ' || r > '~' }

// FuzzCall is a host that has lost its mind.
func FuzzCall(f *testing.F) {
	p := load(f, read(f, "corp-sso.wasm"))
	started, err := json.Marshal(step.Call{Event: initial()})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(started)
	f.Add([]byte(`{"state":{"at":"http","start":{}},"event":{"kind":"http_response","now":1,"response":{"status":200,"body":"{\"access_token\":\"\ud83d\ude00\\ud83d\"}"}}}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		out, err := p.call(step.ExportStep, in)
		if err != nil {
			if !strings.Contains(err.Error(), "the call is") {
				t.Fatal(err)
			}
			return
		}
		var reply step.Reply
		if json.Valid(in) && strict(out, &reply) != nil {
			t.Fatalf("%s", out)
		}
	})
}

// plugin is the module, running.
type plugin struct{ *extism.Plugin }

func load(t testing.TB, module []byte) plugin {
	t.Helper()
	p, err := extism.NewPlugin(context.Background(),
		extism.Manifest{Wasm: []extism.Wasm{extism.WasmData{Data: module}}}, extism.PluginConfig{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close(context.Background()) })
	return plugin{p}
}

func (p plugin) call(export string, in []byte) ([]byte, error) {
	_, out, err := p.Call(export, in)
	return out, err
}

// step takes a step and holds the reply to what every reply is held to.
func (p plugin) step(t testing.TB, state json.RawMessage, e step.Event) (reply step.Reply) {
	t.Helper()
	e.Now, e.Entropy = now, make([]byte, 32)
	in, err := json.Marshal(step.Call{State: state, Event: e})
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.call(step.ExportStep, in)
	if err == nil {
		err = strict(out, &reply)
	}
	if err != nil || len(reply.Actions) == 0 {
		t.Fatalf("%v in %s", err, out)
	}
	for i, a := range reply.Actions {
		last := i == len(reply.Actions)-1
		ends := a.Kind == step.ActionDone || a.Kind == step.ActionFail
		if (step.Awaits(a.Kind) != "" || ends) != last {
			t.Fatalf("action %d: %s", i, out)
		}
	}
	return reply
}

func strict(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

func read(t testing.TB, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func same(t *testing.T, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		g, _ := json.Marshal(got)
		w, _ := json.Marshal(want)
		t.Errorf("\n got %s\nwant %s", g, w)
	}
}
