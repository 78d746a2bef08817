package auth

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
)

// A speaker is a module of a few hundred bytes that says the same with each call.
// It is written here byte by byte: no compiler would make what some of these do.
type speaker struct {
	manifest, reply string
	exit            int      // with which describe and step leave, after they have spoken; below zero they stay
	imports         []string // more of them, each a function () -> ()
	raw             []byte   // in place of the code of step
}

// honest is a manifest.
func honest() string {
	b, _ := json.Marshal(everything)
	return string(b)
}

// The functions of a speaker, by their index.
const (
	fnAlloc = iota
	fnStore
	fnOutput
	fnExit
	fnSpeak
)

func (s speaker) module() []byte {
	const i32, i64 = 0x7f, 0x7e
	out := []byte("\x00asm\x01\x00\x00\x00")
	types := [][]byte{{0x60, 1, i64, 1, i64}, {0x60, 2, i64, i32, 0}, {0x60, 2, i64, i64, 0}, {0x60, 1, i32, 0}, {0x60, 2, i32, i32, 0}, {0x60, 0, 1, i32}, {0x60, 0, 0}}
	out = section(out, 1, types...)
	imports := [][]byte{
		imported("extism:host/env", "alloc", 0), imported("extism:host/env", "store_u64", 2),
		imported("extism:host/env", "output_set", 2), imported("wasi_snapshot_preview1", "proc_exit", 3),
	}
	for _, name := range s.imports {
		imports = append(imports, imported("extism:host/env", name, 6))
	}
	more := byte(len(s.imports))
	out = section(out, 2, imports...)
	out = section(out, 3, []byte{4}, []byte{5}, []byte{5})
	out = section(out, 5, append([]byte{0}, leb((len(s.manifest)+len(s.reply))>>16+1)...))
	out = section(out, 7, export("memory", 2, 0), export(step.ExportDescribe, 0, fnSpeak+more+1), export(step.ExportStep, 0, fnSpeak+more+2))
	says := func(at, n int) []byte {
		code := append(append([]byte{0x41}, leb(at)...), append(append([]byte{0x41}, leb(n)...), 0x10, fnSpeak+more)...)
		if s.exit >= 0 {
			code = append(append(append(code, 0x41), leb(s.exit)...), 0x10, fnExit)
		}
		return append(code, 0x41, 0, 0x0b)
	}
	reply := s.raw
	if reply == nil {
		reply = says(len(s.manifest), len(s.reply))
	}
	out = section(out, 10, body(nil, speak), body(nil, says(0, len(s.manifest))), body([]byte{1, 8, i32}, reply))
	text := s.manifest + s.reply
	return section(out, 11, append(append([]byte{0, 0x41, 0, 0x0b}, leb(len(text))...), text...))
}

// speak copies n bytes at p into Extism's memory, eight at a time, and says that
// they are the output. Local 2 is the offset there, 3 counts.
var speak = append([]byte{2, 1, 0x7e, 1, 0x7f}, // locals are part of it
	0x20, 1, 0xad, 0x42, 8, 0x7c, 0x10, fnAlloc, 0x21, 2,
	0x02, 0x40, 0x03, 0x40, 0x20, 3, 0x20, 1, 0x4f, 0x0d, 1, // block, loop: leave if 3 >= n
	0x20, 2, 0x20, 3, 0xad, 0x7c, 0x20, 0, 0x20, 3, 0x6a, 0x29, 0, 0, 0x10, fnStore,
	0x20, 3, 0x41, 8, 0x6a, 0x21, 3, 0x0c, 0, 0x0b, 0x0b,
	0x20, 2, 0x20, 1, 0xad, 0x10, fnOutput, 0x0b)

// body is a function; locals nil means that code begins with them.
func body(locals, code []byte) []byte {
	switch {
	case locals != nil:
		code = append(append([]byte{}, locals...), code...)
	case &code[0] != &speak[0]:
		code = append([]byte{0}, code...)
	}
	return append(leb(len(code)), code...)
}

func section(out []byte, id byte, entries ...[]byte) []byte {
	content := leb(len(entries))
	for _, e := range entries {
		content = append(content, e...)
	}
	return append(append(append(out, id), leb(len(content))...), content...)
}

func imported(module, name string, typ byte) []byte {
	b := append(append(leb(len(module)), module...), leb(len(name))...)
	return append(append(b, name...), 0, typ)
}

func export(name string, kind, index byte) []byte {
	return append(append(leb(len(name)), name...), kind, index)
}

// leb writes a number that is positive as a signed one too.
func leb(n int) []byte {
	b := binary.AppendUvarint(nil, uint64(n))
	if b[len(b)-1]&0x40 != 0 {
		b[len(b)-1] |= 0x80
		b = append(b, 0)
	}
	return b
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
		p, err := e.Load(t.Context(), "corp", speaker{manifest: honest(), reply: reply, exit: -1}.module())
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.ForAccount().Step(t.Context(), start(""))
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
		_, err := e.Load(t.Context(), "corp", speaker{manifest: manifest, exit: -1}.module())
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
	p, err := e.Load(t.Context(), "corp", speaker{manifest: m, exit: -1}.module())
	if err != nil || p.Manifest().About != "a [31m b" || p.Manifest().Settings[0].Kind != step.SettingText {
		t.Errorf("got %+v, %v", p, err)
	}
}

// TestWhatStepsDo is what Wasm can do and no reply. The next step of the same
// provider, which this one has no other instance of, fails alike, and an honest
// one goes on.
func TestWhatStepsDo(t *testing.T) {
	e := newEngine(t, brief)
	good, err := e.Load(t.Context(), "good", speaker{manifest: honest(), reply: `{"actions":[{"kind":"done"}]}`, exit: -1}.module())
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
		"recurse":      {[]byte{0x10, fnSpeak + 2, 0x0b}, "budget"},
		"far output":   {[]byte{0x42, 0, 0x42, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x10, fnOutput, 0x41, 0, 0x0b}, "not of the contract"},
		"not zero":     {[]byte{0x41, 5, 0x0b}, "returned 5"},
		"says nothing": {[]byte{0x41, 0, 0x0b}, "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := e.Load(t.Context(), "corp", speaker{manifest: honest(), exit: -1, raw: tt.raw}.module())
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				_, err = p.ForAccount().Step(t.Context(), start(""))
				wantError(t, err, Broken, tt.want)
			}
			if reply, err := good.ForAccount().Step(t.Context(), start("")); err != nil || reply.Actions[0].Kind != step.ActionDone {
				t.Errorf("an honest provider: %v, %v", reply, err)
			}
		})
	}
	for _, exit := range []int{0, 3} {
		_, err := e.Load(t.Context(), "corp", speaker{manifest: honest(), exit: exit}.module())
		wantError(t, err, Broken, map[int]string{0: "left in the middle", 3: "exited with code 3"}[exit])
	}
}

// TestTheKernelIsKeptBusy by a provider that itself does next to nothing. It has the time
// of all others to describe itself, and less after that.
func TestTheKernelIsKeptBusy(t *testing.T) {
	e := newEngine(t, Fuel)
	raw := []byte{0x03, 0x40, 0x42, 1, 0x10, fnAlloc, 0x1a, 0x0c, 0, 0x0b, 0x41, 0, 0x0b}
	p, err := e.Load(t.Context(), "corp", speaker{manifest: honest(), exit: -1, raw: raw}.module())
	if err != nil {
		t.Fatal(err)
	}
	only := p.idle[0].plugin
	if only.Timeout != callTime {
		t.Errorf("it has %v for a call", only.Timeout)
	}
	only.Timeout = time.Second
	_, err = p.ForAccount().Step(t.Context(), start(""))
	wantError(t, err, Broken, "when its time was over")
}

// TestImports are those that Extism has and providers do not get.
func TestImports(t *testing.T) {
	e := newEngine(t, Fuel)
	for _, name := range []string{"http_request", "http_status_code", "http_headers", "var_get", "var_set", "config_get", "reset", "nothing"} {
		_, err := e.Load(t.Context(), "corp", speaker{manifest: honest(), exit: -1, imports: []string{name}}.module())
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
