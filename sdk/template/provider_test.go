package template_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	extism "github.com/extism/go-sdk"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/plugintest"
	"github.com/wharf-mcp/wharf/sdk/template"
)

// The providers of all languages are the same one: what they answer is compared as
// JSON. The one in Go has these flows in its own test.
func TestProviders(t *testing.T) {
	if testing.Short() {
		t.Skip("builds plugins, which takes a while")
	}
	for _, lang := range []string{template.C, template.Rust, template.AssemblyScript} {
		t.Run(lang, func(t *testing.T) {
			file := build(t, template.Plugin{Name: "carrier-pigeon", Kind: template.Auth, Lang: lang})
			plugintest.Test(t, file)
			p := load(t, file)
			describes(t, p)
			for _, f := range flows {
				t.Run(f.name, func(t *testing.T) { f.play(t, p) })
			}
			refuses(t, p)
		})
	}
}

// flow is a start, what comes of what it awaits, and the actions.
type flow struct {
	name    string
	start   step.Start
	answers []step.Event
	actions []string // of each step
}

const (
	load1   = `[{"kind":"load","load":{"key":{"name":"key","resource":"https://loft.example/mcp"}}}]`
	prompt1 = `[{"kind":"prompt","prompt":{"label":"API key of \"loft\"\té","secret":true}}]`
	lock1   = `[{"kind":"load","load":{"key":{"name":"key","resource":"https://loft.example/mcp"},"lock":true}}]`
	forget1 = `[{"kind":"forget","forget":{"key":{"name":"key","resource":"https://loft.example/mcp"}}}]`
	done1   = `[{"kind":"done"}]`
)

func gives(header, key string) string {
	return `{"kind":"credentials","credentials":{"headers":{"` + header + `":"` + key + `"}}}`
}

func storesAndGives(header, key string) string {
	return "[" + gives(header, key) + `,{"kind":"store","store":{"key":{"name":"key","resource":"https://loft.example/mcp"},"value":"` + key + `"}}]`
}

func fails(class, message string) string {
	return `[{"kind":"fail","fail":{"class":"` + class + `","message":"` + message + `\"loft\"\té"}}]`
}

// hands is what a stream gets.
func hands(key, then string) string {
	return `[{"kind":"material","material":{"blob":"` + base64.StdEncoding.EncodeToString([]byte(key)) + `"}},` + then + `]`
}

// to is a start for a server without a url.
func to(reason string, server step.Server) step.Start {
	server.Name = "\"loft\"\té"
	return step.Start{Reason: reason, Interactive: true, Settings: json.RawMessage(`{}`), Server: server}
}

// of is what reads, writes or forgets the key of a server without a url.
func of(kind, members string) string {
	return `{"kind":"` + kind + `","` + kind + `":{"key":{"name":"key","client":"\"loft\"\té"}` + members + `}}`
}

// at is a start for one reason, with settings as JSON.
func at(reason, settings string) step.Start {
	return step.Start{
		Reason: reason, Interactive: true, Settings: json.RawMessage(settings),
		Server: step.Server{Name: "\"loft\"\té", URL: "https://loft.example/mcp", Resource: "https://loft.example/mcp"},
	}
}

func alone(s step.Start) step.Start { s.Interactive = false; return s }

func loaded(value string) step.Event {
	if value == "" {
		return step.Event{Kind: step.EventLoaded}
	}
	return step.Event{Kind: step.EventLoaded, Record: &step.Record{Value: json.RawMessage(value)}}
}

func typed(text string) step.Event {
	return step.Event{Kind: step.EventInput, Input: &step.Input{Text: text}}
}

func problem(kind, code string) step.Event {
	return step.Event{Kind: kind, Problem: &step.Problem{Code: code, Text: "no"}}
}

// long is as much as a record holds.
var long = strings.Repeat("k", step.MaxRecord-2)

var flows = []flow{
	{"nothing saved", at(step.ReasonInitial, `{}`), []step.Event{loaded("")}, []string{load1, done1}},
	{"saved", at(step.ReasonInitial, `{}`), []step.Event{loaded(`"k1<\\&"`)}, []string{load1, "[" + gives("X-Api-Key", `k1<\\&`) + `,{"kind":"done"}]`}},
	{"a long one", at(step.ReasonInitial, `{}`), []step.Event{loaded(`"` + long + `"`)}, []string{load1, "[" + gives("X-Api-Key", long) + `,{"kind":"done"}]`}},
	{"no vault", at(step.ReasonExpired, `{}`), []step.Event{problem(step.EventLoaded, step.ProblemUnavailable)}, []string{load1, done1}},
	{"refused", at(step.ReasonChallenged, `{"header":"X-Loft"}`), []step.Event{typed(`a"b`), {Kind: step.EventStored}},
		[]string{prompt1, storesAndGives("X-Loft", `a\"b`), done1}},
	{"login", at(step.ReasonLogin, `{}`), []step.Event{typed("k3"), problem(step.EventStored, step.ProblemUnavailable)},
		[]string{prompt1, storesAndGives("X-Api-Key", "k3"), done1}},
	{"the person says no", at(step.ReasonLogin, `{}`), []step.Event{problem(step.EventInput, step.ProblemCancelled)},
		[]string{prompt1, fails("login", "no API key was given for ")}},
	{"a line and its end", at(step.ReasonLogin, `{}`), []step.Event{typed("k\n\u007f")},
		[]string{prompt1, fails("config", "the key holds what cannot stand in a header, that of ")}},
	{"two words", at(step.ReasonLogin, `{}`), []step.Event{typed("k 3")},
		[]string{prompt1, fails("config", "the key holds what cannot stand in a header, that of ")}},
	{"an accent", at(step.ReasonLogin, `{}`), []step.Event{typed("clé")},
		[]string{prompt1, fails("config", "the key holds what cannot stand in a header, that of ")}},
	{"no person", alone(at(step.ReasonChallenged, `{}`)), nil, []string{fails("login", "an API key is wanted by the server ")}},
	{"logout", at(step.ReasonLogout, `{"key":"k"}`), []step.Event{loaded(`"k1"`), {Kind: step.EventStored}}, []string{lock1, forget1, done1}},
	{"logout of nothing", at(step.ReasonLogout, `{}`), []step.Event{loaded(""), {Kind: step.EventStored}}, []string{lock1, forget1, done1}},
	{"logout of what cannot be read", at(step.ReasonLogout, `{}`), []step.Event{problem(step.EventLoaded, step.ProblemUnavailable), {Kind: step.EventStored}},
		[]string{lock1, forget1, done1}},
	{"logout without a vault", at(step.ReasonLogout, `{}`), []step.Event{loaded(`"k1"`), problem(step.EventStored, step.ProblemUnavailable)},
		[]string{lock1, forget1, fails("config", "the vault did not forget the key of ")}},
	{"a stream without a sign-in", to(step.ReasonInitial, step.Server{Blob: true}), []step.Event{loaded("")}, []string{"[" + of("load", "") + "]", done1}},
	{"a stream", to(step.ReasonInitial, step.Server{Blob: true}), []step.Event{loaded(`"key"`)}, []string{"[" + of("load", "") + "]", hands("key", `{"kind":"done"}`)}},
	{"a stream, and a long key", to(step.ReasonExpired, step.Server{Blob: true}), []step.Event{loaded(`"` + long + `"`)},
		[]string{"[" + of("load", "") + "]", hands(long, `{"kind":"done"}`)}},
	{"login to a stream", to(step.ReasonLogin, step.Server{Blob: true}), []step.Event{typed("clé!"), {Kind: step.EventStored}},
		[]string{prompt1, hands("clé!", of("store", `,"value":"clé!"`)), done1}},
	{"logout of a stream", to(step.ReasonLogout, step.Server{Blob: true}), []step.Event{loaded(`"k1"`), {Kind: step.EventStored}},
		[]string{"[" + of("load", `,"lock":true`) + "]", "[" + of("forget", "") + "]", done1}},
	{"a process", to(step.ReasonInitial, step.Server{Variables: []string{"KEY"}}), []step.Event{loaded(`"k1"`)},
		[]string{"[" + of("load", "") + "]", fails("config", "this provider fills no variables: leave them out of the auth of ")}},
	{"configured", at(step.ReasonLogin, `{"key":"k2","header":""}`), nil, []string{"[" + gives("X-Api-Key", "k2") + `,{"kind":"done"}]`}},
	{"configured and refused", at(step.ReasonChallenged, `{"key":"k2"}`), nil, []string{fails("config", "the key that is configured is not taken by ")}},
	{"more rights", at(step.ReasonUpscope, `{}`), nil, []string{fails("config", "more than the key allows was asked of ")}},
	{"another version", at(step.ReasonInitial, `{}`), []step.Event{{Kind: "wings"}},
		[]string{load1, fails("config", "this provider is built for another version of Wharf than the one that signs in to ")}},
}

func (f flow) play(t *testing.T, p plugin) {
	var state json.RawMessage
	for i, e := range append([]step.Event{{Kind: step.EventStart, Start: &f.start}}, f.answers...) {
		e.Now, e.Entropy = 1, make([]byte, 32)
		in, err := json.Marshal(step.Call{State: state, Event: e})
		if err != nil {
			t.Fatal(err)
		}
		var reply step.Reply
		if out, err := p.call(step.ExportStep, in); err != nil {
			t.Fatal(err)
		} else if err := strict(out, &reply); err != nil {
			t.Fatalf("%v in %s", err, out)
		}
		same(t, reply.Actions, f.actions[i])
		state = reply.State
	}
}

// same compares actions with what they shall be, whatever the order of members.
func same(t *testing.T, got []step.Action, want string) {
	t.Helper()
	var wanted []step.Action
	if err := strict([]byte(want), &wanted); err != nil {
		t.Fatalf("%v in %s", err, want)
	}
	if !reflect.DeepEqual(got, wanted) {
		g, _ := json.Marshal(got)
		t.Errorf("\n got %s\nwant %s", g, want)
	}
}

func describes(t *testing.T, p plugin) {
	out, err := p.call(step.ExportDescribe, nil)
	if err != nil {
		t.Fatal(err)
	}
	var m step.Manifest
	if err := strict(out, &m); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if m.ABI != step.Version || m.Name != "carrier-pigeon" || len(m.Settings) != 2 || !m.Settings[0].Secret || !m.Wants.Prompt || !m.Wants.Material {
		t.Errorf("%+v", m)
	}
}

// refuses sees to it that what is no call of the contract is an error, and no trap:
// afterwards the provider answers as before.
func refuses(t *testing.T, p plugin) {
	for _, in := range []string{
		"", "null", "{}", `{"event":{}}`, `{"event":{"kind":"start","start":{}}`, `{"event":{"kind":"start","start":{}}}x`,
		strings.Repeat("[", 1000), strings.Repeat(`{"event":`, 1000), `{"event"}`, `{"event":{"kind":"\ud800","x":"\u00"}}`, `{"a":"` + strings.Repeat("x", 1<<19),
	} {
		if out, err := p.call(step.ExportStep, []byte(in)); err == nil || !strings.Contains(err.Error(), "not of this contract") {
			t.Errorf("%.40q: %s, %v", in, out, err)
		}
	}
	flows[0].play(t, p)
}

// plugin is the module, running.
type plugin struct{ *extism.Plugin }

func load(t *testing.T, file string) plugin {
	t.Helper()
	module, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	manifest := extism.Manifest{Wasm: []extism.Wasm{extism.WasmData{Data: module}}}
	p, err := extism.NewPlugin(context.Background(), manifest, extism.PluginConfig{EnableWasi: true}, nil) // as Wharf does: it calls _initialize
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

func strict(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	return d.Decode(v)
}
