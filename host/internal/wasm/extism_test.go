package wasm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/sys"
)

func newExtism(t *testing.T, c ExtismConfig) *Extism {
	t.Helper()
	a, err := NewExtism(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

// forExtism is a module with an export of each allowed type.
func forExtism(code []byte) build {
	return build{
		types:   []signature{{}, {results: i32}, {params: i32}, {letters("I"), letters("I")}},
		funcs:   []fn{{typ: 0, code: code}, {typ: 1, code: i32c(0)}},
		memory:  &bounds{min: 1},
		exports: []exported{{"memory", externMemory, 0}, {"step", externFunction, 0}, {"describe", externFunction, 1}},
	}
}

var extismConfig = ExtismConfig{Budget: 1_000_000, Exports: []string{"step", "describe"}}

func TestExtismRefuses(t *testing.T) {
	a := newExtism(t, extismConfig)
	with := func(change func(m *build)) []byte {
		m := forExtism(nil)
		change(&m)
		return m.bytes()
	}
	for want, binary := range map[string][]byte{
		"start section": with(func(m *build) { m.raw = map[byte][]byte{sectionStart: {0}} }),
		`import "extism:host/env.http_request": there is no such function`: with(func(m *build) {
			m.imports = []imported{{"extism:host/env", "http_request", externFunction, 0}}
		}),
		`import "extism:host/env.alloc": wanted (i64) -> (i64)`: with(func(m *build) {
			m.imports = []imported{{"extism:host/env", "alloc", externFunction, 0}}
		}),
		`import "wasi_snapshot_preview1.path_open"`: with(func(m *build) {
			m.imports = []imported{{wasiModule, "path_open", externFunction, 0}}
		}),
		`export "step": wanted () -> (i32), found (i32) -> ()`: with(func(m *build) { m.funcs[0].typ = 2 }),
		`export "describe": wanted () -> (i32), found no such`: with(func(m *build) { m.exports = m.exports[:2] }),
		`export "step": wanted () -> (i32), found a memory`:    with(func(m *build) { m.exports[1].kind = externMemory }),
		"memory: wanted at most 256 pages":                     with(func(m *build) { m.memory.min = 257 }),
		"no name that begins with __wharf_": with(func(m *build) {
			m.exports = append(m.exports, exported{fuelGlobal, externFunction, 0})
		}),
	} {
		_, _, err := a.Prepare("corp", Hash(binary), binary)
		var refusal *Refusal
		if !errors.As(err, &refusal) || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "corp: ") {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if _, _, err := a.Prepare("corp", Hash(nil), []byte("no module")); err == nil {
		t.Error("a text was taken")
	}
	m := forExtism(nil)
	m.imports = []imported{{"extism:host/env", "alloc", externFunction, 3}}
	m.exports[1].index, m.exports[2].index = 1, 2
	if _, _, err := a.Prepare("corp", Hash(m.bytes()), m.bytes()); err != nil {
		t.Error(err)
	}
}

// TestExtismKeepsWhatItHasMetered, by all that it depends on.
func TestExtismKeepsWhatItHasMetered(t *testing.T) {
	c := extismConfig
	c.CacheDir = t.TempDir()
	if err := os.Chmod(c.CacheDir, 0o700); err != nil {
		t.Fatal(err)
	}
	binary := forExtism(nil).bytes()
	first, kept, err := newExtism(t, c).Prepare("corp", Hash(binary), binary)
	if err != nil || kept {
		t.Fatalf("the first time: kept %v, %v", kept, err)
	}
	again, keptAgain, err := newExtism(t, c).Prepare("corp", Hash(binary), binary)
	if err != nil || !keptAgain || !slices.Equal(first, again) {
		t.Errorf("the second time: kept %v, %v", keptAgain, err)
	}
	c.Budget++
	other, kept, err := newExtism(t, c).Prepare("corp", Hash(binary), binary)
	if err != nil || kept || slices.Equal(first, other) {
		t.Errorf("another budget: kept %v, %v", kept, err)
	}
}

// run runs step under the settings of an Extism, as Extism would.
func (a *Extism) run(t *testing.T, ctx context.Context, binary []byte, closes bool) error {
	t.Helper()
	metered, _, err := a.Prepare("corp", Hash(binary), binary)
	if err != nil {
		t.Fatal(err)
	}
	r := wazero.NewRuntimeWithConfig(a.CompileContext(t.Context()), a.RuntimeConfig().WithCloseOnContextDone(closes))
	defer r.Close(context.Background())
	m, err := r.InstantiateWithConfig(a.CompileContext(t.Context()), metered, a.ModuleConfig(nil).WithName("main"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.ExportedFunction("step").Call(ctx)
	return err
}

// compiles compiles a module under the settings of an Extism.
func (a *Extism) compiles(t *testing.T, binary []byte) error {
	t.Helper()
	metered, _, err := a.Prepare("corp", Hash(binary), binary)
	if err != nil {
		t.Fatal(err)
	}
	r := wazero.NewRuntimeWithConfig(a.CompileContext(t.Context()), a.RuntimeConfig())
	defer r.Close(context.Background())
	_, err = r.CompileModule(a.CompileContext(t.Context()), metered)
	return err
}

// TestStopped tells why calls end.
func TestStopped(t *testing.T) {
	a := newExtism(t, extismConfig)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for want, tt := range map[string]struct {
		ctx  context.Context
		code []byte
	}{
		"gave up, or used up its budget for one call": {t.Context(), forever()},
		"gave up":                          {t.Context(), seq(0x00)},
		"accessed memory it does not have": {t.Context(), seq(i32c(-1), 0x2d, 0, 0, 0x1a)},
		"divided by zero":                  {t.Context(), seq(i32c(1), i32c(0), 0x6d, 0x1a)},
		"context canceled":                 {gone, forever()},
	} {
		err := a.run(t, tt.ctx, forExtism(tt.code).bytes(), tt.ctx == gone)
		if err == nil || !strings.HasPrefix(ExtismTrap(err).Error(), want) {
			t.Errorf("got %v of %v, want %q", ExtismTrap(err), err, want)
		}
	}
	for want, err := range map[string]error{
		"exited with code 3":        sys.NewExitError(3),
		"context deadline exceeded": fmt.Errorf("call: %w", sys.NewExitError(sys.ExitCodeDeadlineExceeded)),
		"whatever":                  errors.New("whatever"),
	} {
		if got := ExtismTrap(err).Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestLoopsPayForTheCheck holds the number of rounds to what they cost where wazero asks in each.
func TestLoopsPayForTheCheck(t *testing.T) {
	times := func(n int32) []byte { // a loop that ends
		return build{
			types:   []signature{{}, {results: i32}},
			funcs:   []fn{{typ: 0, locals: []uint32{1}, code: seq(i32c(n), set(0), opLoop, blockEmpty, get(0), i32c(1), 0x6b, 0x22, 0, 0x0d, 0, opEnd)}, {typ: 1, code: i32c(0)}},
			exports: []exported{{"step", externFunction, 0}, {"describe", externFunction, 1}},
		}.bytes()
	}
	a := newExtism(t, extismConfig)
	if err := a.run(t, t.Context(), times(int32(extismConfig.Budget/(contextCheck+20))), false); err != nil {
		t.Errorf("within its budget: %v", err)
	}
	if err := a.run(t, t.Context(), times(int32(extismConfig.Budget/contextCheck)), false); err == nil {
		t.Error("a loop runs more often than its checks are paid for")
	}
}
