package wasm

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/wharf-mcp/wharf/internal/testenv"
)

func repeat(n int, parts ...any) []byte { return bytes.Repeat(seq(parts...), n) }

// each joins the code for every one of n locals.
func each(n int, code func(local uint32) []byte) (out []byte) {
	for i := range n {
		out = append(out, code(uint32(1+i))...)
	}
	return out
}

// leaving is a block that is left n times, behind before and with after behind it.
func leaving(n int, after []byte) []byte {
	return seq(opBlock, blockEmpty, repeat(n, get(0), opBrIf, 0), opEnd, after, get(0))
}

// having is a module of one function with so many locals.
func having(locals int, code []byte) build {
	b := one(code)
	b.funcs[0].locals = []uint32{uint32(locals)}
	return b
}

// wide is one(code) with type 2, of n parameters and as many results, and function 1
// of that type.
func wide(n int, code []byte) build {
	values := strings.Repeat(i32, n)
	pass := each(n, func(l uint32) []byte { return get(l - 1) })
	b := one(code, fn{typ: 2, code: pass})
	b.types = append(b.types, signature{values, values})
	return b
}

// costly are shapes whose compiling grows faster than their code, of n of what makes
// them grow, and m of what it is multiplied with.
var costly = map[string]func(n, m int) build{
	"branches out of a block":      func(n, _ int) build { return one(leaving(n, nil)) },
	"branches back to a loop":      func(n, _ int) build { return one(seq(opLoop, blockEmpty, repeat(n, get(0), opBrIf, 0), opEnd, get(0))) },
	"branches out of the function": func(n, _ int) build { return one(seq(repeat(n, get(0), get(0), opBrIf, 0, 0x1a), get(0))) },
	"a local set before each branch": func(n, m int) build {
		step := each(n, func(i uint32) []byte { return seq(get(0), set(1+i%uint32(m)), get(0), opBrIf, 0) })
		return having(m, seq(opBlock, blockEmpty, step, opEnd, each(m, func(l uint32) []byte { return seq(get(l), set(0)) }), get(0)))
	},
	"locals that are read behind branches": func(n, m int) build {
		return having(m, leaving(n, each(m, func(l uint32) []byte { return seq(get(l), 0x1a) })))
	},
	"reads far behind": func(n, m int) build {
		return one(seq(opBlock, blockEmpty, repeat(n, get(0), opBrIf, 0), repeat(100*m, get(1), 0x1a), opEnd, get(0)))
	},
	"loads far behind": func(n, m int) build {
		return one(seq(opBlock, blockEmpty, get(0), 0x28, 2, 0, 0x1a, repeat(n, get(0), opBrIf, 0), repeat(20*m, get(1), 0x28, 2, 0, set(1)), opEnd, get(0)))
	},
	"results that are passed along branches": func(n, m int) build {
		b := wide(m, nil)
		b.types = append(b.types, signature{"", strings.Repeat(i32, m)})
		b.funcs[0].code = seq(opBlock, 3, repeat(m, get(0)), repeat(n, get(0), opBrIf, 0), opEnd, repeat(m, 0x1a), get(0))
		return b
	},
	"calls with many values": func(n, m int) build {
		return wide(m, seq(repeat(m, get(0)), repeat(n, opCall, 1), repeat(m, 0x1a), get(0)))
	},
	"calls beside many globals": func(n, m int) build {
		b := one(seq(repeat(n, opCall, 1), get(0)), fn{typ: nullary})
		b.globals = m
		return b
	},
	"loops in loops": func(n, m int) build {
		read := each(m, func(l uint32) []byte { return seq(get(l), set(0)) })
		return having(m, seq(repeat(min(n, 900), opLoop, blockEmpty), read, repeat(min(n, 900), get(0), opBrIf, 0, opEnd), get(0)))
	},
	"loops behind loops": func(n, _ int) build {
		return one(seq(opLoop, blockEmpty, repeat(n, opLoop, blockEmpty, get(1), set(2), get(0), opBrIf, 0, opEnd), get(2), opBrIf, 0, opEnd, get(0)))
	},
	"conditions behind conditions": func(n, _ int) build { return one(seq(repeat(n, get(0), opIf, blockEmpty, opEnd), get(0))) },
	"values on the stack beside branches": func(n, m int) build {
		return one(seq(repeat(20*m, get(0), 0x28, 2, 0), leaving(n, nil)[:4*n+3], repeat(20*m-1, 0x6a)))
	},
	"locals that live across calls": func(n, m int) build {
		load := each(m, func(l uint32) []byte { return seq(get(0), 0x28, 2, 0, set(l)) })
		use := each(m, func(l uint32) []byte { return seq(get(0), get(l), 0x36, 2, 0) })
		b := having(m, seq(load, repeat(n, get(0), opIf, blockEmpty, opCall, 1, opEnd), use, get(0)))
		b.funcs = append(b.funcs, fn{typ: nullary})
		return b
	},
	"addresses before branches": func(n, m int) build {
		return one(seq(repeat(20*m, get(0), i32c(77777), 0x6a, 0x22, 0, 0x28, 2, 0, 0x1a), leaving(n, nil)))
	},
	"labels of a table": func(n, m int) build {
		return one(seq(repeat(m, opBlock, blockEmpty, get(0), opBrIf, 0), opBlock, blockEmpty, get(0), opBrTable, appendU32(nil, uint32(n-1)), make([]byte, n), opEnd, repeat(m, opEnd), get(0)))
	},
	"loads through loads": func(n, m int) build { return one(seq(get(0), repeat(20*n, 0x28, 2, 0))) },
	"divisions":           func(n, m int) build { return one(seq(get(0), repeat(10*n, get(1), 0x6d))) },
	"conversions":         func(n, m int) build { return one(seq(repeat(10*n, 0x43, 0, 0, 0, 0, 0xa8, 0x1a), get(0))) },
	"fills": func(n, m int) build {
		return one(seq(repeat(n, i32c(0), i32c(0), i32c(0), opMiscPrefix, 0x0b, 0), get(0)))
	},
	"additions": func(n, m int) build { return one(seq(get(0), repeat(50*n, get(1), 0x6a))) },
}

// TestEffortBoundsWhatCompilingTakes compiles each costly shape at two sizes, and
// holds what is allocated against the estimate. (That is to 100 bytes a unit; the 150
// leave room for slices that grow. The time is for make hostile: no machine is tested
// against a clock.)
func TestEffortBoundsWhatCompilingTakes(t *testing.T) {
	for name, shape := range costly {
		for _, n := range []int{100, 300} {
			binary := shape(n, 80).bytes()
			m, err := read(binary, ample.withDefaults())
			if err != nil {
				t.Fatal(err)
			}
			m.scanAll()
			if err := m.findings.refusal(name); err != nil {
				t.Fatal(err)
			}
			effort, metered := m.effort, m.meter(EventBudget)
			taken := allocates(func() { compileOnce(t, metered) })
			t.Logf("%s, %d: %d units, %d bytes", name, n, effort, taken)
			if most := uint64(150*effort + 8<<20); taken > most {
				t.Errorf("%s, %d: compiling allocates %d bytes, estimated at %d units", name, n, taken, effort)
			}
		}
	}
}

func compileOnce(t *testing.T, binary []byte) {
	t.Helper()
	ctx := experimental.WithCompilationWorkers(context.Background(), 1)
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCoreFeatures(api.CoreFeaturesV2).WithDebugInfoEnabled(false))
	defer r.Close(ctx)
	if _, err := r.CompileModule(ctx, binary); err != nil {
		t.Fatal(err)
	}
}

// TestCompileBombsAreRefused has, at sizes that keep the compiler busy for many
// seconds, or make it take gigabytes, what grows faster than its code.
func TestCompileBombsAreRefused(t *testing.T) {
	for _, c := range []struct {
		shape string
		n, m  int
		want  string
	}{
		{"branches out of the function", 40_000, 0, "effort of compiling function 0"},
		{"a local set before each branch", 4_000, 1_900, "effort of compiling function 0"},
		{"a local set before each branch", 1_000, 1_000, "effort of compiling function 0"},
		{"results that are passed along branches", 16_000, 100, "effort of compiling function 0"},
		{"calls with many values", 20_000, 100, "effort of compiling function 0"},
		{"locals that are read behind branches", 2_000, 1_000, "effort of compiling function 0"},
		{"reads far behind", 3_900, 1_000, "effort of compiling function 0"},
		{"loads far behind", 3_900, 3_000, "effort of compiling function 0"},
		{"calls beside many globals", 100_000, 1_000, "effort of compiling function 0"},
		{"loops in loops", 900, 1_000, "effort of compiling function 0"},
		{"values on the stack beside branches", 3_900, 3_000, "effort of compiling function 0"},
		{"locals that live across calls", 3_000, 1_900, "effort of compiling function 0"},
		{"addresses before branches", 3_900, 1_500, "effort of compiling function 0"},
		{"branches out of a block", 3_950, 0, "effort of compiling function 0"},
		{"conditions behind conditions", 4_500, 0, "blocks of function 0: wanted at most 4000, found 4001"},
		{"fills", 40_000, 0, "effort of compiling function 0"},
		{"loads through loads", 8_000, 0, "effort of compiling function 0"},
	} {
		_, err := newEngine(t, plain).Load(t.Context(), "guest", costly[c.shape](c.n, c.m).bytes())
		var r *Refusal
		if !errors.As(err, &r) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %d times %d: says %v, want %q", c.shape, c.n, c.m, err, c.want)
		}
	}
	many := costly["branches out of a block"](1_000, 0)
	for range 500 {
		many.funcs = append(many.funcs, many.funcs[0])
	}
	if _, err := newEngine(t, plain).Load(t.Context(), "guest", many.bytes()); err == nil || !strings.Contains(err.Error(), "effort of compiling: wanted at most") {
		t.Errorf("500 functions, each within its limit: says %v", err)
	}
}

// TestElementsAreBounded counts the entries of all segments together.
func TestElementsAreBounded(t *testing.T) {
	with := func(segments, entries int) build {
		b := one(get(0))
		b.tables = []bounds{{min: 1}}
		segment := seq(1, 0, appendU32(nil, uint32(entries)), make([]byte, entries))
		b.raw = map[byte][]byte{sectionElement: append(appendU32(nil, uint32(segments)), repeat(segments, segment)...)}
		return b
	}
	e := newEngine(t, plain)
	if _, err := e.Load(t.Context(), "guest", with(2, 32<<10).bytes()); err != nil {
		t.Error(err)
	}
	for _, b := range []build{with(2, 33<<10), with(1, 8_000_000)} {
		if _, err := e.Load(t.Context(), "guest", b.bytes()); err == nil || !strings.Contains(err.Error(), "entries of element segments: wanted at most 65536") {
			t.Errorf("says %v", err)
		}
	}
}

// honest are the plugins that come with Wharf, the examples and what the templates
// make in Go.
func honest(t *testing.T) map[string][]byte {
	t.Helper()
	root := filepath.Join("..", "..", "..")
	all := map[string][]byte{"testdata/guest": guestBinary(t)}
	built, err := filepath.Glob(filepath.Join(root, "*", "*", "*.wasm"))
	if err != nil || len(built) == 0 {
		t.Fatalf("found no plugins, %v", err)
	}
	for _, file := range built {
		if all[file], err = os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	if testing.Short() {
		return all
	}
	for _, main := range []string{"examples/transport-*/main.go", "examples/auth-*/main.go", "sdk/template/*/go/main.go"} {
		sources, err := filepath.Glob(filepath.Join(root, main))
		if err != nil || len(sources) == 0 {
			t.Fatalf("found no %s, %v", main, err)
		}
		for _, source := range sources {
			all[source] = testenv.Module(t, "./"+filepath.Dir(source))
		}
	}
	return all
}

// TestHonestGuestsAreFarFromTheLimits reads them with half of each limit, and with
// three quarters of the one for blocks in blocks, of which Go makes up to 700.
func TestHonestGuestsAreFarFromTheLimits(t *testing.T) {
	half := defaultLimits
	for _, n := range []*int{&half.Customs, &half.Functions, &half.Body, &half.Locals, &half.AllLocals, &half.Blocks, &half.Branches,
		&half.Targets, &half.BodyEffort, &half.Effort, &half.Tables, &half.Entries, &half.Segments, &half.Globals, &half.Names, &half.Types, &half.Arity} {
		*n /= 2
	}
	half.Nesting -= half.Nesting / 4
	for name, binary := range honest(t) {
		m, err := read(binary, half)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		m.scanAll()
		if err := m.findings.refusal(name); err != nil {
			t.Error(err)
		}
		t.Logf("%s: %d bytes, %d units", name, len(binary), m.effort)
	}
}
