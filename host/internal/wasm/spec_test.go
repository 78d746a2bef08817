package wasm

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/wharf-mcp/wharf/internal/testenv"
)

// TestSpecification runs the scripts of the specification's test suite, as far
// as wazero's module carries them, in two worlds: one of original modules, one
// of metered ones. What a script expects does not matter here. What matters is
// that both worlds answer the same: results bit by bit, traps by their text,
// and that a binary refused in the first is refused in the second.
func TestSpecification(t *testing.T) {
	root := specRoot(t)
	for _, version := range []string{"v1", "v2"} {
		if version == "v1" && !testenv.Long() {
			continue // nearly all of it is in v2
		}
		scripts, _ := filepath.Glob(filepath.Join(root, version, "testdata", "*.json"))
		if len(scripts) == 0 {
			t.Skip("wazero's module carries no scripts for", version)
		}
		for i, script := range scripts {
			if !testenv.Long() && i%3 != 0 {
				continue
			}
			t.Run(version+"/"+strings.TrimSuffix(filepath.Base(script), ".json"), func(t *testing.T) {
				runScript(t, root, script)
			})
		}
	}
}

func specRoot(t *testing.T) string {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/tetratelabs/wazero").Output()
	if err != nil {
		t.Skip("go list cannot say where wazero is:", err)
	}
	root := filepath.Join(strings.TrimSpace(string(out)), "internal", "integration_test", "spectest")
	if _, err := os.Stat(root); err != nil {
		t.Skip("wazero's module comes without the test suite")
	}
	return root
}

type specCommand struct {
	Type, Name, Filename, As string
	Line                     int
	ModuleType               string `json:"module_type"`
	Action                   specAction
}

type specAction struct {
	Type, Module, Field string
	Args                []specValue
}

type specValue struct {
	Type  string
	Lanes string `json:"lane_type"`
	Value any
}

// world is one runtime with the modules of one script.
type world struct {
	runtime wazero.Runtime
	modules map[string]api.Module // by name; "" is the latest
	meter   bool
}

func newWorld(t *testing.T, root string, meter bool) *world {
	ctx := context.Background()
	w := &world{runtime: wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCoreFeatures(api.CoreFeaturesV2)),
		modules: map[string]api.Module{}, meter: meter}
	t.Cleanup(func() { w.runtime.Close(ctx) })
	binary, err := os.ReadFile(filepath.Join(root, "testdata", "spectest.wasm"))
	if err != nil {
		t.Skip(err)
	}
	if _, err := w.runtime.InstantiateWithConfig(ctx, binary, wazero.NewModuleConfig().WithName("spectest")); err != nil {
		t.Fatal(err)
	}
	return w
}

var ample = Limits{Table: math.MaxUint32, Locals: 1 << 20, Segments: 1 << 20, Names: 1 << 20, Blocks: 1 << 20, Targets: 1 << 20, Branches: 1 << 20, BodyEffort: 1 << 40, Effort: 1 << 50, Entries: 1 << 20, AllLocals: 1 << 30,
	MemoryPages: 1 << 16, Arity: 1 << 20, Nesting: 1 << 20, Tables: 1 << 20}

// load instantiates a module, importable by others under as, and known to the
// script under names.
func (w *world) load(binary []byte, as string, names ...string) error {
	ctx := context.Background()
	if w.meter {
		var err error
		if binary, err = meterModule("spec", binary, ample, 1<<40); err != nil {
			return err
		}
	}
	code, err := w.runtime.CompileModule(ctx, binary)
	if err != nil {
		return err
	}
	m, err := w.runtime.InstantiateModule(ctx, code, wazero.NewModuleConfig().WithName(as).WithStartFunctions())
	if err != nil {
		return err
	}
	for _, n := range names {
		w.modules[n] = m
	}
	return nil
}

// do performs an action and says its result in words.
func (w *world) do(a specAction) string {
	m := w.modules[a.Module]
	if m == nil {
		return "no module"
	}
	if a.Type == "get" {
		return fmt.Sprint(m.ExportedGlobal(a.Field).Get())
	}
	f := m.ExportedFunction(a.Field)
	if f == nil {
		return "no function"
	}
	var args []uint64
	for _, v := range a.Args {
		args = append(args, v.words()...)
	}
	results, err := f.Call(context.Background(), args...)
	if err != nil {
		return verdict(err)
	}
	if g := m.ExportedGlobal(depthGlobal); g != nil && int32(g.Get()) < StackBudget {
		return fmt.Sprint("stack not given back: ", g.Get())
	}
	return fmt.Sprint(results)
}

// verdict is the first line of a trap. Running out of stack is the one thing
// the meter does differently: earlier, and by its own instruction.
func verdict(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	if strings.HasSuffix(line, "indirect call type mismatch") {
		line = "wasm error: invalid table access" // a TrapTable as well, and all that a dispatcher can tell
	}
	return "trap: " + line
}

func (v specValue) words() []uint64 {
	lanes, isVector := v.Value.([]any)
	if !isVector {
		return []uint64{specBits(v.Value.(string), 64)}
	}
	width := 128 / len(lanes)
	words := make([]uint64, 2)
	for i, lane := range lanes {
		bits := specBits(lane.(string), width)
		words[i*width/64] |= bits << (i * width % 64)
	}
	return words
}

func specBits(s string, width int) uint64 {
	switch {
	case s == "null":
		return 0
	case strings.HasPrefix(s, "nan") && width == 32:
		return 0x7fc00000
	case strings.HasPrefix(s, "nan"):
		return 0x7ff8000000000000
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		signed, _ := strconv.ParseInt(s, 10, 64)
		n = uint64(signed)
	}
	if width < 64 {
		n &= 1<<width - 1
	}
	return n
}

func runScript(t *testing.T, root, script string) {
	raw, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	var s struct{ Commands []specCommand }
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	original, metered := newWorld(t, root, false), newWorld(t, root, true)
	for i, c := range s.Commands {
		switch c.Type {
		case "module", "assert_uninstantiable", "assert_unlinkable", "assert_invalid", "assert_malformed":
			if c.ModuleType == "text" {
				continue
			}
			binary, err := os.ReadFile(filepath.Join(filepath.Dir(script), c.Filename))
			if err != nil {
				t.Fatal(err)
			}
			names := []string{"", c.Name}
			if c.Type != "module" {
				names = nil
			}
			as := ""
			if next := i + 1; next < len(s.Commands) && s.Commands[next].Type == "register" {
				as = s.Commands[next].As
			}
			a, b := original.load(slices.Clone(binary), as, names...), metered.load(binary, as, names...)
			if (a == nil) != (b == nil) {
				t.Errorf("line %d: %s %s: original: %v, metered: %v", c.Line, c.Type, c.Filename, a, b)
			}
		case "action", "assert_return", "assert_trap", "assert_exhaustion":
			a, b := original.do(c.Action), metered.do(c.Action)
			if c.Type == "assert_exhaustion" {
				a, b = a[:5], b[:5]
			}
			if strings.HasPrefix(a, "no ") || a != b {
				t.Errorf("line %d: %s: original: %s, metered: %s", c.Line, c.Action.Field, a, b)
			}
		}
	}
}
