package wasm

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// TestHogsStop runs guests that would not stop by themselves, and shows that
// they do, that they stay dead, and that their neighbour does not notice.
func TestHogsStop(t *testing.T) {
	e := newEngine(t, plain)
	neighbour := start(t, e, one(seq(get(0), i32c(1), 0x6a)).bytes())
	for name, hog := range hogs() {
		t.Run(name, func(t *testing.T) {
			in := start(t, e, hog.bytes())
			stops(t, in, TrapFuel)
			if over := in.Used() - EventBudget; over < 0 || over > 1<<26 {
				t.Errorf("used %d units past its budget", over)
			}
			works(t, neighbour)
		})
	}
}

func TestRecursionStops(t *testing.T) {
	e := newEngine(t, plain)
	neighbour := start(t, e, one(seq(get(0), i32c(1), 0x6a)).bytes())
	mutual := one(seq(get(0), callTo(1)), fn{typ: unary, code: seq(get(0), callTo(0))})
	indirect := one(seq(get(0), i32c(0), 0x11, unary, 0))
	indirect.tables, indirect.elems = []bounds{{min: 1}}, []uint32{0}
	shapes := frames()
	shapes["mutual"], shapes["through a table"] = mutual, indirect
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			in := start(t, e, shape.bytes())
			stops(t, in, TrapDepth)
			works(t, neighbour)
		})
	}
}

// stops calls run and wants it to trap, and every later call to say the same.
func stops(t *testing.T, in *Instance, kind TrapKind) {
	t.Helper()
	f := in.Export("run")
	_, err := f.Call(EventBudget, 0)
	var trap *Trap
	if !errors.As(err, &trap) || trap.Kind != kind {
		t.Fatalf("stopped by %v, want a trap of kind %d", err, kind)
	}
	if _, again := f.Call(EventBudget, 0); again != err || in.Dead() != trap {
		t.Errorf("the second call says %v", again)
	}
}

func works(t *testing.T, in *Instance) {
	t.Helper()
	if got, err := in.Export("run").Call(1000, 41); got != 42 || err != nil {
		t.Errorf("the neighbour says %d, %v", got, err)
	}
}

func TestTrapsSayWhy(t *testing.T) {
	table := func(b build) build {
		b.tables, b.elems = []bounds{{min: 3, max: 3, capped: true}}, []uint32{1, 0}
		return b
	}
	leaf := fn{typ: nullary}
	for name, c := range map[string]struct {
		guest build
		kind  TrapKind
	}{
		"load past the end":  {one(seq(i32c(16<<20-3), 0x28, 2, 0)), TrapMemory},
		"store past the end": {one(seq(i32c(-1), i32c(0), 0x36, 2, 0, get(0))), TrapMemory},
		"fill past the end":  {one(seq(i32c(1), i32c(0), i32c(16<<20), opMiscPrefix, 0x0b, 0, get(0))), TrapMemory},
		"empty entry":        {table(one(seq(get(0), i32c(2), 0x11, unary, 0), leaf)), TrapTable},
		"no entry":           {table(one(seq(get(0), i32c(3), 0x11, unary, 0), leaf)), TrapTable},
		"wrong type":         {table(one(seq(get(0), i32c(0), 0x11, unary, 0), leaf)), TrapTable},
		"division by zero":   {one(seq(i32c(1), i32c(0), 0x6d)), TrapDivide},
		"division overflow":  {one(seq(i32c(-1<<31), i32c(-1), 0x6d)), TrapDivide},
		"conversion":         {one(seq(0x43, 0, 0, 0xc0, 0x7f, 0xa8)), TrapDivide},
		"unreachable":        {one(seq(opUnreachable)), TrapUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			stops(t, start(t, newEngine(t, plain), c.guest.bytes()), c.kind)
		})
	}
}

// TestLookRefuses has a module for each thing that is refused, and the words
// that name it.
func TestLookRefuses(t *testing.T) {
	with := func(change func(*build)) build {
		b := one(get(0))
		b.raw = map[byte][]byte{}
		change(&b)
		return b
	}
	code := func(parts ...any) build { return one(seq(parts...)) }
	many := func(n int, parts ...any) []byte { return bytes.Repeat(seq(parts...), n) }
	for name, c := range map[string]struct {
		guest build
		want  string
	}{
		"unknown import":    {with(func(b *build) { b.imports = []imported{{"host", "open", 0, unary}} }), `import "host.open": there is no such function`},
		"unknown module":    {with(func(b *build) { b.imports = []imported{{"env", "known", 0, unary}} }), `import "env.known": there is no such function`},
		"wrong signature":   {with(func(b *build) { b.imports = []imported{{"host", "known", 0, nullary}} }), `import "host.known": wanted (i32) -> (i32), found () -> ()`},
		"wrong export":      {with(func(b *build) { b.funcs[0] = fn{typ: nullary} }), `export "run": wanted (i32) -> (i32), found () -> ()`},
		"missing export":    {with(func(b *build) { b.exports = b.exports[:1] }), `export "run": wanted (i32) -> (i32), found no such export`},
		"export not a func": {with(func(b *build) { b.exports = []exported{{"memory", 2, 0}, {"run", 2, 0}} }), `export "run": wanted (i32) -> (i32), found a memory`},
		"no memory":         {with(func(b *build) { b.exports = b.exports[1:] }), `export "memory"`},
		"export twice":      {with(func(b *build) { b.exports = append(b.exports, b.exports[1]) }), `export "run": wanted one of that name, found two`},
		"our export":        {with(func(b *build) { b.exports = append(b.exports, exported{fuelGlobal, 0, 0}) }), `no name that begins with __wharf_`},
		"escape in a name":  {with(func(b *build) { b.imports = []imported{{"host", "\x1b[2J", 0, unary}} }), `"host.\x1b[2J"`},
		"import of memory":  {with(func(b *build) { b.raw[sectionImport] = seq(1, 1, byte('e'), 1, byte('m'), 2, 0, 1); b.memory = nil }), `import "e.m": wanted functions only, found a memory`},
		"start section":     {with(func(b *build) { b.raw[sectionStart] = []byte{0}; b.funcs = append(b.funcs, fn{}) }), "start section"},
		"large memory":      {with(func(b *build) { b.memory = &bounds{min: 257} }), "memory: wanted at most 256 pages of 64 KiB, found 257"},
		"large table":       {with(func(b *build) { b.tables = []bounds{{min: 100_000_000}} }), "table: wanted at most 65536 entries, found 100000000"},
		"many tables":       {with(func(b *build) { b.tables = make([]bounds, 9) }), "tables: wanted at most 8, found 9"},
		"shared memory":     {with(func(b *build) { b.raw[sectionMemory] = []byte{1, 3, 1, 2} }), "limits of kind 0x3 are not in core V2"},
		"many functions":    {with(func(b *build) { b.funcs = append(b.funcs, make([]fn, 200_000)...) }), "functions: wanted at most 20000, found 200001"},
		"many locals":       {with(func(b *build) { b.funcs[0].locals = []uint32{1_000_000} }), "locals of function 0: wanted at most 2000, found 1000000"},
		"endless locals":    {with(func(b *build) { b.funcs[0].locals = []uint32{1 << 31, 1 << 31, 1 << 31} }), "locals of function 0"},
		"deep nesting":      {code(many(50_000, opBlock, blockEmpty), many(50_000, opEnd), get(0)), "nesting of function 0"},
		"many blocks":       {code(many(5_000, opBlock, blockEmpty, opEnd), get(0)), "blocks of function 0"},
		"giant br_table":    {code(get(0), 0x0e, appendU32(nil, 20_000), make([]byte, 20_001), get(0)), "branch table in function 0"},
		"large body":        {code(many(300_000, get(0), 0x1a), get(0)), "body of function 0"},
		"many segments":     {with(func(b *build) { b.data = make([]string, 1_000_000) }), "data segments: wanted at most 100000"},
		"compile bomb":      {with(func(b *build) { b.funcs = append(b.funcs, bombs()...) }), "effort of compiling"},
		"tail call":         {code(get(0), 0x12, 0), "instruction 0x1200 is not in core V2"},
		"indirect tail":     {code(get(0), get(0), 0x13, 1, 0), "instruction 0x1301 is not in core V2"},
		"exception":         {code(0x08, 0, get(0)), "instruction 0x0800 is not in core V2"},
		"atomic":            {code(get(0), 0xfe, 0x10, 2, 0), "instruction 0xfe10 is not in core V2"},
		"relaxed simd":      {code(0xfd, 0x80, 0x02, get(0)), "instruction 0xfd80 is not in core V2"},
		"padded simd":       {code(0xfd, 0x80, 0x7c, get(0)), "instruction 0xfd80 is not in core V2"},
		"our global":        {code(get(0), opGlobalGet, 0, 0xa7, 0x1a), "global 0 is used, 0 are declared"},
		"our shim":          {code(get(0), callTo(1)), "function 1 is used, 1 are declared"},
		"our type":          {code(opBlock, 2, opEnd, get(0)), "block type 2 is used, 2 types are declared"},
		"our local":         {code(get(5)), "local 5 is used, 5 are declared"},
		"our segment":       {code(opMiscPrefix, 0x0d, 0, get(0)), "element segment 0 is used, 0 are declared"},
		"label":             {code(0x0c, 1), "label 1 is used, 1 are declared"},
	} {
		t.Run(name, func(t *testing.T) {
			s := plain
			s.Imports = []HostFunc{{Name: "known", Params: 1, HasResult: true}}
			_, err := newEngine(t, s).Load(t.Context(), "guest", c.guest.bytes())
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("says %v, want %q", err, c.want)
			}
		})
	}
}

// bombs are functions within every single limit, and too much together.
func bombs() []fn {
	code := seq(bytes.Repeat([]byte{opBlock, blockEmpty}, 900), bytes.Repeat([]byte{opEnd}, 900))
	all := make([]fn, 2000)
	for i := range all {
		all[i].code = code
	}
	return all
}

func TestLookListsEverything(t *testing.T) {
	b := one(get(0))
	b.imports = []imported{{"host", "one", 0, unary}, {"host", "two", 0, unary}}
	b.raw = map[byte][]byte{sectionStart: {2}}
	b.exports = nil
	_, err := newEngine(t, plain).Load(t.Context(), "guest", b.bytes())
	var r *Refusal
	if !errors.As(err, &r) || len(r.Findings) != 5 {
		t.Errorf("found %v", err)
	}
}

func TestLookKnowsMarkers(t *testing.T) {
	s := plain
	s.MarkerPrefix, s.Marker = "wharf_abi_", "wharf_abi_1"
	for marker, want := range map[string]string{
		"wharf_abi_1": "",
		"wharf_abi_2": "built for ABI 2, this host speaks 1",
		"other":       "not a Wharf plugin",
	} {
		b := one(get(0), fn{typ: nullary})
		b.exports = append(b.exports, exported{marker, externFunction, 1})
		_, err := newEngine(t, s).Load(t.Context(), "guest", b.bytes())
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: says %v, want %q", marker, err, want)
		}
	}
}

// TestGrowthIsBounded grows memory and tables to where they end.
func TestGrowthIsBounded(t *testing.T) {
	e := newEngine(t, plain)
	memory := one(seq(get(0), 0x40, 0))
	memory.memory = &bounds{min: 1}
	m, err := e.Load(t.Context(), "memory", memory.bytes())
	if err != nil {
		t.Fatal(err)
	}
	in, err := m.Instantiate(t.Context(), InstanceConfig{MemoryPages: 10})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	for _, c := range []struct{ pages, want, now uint32 }{{5, 1, 6}, {5, ^uint32(0), 6}, {1 << 16, ^uint32(0), 6}, {4, 6, 10}} {
		got, err := in.Export("run").Call(EventBudget, c.pages)
		if got != c.want || in.Pages() != c.now || err != nil {
			t.Errorf("growing by %d says %d (%v), leaves %d pages", c.pages, int32(got), err, in.Pages())
		}
	}

	table := one(seq(0xd0, typeFunc, get(0), opMiscPrefix, 0x0f, 0))
	table.tables = []bounds{{min: 1}}
	grower := start(t, e, table.bytes()).Export("run")
	for by, want := range map[uint32]uint32{100_000_000: ^uint32(0), 1 << 16: ^uint32(0), 0: 1} {
		if got, err := grower.Call(1<<30, by); got != want || err != nil {
			t.Errorf("growing a table by %d says %d, %v", by, int32(got), err)
		}
	}
}

// TestBulkOperationsPayByLength compares the fuel for nothing with the fuel for
// a length, for every instruction that takes one.
func TestBulkOperationsPayByLength(t *testing.T) {
	null := seq(0xd0, typeFunc)
	zero := i32c(0)
	for name, c := range map[string]struct {
		code          []byte
		length, least int64
	}{
		"memory.fill": {seq(zero, zero, get(0), opMiscPrefix, 0x0b, 0, get(0)), 1 << 20, 1 << 18},
		"memory.copy": {seq(zero, zero, get(0), opMiscPrefix, 0x0a, 0, 0, get(0)), 1 << 20, 1 << 18},
		"memory.init": {seq(zero, zero, get(0), opMiscPrefix, 0x08, 0, 0, get(0)), 4096, 1 << 10},
		"memory.grow": {seq(get(0), 0x40, 0), 100, 100},
		"table.fill":  {seq(zero, null, get(0), opMiscPrefix, 0x11, 0, get(0)), 1000, 1000},
		"table.copy":  {seq(zero, zero, get(0), opMiscPrefix, 0x0e, 0, 0, get(0)), 1000, 1000},
		"table.init":  {seq(zero, zero, get(0), opMiscPrefix, 0x0c, 1, 0, get(0)), 1000, 1000},
		"table.grow":  {seq(null, get(0), opMiscPrefix, 0x0f, 0), 1000, 1000},
	} {
		t.Run(name, func(t *testing.T) {
			b := one(c.code)
			b.memory = &bounds{min: 20}
			b.tables = []bounds{{min: 2000}}
			b.raw = map[byte][]byte{
				sectionElement:   seq(2, 0, zero, opEnd, 0, 1, 0, appendU32(nil, 1000), make([]byte, 1000)),
				sectionDataCount: {1},
				sectionData:      seq(1, 1, appendName(nil, strings.Repeat("x", 4096))),
			}
			in := start(t, newEngine(t, plain), b.bytes())
			f := in.Export("run")
			used := func(n int64) int64 {
				if _, err := f.Call(EventBudget, uint32(n)); err != nil {
					t.Fatal(err)
				}
				return in.Used()
			}
			if nothing, all := used(0), used(c.length); all-nothing < c.least {
				t.Errorf("a length of %d costs %d units, want %d", c.length, all-nothing, c.least)
			}
		})
	}
}
