package wasm

import (
	"bytes"
	"strings"
	"testing"
)

// kept is a module that has one of everything that a metered form is compared by, and,
// after metering, what the meter adds: imports, a table, a memory, globals and exports.
func kept(metered bool) build {
	b := build{
		types:   []signature{{}, {i32, i32}, {"", i32}},
		imports: []imported{{wasiModule, "sched_yield", externFunction, 2}},
		funcs:   []fn{{typ: unary, locals: []uint32{4}, code: get(0)}},
		tables:  []bounds{{min: 8, max: 20, capped: true}},
		memory:  &bounds{min: 2, max: 9, capped: true},
		globals: 2,
		exports: []exported{{"memory", externMemory, 0}, {"run", externFunction, 1}, {"own", externGlobal, 0}},
	}
	if metered {
		own := seq(typeI64, 1, opI64Const, 0, opEnd)
		b.raw = map[byte][]byte{sectionGlobal: seq(5, own, own, own, own, typeI32, 1, i32c(0), opEnd)}
		b.exports = append(b.exports, exported{fuelGlobal, externGlobal, 2}, exported{budgetGlobal, externGlobal, 3}, exported{depthGlobal, externGlobal, 4})
	}
	return b
}

func imageOf(t *testing.T, b build, l Limits) *image {
	t.Helper()
	m, err := read(b.bytes(), l)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestMeteredFormsAreCompared changes one thing each in a metered form that matches.
func TestMeteredFormsAreCompared(t *testing.T) {
	table := func(elem byte, b bounds) []byte { return append([]byte{1, elem}, b.append(nil)...) }
	for _, test := range []struct {
		name, want string
		change     func(b *build)
	}{
		{"as it is", "", func(*build) {}},
		{"module of an import", "other imports", func(b *build) { b.imports[0].module = "wasi" }},
		{"name of an import", "other imports", func(b *build) { b.imports[0].name = "sched" }},
		{"type of an import", "other imports", func(b *build) { b.imports[0].typ = 1 }},
		{"same type, another number", "", func(b *build) {
			b.types, b.imports[0].typ = append(b.types, signature{"", i32}), 3
		}},
		{"kind of an import", "other imports", func(b *build) {
			b.raw[sectionImport] = append(appendName(appendName([]byte{1}, wasiModule), "sched_yield"), externGlobal, typeI64, 1)
			b.raw[sectionGlobal][0], b.exports[1].index = 5, 0
		}},
		{"another import", "other imports", func(b *build) { b.imports, b.exports[1].index = append(b.imports, b.imports[0]), 2 }},
		{"a start section", "start section", func(b *build) {
			b.funcs = append(b.funcs, fn{typ: nullary})
			b.raw[sectionStart] = []byte{2}
		}},
		{"less memory", "other memories or tables", func(b *build) { b.memory.min = 1 }},
		{"memory that grows further", "other memories or tables", func(b *build) { b.memory.max = 10 }},
		{"memory without a limit", "other memories or tables", func(b *build) { b.memory.capped, b.memory.max = false, 0 }},
		{"an empty table", "", func(b *build) { b.tables[0].min = 0 }},
		{"a larger table", "other memories or tables", func(b *build) { b.tables[0].min = 9 }},
		{"a table that grows to the limit", "", func(b *build) { b.tables[0].max = defaultLimits.Table }},
		{"a table that grows past the limit", "other memories or tables", func(b *build) { b.tables[0].max = defaultLimits.Table + 1 }},
		{"a table without a limit", "", func(b *build) { b.tables[0].capped = false }},
		{"a table of other references", "other memories or tables", func(b *build) {
			b.raw[sectionTable] = table(typeExtern, b.tables[0])
		}},
		{"another table", "other memories or tables", func(b *build) { b.tables = append(b.tables, bounds{}) }},
		{"name of a function", "export 1", func(b *build) { b.exports[1].name = "ran" }},
		{"type of a function", "export 1", func(b *build) { b.exports[1].index = 0 }},
		{"kind of an export", "export 1", func(b *build) { b.exports[1].kind, b.exports[1].index = externMemory, 0 }},
		{"same kind of function", "", func(b *build) {
			b.funcs, b.exports[1].index = append(b.funcs, b.funcs[0]), 2
		}},
		{"name of the memory", "export 0", func(b *build) { b.exports[0].name = "memories" }},
		{"name of a global", "export 2", func(b *build) { b.exports[2].name = "other" }},
		{"another global", "export 2", func(b *build) { b.exports[2].index = 1 }},
		{"an export less", "it has 5 exports", func(b *build) { b.exports = b.exports[:5] }},
		{"an export more", "it has 7 exports", func(b *build) { b.exports = append(b.exports, exported{"more", externFunction, 0}) }},
		{"name of the fuel", fuelGlobal + " is not", func(b *build) { b.exports[3].name = "fuel" }},
		{"a function for fuel", fuelGlobal + " is not", func(b *build) { b.exports[3].kind, b.exports[3].index = externFunction, 1 }},
		{"fuel of another type", fuelGlobal + " is not", func(b *build) { b.exports[3].index = 4 }},
		{"a fixed budget", budgetGlobal + " is not", func(b *build) { b.raw[sectionGlobal][1+3*5+1] = 0 }},
		{"depth of another type", depthGlobal + " is not", func(b *build) { b.exports[5].index = 3 }},
	} {
		b := kept(true)
		test.change(&b)
		err := imageOf(t, kept(false), defaultLimits).matches(b.bytes())
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
}

// TestLimitsOfMeteredForms reads a module with limits that it just keeps to. Its metered
// form may have so much more of each thing as the meter adds at most.
func TestLimitsOfMeteredForms(t *testing.T) {
	limits := defaultLimits
	limits.Functions, limits.Types, limits.Names, limits.Globals = 2, 3, 3, 2
	limits.Locals, limits.AllLocals, limits.Arity, limits.Tables = 4, 4, 1, 1
	size := keptSpare
	for _, content := range imageOf(t, kept(false), limits).content {
		size += keptGrowth * (len(content) + 8)
	}
	more := func(n int, add func(b *build)) func(*build) {
		return func(b *build) {
			for range n {
				add(b)
			}
		}
	}
	function := func(b *build) { b.funcs = append(b.funcs, fn{typ: nullary}) }
	local := func(b *build) { b.funcs[0].locals[0]++ }
	elsewhere := func(b *build) { b.funcs = append(b.funcs, fn{typ: nullary, locals: []uint32{1}}) }
	global := func(b *build) {
		g := b.raw[sectionGlobal]
		b.raw[sectionGlobal] = seq(int(g[0])+1, g[1:], typeI32, 0, i32c(0), opEnd)
	}
	for _, test := range []struct {
		name   string
		change func(b *build)
		want   string
	}{
		{"as it is", func(*build) {}, ""},
		{"shims and dispatchers", more(3+3, function), ""},
		{"too many functions", more(3+3+1, function), "functions: wanted at most 8, found 9"},
		{"types of blocks and dispatchers", more(2*3, func(b *build) { b.types = append(b.types, signature{}) }), ""},
		{"too many types", more(2*3+1, func(b *build) { b.types = append(b.types, signature{}) }), "types: wanted at most 9, found 10"},
		{"too many globals", global, "globals: wanted at most 5, found 6"},
		{"too many exports", func(b *build) { b.exports = append(b.exports, exported{"more", externFunction, 0}) }, "exports: wanted at most 6, found 7"},
		{"a local for lengths", local, ""},
		{"too many locals", more(2, local), "locals of function 1: wanted at most 5, found 6"},
		{"too many locals in all", more(2, elsewhere), "locals of all functions: wanted at most 5, found 6"},
		{"the index of an entry", func(b *build) { b.types = append(b.types, signature{i32 + i32, i32}) }, ""},
		{"too many values", func(b *build) { b.types = append(b.types, signature{i32 + i32 + i32, i32}) }, "values in a function type: wanted at most 2, found 3"},
	} {
		b := kept(true)
		test.change(&b)
		err := imageOf(t, kept(false), limits).matches(b.bytes())
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
	form := kept(true).bytes()
	for more := range 2 { // a custom section, with a length of three bytes and a name of none
		rest := appendU32(nil, uint32(size+more-len(form)-4))
		padded := append(append(append(bytes.Clone(form), sectionCustom), rest...), make([]byte, size+more-len(form)-4)...)
		if err := imageOf(t, kept(false), limits).matches(padded); len(padded) != size+more || (err == nil) != (more == 0) {
			t.Errorf("%d bytes, of which there may be %d: %v", len(padded), size, err)
		}
	}
}
