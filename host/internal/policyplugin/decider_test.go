package policyplugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wharf-mcp/wharf/abi/verdict"
	"github.com/wharf-mcp/wharf/host/internal/extism/speaker"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/policy"
	"github.com/wharf-mcp/wharf/internal/testenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const manifest = `{"abi":"wharf-policy-0","name":"kit","version":"1"}`

// says returns a policy that says the same with each call.
func says(reply string) []byte { return speaks(speaker.Module{Reply: reply}) }

func speaks(m speaker.Module) []byte {
	m.Describe, m.Call, m.Exit = verdict.ExportDescribe, verdict.ExportDecide, -1
	if m.Manifest == "" {
		m.Manifest = manifest
	}
	return m.Binary()
}

// paths is the policy of examples/policy-paths-c.
func paths(t testing.TB) []byte {
	t.Helper()
	b, err := os.ReadFile("../../../examples/policy-paths-c/paths.wasm")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// engine returns an engine whose decisions have so much fuel; 0 is the usual.
func engine(t testing.TB, fuel int64) *Engine {
	t.Helper()
	e, err := NewEngine(EngineConfig{CacheDir: testenv.CodeDir(), Fuel: fuel})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// brief is fuel for what a test lets policies do, so that those that loop end soon.
const brief = 50_000_000

// decider returns a decider of a module.
func decider(t testing.TB, fuel int64, binary []byte, c Config) *Decider {
	t.Helper()
	p, err := engine(t, fuel).Load(t.Context(), "kit", binary)
	if err != nil {
		t.Fatal(err)
	}
	c.Name, c.Plugin, c.Place, c.Load = "careful", "kit", "w.toml:3", func(context.Context) (*Plugin, error) { return p, nil }
	d, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// within are the settings of paths.
var within = Config{Arguments: true, Settings: map[string]any{"folder": "/srv/notes/"}}

var agent = &policy.Caller{Kind: policy.Gateway, Name: "agent"}

func reads(path string) *policy.Call {
	text, _ := json.Marshal(map[string]any{"name": "read", "arguments": map[string]any{"path": path}})
	return &policy.Call{Caller: agent, Server: "files", Method: "tools/call", Target: policy.Tool, Name: "read", Arguments: text}
}

// A policy decides by what it is shown, and sees no arguments that its table does not grant.
func TestDecide(t *testing.T) {
	d := decider(t, 0, paths(t), within)
	for arguments, want := range map[string]string{
		`{"path":"/srv/notes/a.md"}`:                     "",
		`{"path":"/srv/notes"}`:                          "",
		`{"path":"/srv/notes/../x"}`:                     "not a whole path within /srv/notes",
		`{"path":"/srv/notesx"}`:                         "not a whole path",
		`{"path":"a.md"}`:                                "not a whole path",
		`{"p\u0061th":"\/etc\/passwd"}`:                  "/etc/passwd",
		`{"path":["/srv/notes/a",{"x":"/etc"}]}`:         "/etc",
		`{"to":"/etc"}`:                                  "/etc",
		`{"text":"a.md","n":1,"t":true,"o":{},"l":[]}`:   "",
		`{"path":"/srv/notes/a","path":"/etc"}`:          "twice",
		`{"path":"/srv/notes/a","PATH":"/etc"}`:          "twice",
		`{"path":"/srv/notes/a","o":{"\u212a":1,"k":2}}`: "twice",
		`[1]`: "no object",
		`{"path":"` + strings.Repeat("x", verdict.MaxCall) + `"}`: "a policy is shown",
		`null`:                             "",
		`{},"arguments":{"path":"/etc"}`:   "twice", // a server may take the last or the first, and one that ignores case any
		`{},"Arguments":{"path":"/etc"}`:   "twice",
		`{},"argument\u017f":{"p":"/etc"}`: "twice",
	} {
		c := reads("")
		c.Arguments = json.RawMessage(`{"name":"read","arguments":` + arguments + `}`)
		got := d.Decide(t.Context(), c)
		if got.Allow != (want == "") || !strings.Contains(got.Reason, want) || got.Rule != "policy.careful (w.toml:3)" {
			t.Errorf("%.80s: %+v, want %q", arguments, got, want)
		}
	}
	for _, tt := range []struct {
		target policy.Target
		name   string
		allow  bool
	}{
		{policy.Resource, "file:///srv/notes/a", true}, {policy.Resource, "file:///srv/notes/%2e%2e/b", false}, {policy.Resource, "file:///etc", false},
		{policy.Resource, "file:x", false}, {policy.Resource, "notes://1", true}, {policy.Other, "x/y", false},
	} {
		c := &policy.Call{Caller: agent, Server: "files", Method: "m", Target: tt.target, Name: tt.name}
		if got := d.Decide(t.Context(), c); got.Allow != tt.allow {
			t.Errorf("%s: %+v", tt.name, got)
		}
	}
	c := reads("")
	if c.Arguments = json.RawMessage(`{"name":"read","ARGUMENTS":{"path":"/etc"}}`); d.Decide(t.Context(), c).Allow {
		t.Error("arguments of another spelling are not seen")
	}
	for ref, target := range map[string]policy.Target{`{"type":"ref/prompt","name":"p"}`: policy.Prompt, `{"type":"ref/resource","uri":"notes://{path}"}`: policy.Resource} {
		c := &policy.Call{Caller: agent, Server: "files", Method: mcp.MethodComplete, Target: target, Name: "notes://{path}"}
		for value, allow := range map[string]bool{"/etc/pass": false, "etc": false, "/srv/notes/a": true} {
			c.Arguments = json.RawMessage(`{"ref":` + ref + `,"argument":{"name":"path","value":"` + value + `"}}`)
			if got := d.Decide(t.Context(), c); got.Allow != allow {
				t.Errorf("a completion of %s: %+v", c.Arguments, got)
			}
		}
	}
	c.Arguments = json.RawMessage(`{"name":"read","arguments":{ "a<\u0026>":"\u003c\/\u00e9\u2028" }}`)
	if shown, _, err := d.show(t.Context(), c); err != nil {
		t.Error(err)
	} else if text, err := Encode(shown); err != nil || !strings.Contains(string(text), "\"arguments\":{\"a<&>\":\"</é\u2028\"}") {
		t.Errorf("it is shown %s, %v", text, err)
	}
	blind := decider(t, 0, says(`{"id":1,"verdict":"allow"}`), Config{})
	shown, _, err := blind.show(t.Context(), reads("/secret"))
	if err != nil || shown.Arguments != nil {
		t.Errorf("without a grant it is shown %s, %v", shown.Arguments, err)
	}
}

// A table is for some servers, and has to fit its plugin.
func TestTables(t *testing.T) {
	d := decider(t, 0, paths(t), Config{Arguments: true, Settings: within.Settings, Servers: []string{"db-*"}})
	if d.Scope(agent, "files") != policy.Everything || d.Scope(agent, "db-1") != policy.Some {
		t.Error("the scopes are wrong")
	}
	if got := d.Decide(t.Context(), reads("/etc")); !got.Allow {
		t.Errorf("a server of another table: %+v", got)
	}
	for want, c := range map[string]Config{
		"arguments = true is missing":           {Settings: within.Settings},
		"settings.folder is missing":            {Arguments: true},
		"settings.floder: there is no such key": {Arguments: true, Settings: map[string]any{"floder": "/"}},
		"settings.names: expected a list":       {Arguments: true, Settings: map[string]any{"folder": "/", "names": "x"}},
	} {
		got := decider(t, 0, paths(t), c).Decide(t.Context(), reads("/etc"))
		if got.Allow || !strings.Contains(got.Reason, want) || !strings.Contains(got.Hint, "correct [policy.careful]") {
			t.Errorf("%+v, want %q", got, want)
		}
	}
}

// Whatever goes wrong with a policy denies the call, and the decision names the plugin.
func TestHostilePolicies(t *testing.T) {
	loop := func(code ...byte) speaker.Module {
		return speaker.Module{Raw: append(append([]byte{0x03, 0x40}, code...), 0x0c, 0, 0x0b, 0x41, 0, 0x0b)}
	}
	long := strings.Repeat("x", 1<<20)
	for name, tt := range map[string]struct {
		module speaker.Module
		want   string
	}{
		"trap":           {speaker.Module{Raw: []byte{0x00, 0x0b}}, "gave up"},
		"endless loop":   {loop(), "budget"},
		"memory bomb":    {loop(0x41, 1, 0x40, 0, 0x1a), "budget"},
		"recursion":      {speaker.Module{Raw: []byte{0x10, speaker.Speak + 2, 0x0b}}, "budget"},
		"nothing":        {speaker.Module{Raw: []byte{0x41, 0, 0x0b}}, "not of the contract"},
		"an error":       {speaker.Module{Raw: []byte{0x41, 1, 0x0b}}, "returned 1"},
		"garbage":        {speaker.Module{Reply: "\x00\xff{"}, "not of the contract"},
		"another member": {speaker.Module{Reply: `{"id":1,"verdict":"allow","grant":"all"}`}, "not of the contract"},
		"two verdicts":   {speaker.Module{Reply: `{"id":1,"verdict":"deny"}{"id":1,"verdict":"allow"}`}, "something behind it"},
		"no verdict":     {speaker.Module{Reply: `{"id":1,"verdict":"ALLOW"}`}, `said "ALLOW"`},
		"another call":   {speaker.Module{Reply: `{"id":7,"verdict":"allow"}`}, "decided on the call 7, and was asked about 1"},
		"no id":          {speaker.Module{Reply: `{"verdict":"allow"}`}, "decided on the call 0"},
		"1 MB":           {speaker.Module{Reply: `{"id":1,"verdict":"allow","reason":"` + long + `"}`}, "there may be 65536"},
		"many parts":     {speaker.Module{Reply: `{"id":1,"verdict":"allow","x":[` + strings.Repeat("0,", 30_000) + `0]}`}, "not of the contract"},
	} {
		t.Run(name, func(t *testing.T) {
			d := decider(t, brief, speaks(tt.module), Config{})
			got := d.Decide(t.Context(), reads("/"))
			if got.Allow || got.Ask || !strings.Contains(got.Reason, tt.want) || !strings.Contains(got.Reason, "the policy plugin kit gave no verdict") || got.Hint == "" {
				t.Errorf("got %+v, want %q", got, tt.want)
			}
			if len(got.Reason) > 2<<10 {
				t.Errorf("the reason has %d bytes", len(got.Reason))
			}
		})
	}
	late, cancel := context.WithCancel(t.Context())
	cancel()
	if got := decider(t, 0, paths(t), within).Decide(late, reads("/srv/notes/a")); got.Allow {
		t.Errorf("a caller that has left: %+v", got)
	}
	d := decider(t, 0, says(`{"id":1,"verdict":"deny","reason":"`+strings.Repeat(`\u001b[31mred\u202e`, 500)+`"}`), Config{})
	if got := d.Decide(t.Context(), reads("/")); got.Allow || len(got.Reason) > verdict.MaxReason+8 || strings.ContainsAny(got.Reason, "\x1b\u202e") || !strings.Contains(got.Reason, "red") {
		t.Errorf("a reason with escape codes: %q", got.Reason)
	}
}

// What a policy keeps in its memory reaches no other caller: here it counts its calls, and says the count as
// the id of the call.
func TestInstancesAreOfOneCaller(t *testing.T) {
	counting := speaker.Module{Manifest: manifest, Reply: `{"id":0,"verdict":"allow"}`}.Counting()
	d := decider(t, 0, speaks(counting), Config{})
	call := func(principal string) policy.Decision {
		c := reads("/")
		c.Caller = &policy.Caller{Kind: policy.Gateway, Name: "agent", Principal: principal}
		return d.Decide(t.Context(), c)
	}
	if got := call("a"); !got.Allow {
		t.Errorf("the first: %+v", got)
	}
	if got := call("a"); !got.Allow {
		t.Errorf("the same caller: %+v", got)
	}
	if got := call("b"); got.Allow || !strings.Contains(got.Reason, "decided on the call 1, and was asked about 3") {
		t.Errorf("another principal has got an instance that has counted: %+v", got)
	}
}

// A decision in C takes a part of the fuel of a millisecond, which is 1,000,000 units, and that of a list no more.
func TestFuelOfADecision(t *testing.T) {
	const most = 500_000
	d := decider(t, most, paths(t), within)
	if got := d.Decide(t.Context(), reads("/srv/notes/"+strings.Repeat("a/", 100))); !got.Allow {
		t.Errorf("a call: %+v", got)
	}
	if got := d.Decide(t.Context(), reads("/etc")); got.Allow || !strings.Contains(got.Reason, "not a whole path") {
		t.Errorf("a denial: %+v", got)
	}
	if got := d.Decide(t.Context(), &policy.Call{Caller: agent, Server: "files", Target: policy.Tool, Name: "read", Listed: true}); !got.Allow {
		t.Errorf("a list: %+v", got)
	}
}

// Many callers at once wait for their turn, and each gets the verdict on its own call.
func TestManyCallers(t *testing.T) {
	d := decider(t, 0, paths(t), within)
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			for n := range 8 {
				c := reads(fmt.Sprintf("/%s/%d", []string{"srv/notes", "etc"}[(i+n)%2], n))
				c.Caller = &policy.Caller{Kind: policy.Gateway, Principal: fmt.Sprint(i % 5)}
				if got := d.Decide(t.Context(), c); got.Allow != ((i+n)%2 == 0) {
					t.Errorf("%s: %+v", c.Arguments, got)
				}
			}
		})
	}
	all.Wait()
}

// Lists are decided on once a minute, and their annotations count. Requests are decided on each time.
func TestLists(t *testing.T) {
	d := decider(t, 0, paths(t), within)
	c := &policy.Call{Caller: agent, Server: "files", Target: policy.Tool, Name: "read", Listed: true}
	asked := func() uint64 {
		if got := d.Decide(t.Context(), c); !got.Allow {
			t.Errorf("%+v", got)
		}
		return d.last.Load()
	}
	if first, again := asked(), asked(); first != 1 || again != 1 {
		t.Errorf("the plugin was asked %d and %d times", first, again)
	}
	c.Annotations = func(context.Context) (json.RawMessage, error) { return json.RawMessage(`{"readOnlyHint":true}`), nil }
	if asked() != 2 {
		t.Error("other annotations make no difference")
	}
	c.Caller = &policy.Caller{Kind: policy.Bridge}
	if asked() != 3 {
		t.Error("another caller makes no difference")
	}
	d.listed.mu.Lock()
	d.listed.since = time.Now().Add(-2 * verdictAge)
	d.listed.mu.Unlock()
	if asked() != 4 {
		t.Error("a verdict is for ever")
	}
	for i := range maxVerdicts + 1 {
		d.listed.put(verdictKey{call: [32]byte{byte(i), byte(i >> 8)}}, policy.Decision{})
	}
	if n := len(d.listed.said); n > maxVerdicts {
		t.Errorf("%d verdicts are remembered", n)
	}
	var warned []string
	broken := decider(t, 0, says("x"), Config{Warn: func(text string) { warned = append(warned, text) }})
	for range 3 {
		broken.Decide(t.Context(), c)
	}
	if len(warned) != 1 || !strings.HasSuffix(warned[0], "; so what it gives no verdict on is not listed") {
		t.Errorf("warned %q", warned)
	}
}

// If annotations cannot be had, the plugin decides without them, and a denial says why.
func TestUnknownAnnotations(t *testing.T) {
	d := decider(t, 0, says(`{"id":1,"verdict":"deny","reason":"no hint"}`), Config{})
	c := reads("/")
	c.Annotations = func(context.Context) (json.RawMessage, error) { return nil, errors.New("it is not there") }
	if got := d.Decide(t.Context(), c); got.Allow || !strings.Contains(got.Reason, "no hint") || !strings.Contains(got.Reason, "it is not there") {
		t.Errorf("%+v", got)
	}
	asks := decider(t, 0, says(`{"id":1,"verdict":"ask","reason":"why"}`), Config{})
	if got := asks.Decide(t.Context(), reads("/")); got.Allow || !got.Ask || got.Reason != "why" {
		t.Errorf("%+v", got)
	}
}

// A manifest has the form of the contract.
func TestManifests(t *testing.T) {
	e := engine(t, 0)
	for text, want := range map[string]string{
		`{}`: "built for",
		strings.Replace(manifest, "policy-0", "policy-9", 1):                        "wharf-policy-9",
		strings.Replace(manifest, "kit", "../x", 1):                                 "calls itself",
		strings.Replace(manifest, `"version"`, `"wants":{"run":true},"version"`, 1): "unknown field",
	} {
		_, err := e.Load(t.Context(), "kit", speaks(speaker.Module{Manifest: text}))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "policy plugin kit") {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, name := range []string{"http_request", "var_get", "config_get"} {
		if _, err := e.Load(t.Context(), "kit", speaks(speaker.Module{Imports: []string{name}})); err == nil || !strings.Contains(err.Error(), "no such function") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzVerdict(f *testing.F) {
	f.Add([]byte(`{"id":1,"verdict":"allow"}`))
	f.Add([]byte(`{"id":1,"verdict":"ask","reason":"\u001b"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := readVerdict(b, 1)
		if err != nil && (d.Allow || d.Ask) || d.Allow && d.Ask || len(d.Reason) > verdict.MaxReason+8 {
			t.Errorf("%+v, %v", d, err)
		}
	})
}

func FuzzArguments(f *testing.F) {
	f.Add([]byte(`{"path":"a","n":[1,{"x":null}]}`))
	f.Add([]byte(`{"\u0070":"\ud800","P":1}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		c := reads("")
		c.Method, c.Target, c.Arguments = "x/y", policy.Other, b
		out, err := arguments(c)
		if err == nil && out != nil && !json.Valid(out) {
			t.Errorf("%q became %q", b, out)
		}
	})
}

// BenchmarkDecide is a decision of a policy in C, and the first look at a list of 1,000 tools.
func BenchmarkDecide(b *testing.B) {
	d := decider(b, 0, paths(b), within)
	b.Run("call", func(b *testing.B) {
		c := reads("/srv/notes/a.md")
		took := make([]time.Duration, 0, 1000)
		b.ReportAllocs()
		for b.Loop() {
			begun := time.Now()
			if got := d.Decide(b.Context(), c); !got.Allow {
				b.Fatal(got)
			}
			if len(took) < cap(took) {
				took = append(took, time.Since(begun))
			}
		}
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2].Nanoseconds()), "p50-ns")
	})
	b.Run("callers in turn", func(b *testing.B) {
		c := reads("/srv/notes/a.md")
		for n := 0; b.Loop(); n++ {
			c.Caller = &policy.Caller{Kind: policy.Gateway, Principal: fmt.Sprint(n % 8)}
			if got := d.Decide(b.Context(), c); !got.Allow {
				b.Fatal(got)
			}
		}
	})
	b.Run("list of 1000", func(b *testing.B) {
		for b.Loop() {
			d.listed.said = nil
			d.listed.since = time.Time{}
			for n := range 1000 {
				d.Decide(b.Context(), &policy.Call{Caller: agent, Server: "files", Target: policy.Tool, Name: fmt.Sprint("tool", n), Listed: true})
			}
		}
	})
	b.Run("list of 1000 again", func(b *testing.B) {
		for b.Loop() {
			for n := range 1000 {
				d.Decide(b.Context(), &policy.Call{Caller: agent, Server: "files", Target: policy.Tool, Name: fmt.Sprint("tool", n), Listed: true})
			}
		}
	})
}
