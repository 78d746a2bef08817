package auth

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/internal/extism/speaker"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
)

// saying is a provider that says the same with each call.
type saying struct {
	manifest, reply string
	exit            int      // with which describe and step leave, after they have spoken; below zero they stay
	imports         []string // more of them, each a function () -> ()
	raw             []byte   // in place of the code of step
}

func (s saying) module() []byte {
	return speaker.Module{
		Describe: step.ExportDescribe, Call: step.ExportStep, Manifest: s.manifest, Reply: s.reply, Exit: s.exit, Imports: s.imports, Raw: s.raw,
	}.Binary()
}

// honest is a manifest.
func honest() string {
	b, _ := json.Marshal(everything)
	return string(b)
}

// lies are replies that are not of the contract.
var lies = map[string]string{
	`no JSON`:                          "invalid character",
	``:                                 "EOF",
	`{}`:                               "no action",
	`{"actions":[]}`:                   "no action",
	`{"actions":[{"kind":"done"}]} {}`: "something behind",
	`{"actions":[{"kind":"explode"}]}`: `"explode", which is no action`,
	`{"actions":[{}]}`:                 `"", which is no action`,
	`{"actions":[{"kind":"http"}]}`:    "without what belongs to it",
	`{"actions":[{"kind":"done","http":{}}]}`:                                                       "done comes with what belongs to http",
	`{"actions":[{"kind":"run"},{"kind":"run"}]}`:                                                   "run comes before other actions",
	`{"actions":[{"kind":"done"},{"kind":"done"}]}`:                                                 "done comes before other actions",
	`{"actions":[{"kind":"credentials","credentials":{"token":"canary"}}]}`:                         "neither awaits",
	`{"actions":[{"kind":"load","load":{"key":{"name":7}}}]}`:                                       "actions.load.key.name is a number",
	`{"actions":[{"kind":"credentials","credentials":{"expires_at":"canary"}},{"kind":"done"}]}`:    "is a string",
	`{"actions":[{"kind":"done","provider":"other"}]}`:                                              "unknown field",
	`{"actions":[` + strings.Repeat(`{"kind":"material","material":{}},`, 16) + `{"kind":"done"}]}`: "17 actions",
	`{"state":"` + strings.Repeat("x", step.MaxState) + `","actions":[{"kind":"done"}]}`:            "its state has",
	strings.Repeat(" ", step.MaxReply) + `{"actions":[{"kind":"done"}]}`:                            "it replied with",
	strings.Repeat(`[`, 20_000):                                                                     "its reply is not",
}

// TestLies has providers say what is not of the contract, through all of Extism.
func TestLies(t *testing.T) {
	e := newEngine(t, Fuel)
	for reply, want := range lies {
		p, err := e.Load(t.Context(), "corp", saying{manifest: honest(), reply: reply, exit: -1}.module())
		if err != nil {
			t.Fatal(err)
		}
		_, err = ForAccount(p).Step(t.Context(), start(""))
		wantError(t, err, Broken, want)
		if strings.Contains(err.Error(), "canary") || len(err.Error()) > 1<<10 {
			t.Errorf("the error is %v", err)
		}
	}
}

func TestManifests(t *testing.T) {
	e := newEngine(t, Fuel)
	with := func(change func(m *step.Manifest)) string {
		m := everything
		change(&m)
		b, _ := json.Marshal(m)
		return string(b)
	}
	for manifest, want := range map[string]string{
		`{}`: "built for",
		with(func(m *step.Manifest) { m.ABI = "wharf-auth-9" }):                                 `"wharf-auth-9"`,
		with(func(m *step.Manifest) { m.Name = "../oauth" }):                                    "calls itself",
		with(func(m *step.Manifest) { m.Name = "" }):                                            "calls itself",
		with(func(m *step.Manifest) { m.Version = "\x1b[31m" }):                                 "version",
		with(func(m *step.Manifest) { m.Settings = []step.Setting{{Key: "a", Kind: "file"}} }):  "no kind of setting",
		with(func(m *step.Manifest) { m.Settings = []step.Setting{{Key: "A b"}} }):              "no name of its own",
		with(func(m *step.Manifest) { m.Settings = []step.Setting{{Key: "a"}, {Key: "a"}} }):    "no name of its own",
		with(func(m *step.Manifest) { m.Settings = make([]step.Setting, 101) }):                 "101 settings",
		with(func(m *step.Manifest) { m.Wants.Origins = []string{"https://sso.example/path"} }): "host and port",
		with(func(m *step.Manifest) { m.Wants.Origins = []string{"https://*.example"} }):        "",
		with(func(m *step.Manifest) { m.Wants = step.Wants{Body: true} }):                       "signs none",
		with(func(m *step.Manifest) { m.About = strings.Repeat("x", 70_000) }):                  "its manifest has",
		strings.Replace(honest(), `"wants"`, `"grants":{},"wants"`, 1):                          "unknown field",
	} {
		_, err := e.Load(t.Context(), "corp", saying{manifest: manifest, exit: -1}.module())
		if want == "" {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		wantError(t, err, Broken, want)
	}
	m := with(func(m *step.Manifest) {
		m.About = "a\x1b[31m\u202eb"
		m.Settings = []step.Setting{{Key: "a", About: "\n"}}
	})
	p, err := e.Load(t.Context(), "corp", saying{manifest: m, exit: -1}.module())
	if err != nil || p.Manifest().About != "a [31m b" || p.Manifest().Settings[0].Kind != step.SettingText {
		t.Errorf("got %+v, %v", p, err)
	}
}

// TestWhatStepsDo is what Wasm can do and no reply. The next step of the same
// provider, which this one has no other instance of, fails alike, and an honest
// one goes on.
func TestWhatStepsDo(t *testing.T) {
	e := newEngine(t, brief)
	good, err := e.Load(t.Context(), "good", saying{manifest: honest(), reply: `{"actions":[{"kind":"done"}]}`, exit: -1}.module())
	if err != nil {
		t.Fatal(err)
	}
	loop := func(code ...byte) []byte {
		return append(append([]byte{0x03, 0x40}, code...), 0x0c, 0, 0x0b, 0x41, 0, 0x0b)
	}
	for name, tt := range map[string]struct {
		raw  []byte
		want string
	}{
		"trap":         {[]byte{0x00, 0x0b}, "gave up"},
		"loop":         {loop(), "budget"},
		"grow":         {loop(0x41, 1, 0x40, 0, 0x1a), "budget"},
		"out of it":    {[]byte{0x41, 0x7f, 0x2d, 0, 0, 0x0b}, "memory it does not have"},
		"divide":       {[]byte{0x41, 1, 0x41, 0, 0x6d, 0x0b}, "divided by zero"},
		"recurse":      {[]byte{0x10, speaker.Speak + 2, 0x0b}, "budget"},
		"far output":   {[]byte{0x42, 0, 0x42, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x10, speaker.Output, 0x41, 0, 0x0b}, "not of the contract"},
		"not zero":     {[]byte{0x41, 5, 0x0b}, "returned 5"},
		"says nothing": {[]byte{0x41, 0, 0x0b}, "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := e.Load(t.Context(), "corp", saying{manifest: honest(), exit: -1, raw: tt.raw}.module())
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				_, err = ForAccount(p).Step(t.Context(), start(""))
				wantError(t, err, Broken, tt.want)
			}
			if reply, err := ForAccount(good).Step(t.Context(), start("")); err != nil || reply.Actions[0].Kind != step.ActionDone {
				t.Errorf("an honest provider: %v, %v", reply, err)
			}
		})
	}
	for _, exit := range []int{0, 3} {
		_, err := e.Load(t.Context(), "corp", saying{manifest: honest(), exit: exit}.module())
		wantError(t, err, Broken, map[int]string{0: "left in the middle", 3: "exited with code 3"}[exit])
	}
}

// TestImports are those that Extism has and providers do not get.
func TestImports(t *testing.T) {
	e := newEngine(t, Fuel)
	for _, name := range []string{"http_request", "http_status_code", "http_headers", "var_get", "var_set", "config_get", "reset", "nothing"} {
		_, err := e.Load(t.Context(), "corp", saying{manifest: honest(), exit: -1, imports: []string{name}}.module())
		var refusal *wasm.Refusal
		if !errors.As(err, &refusal) || !strings.Contains(err.Error(), "there is no such function") || !strings.Contains(err.Error(), "auth provider corp") {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := e.Load(t.Context(), "corp", []byte("\x00asm\x01\x00\x00\x00"))
	for _, export := range []string{step.ExportDescribe, step.ExportStep} {
		if err == nil || !strings.Contains(err.Error(), export) {
			t.Errorf("an empty module: %v", err)
		}
	}
}

func FuzzReply(f *testing.F) {
	for reply := range lies {
		f.Add([]byte(reply[:min(len(reply), 1<<10)]))
	}
	f.Add([]byte(`{"state":{},"actions":[{"kind":"load","load":{"key":{"name":"token"},"lock":true}}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := readReply(b)
		if err != nil {
			var broken violation
			if !errors.As(err, &broken) {
				t.Errorf("the error is %T: %v", err, err)
			}
			return
		}
		last := r.Actions[len(r.Actions)-1].Kind
		if step.Awaits(last) == "" && last != step.ActionDone && last != step.ActionFail {
			t.Errorf("a reply that ends with %q was taken", last)
		}
	})
}
