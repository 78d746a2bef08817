package wasm

import (
	"bytes"
	"reflect"
	"slices"
	"testing"
)

// TestDispatcherLabels: entries that trap at either end have no label, those between have
// that of the outermost block, and a function has one block however often it is there.
func TestDispatcherLabels(t *testing.T) {
	for _, test := range []struct {
		entries         []uint32
		first           int
		targets, labels []uint32
	}{
		{[]uint32{0, 0, 3, 0, 5, 3, 0}, 2, []uint32{2, 4}, []uint32{0, 2, 1, 0}},
		{[]uint32{7}, 0, []uint32{6}, []uint32{0}},
		{[]uint32{0, 1, 2}, 1, []uint32{0, 1}, []uint32{0, 1}},
		{[]uint32{2, 1, 0}, 0, []uint32{1, 0}, []uint32{0, 1}},
		{[]uint32{0, 0, 0}, 3, nil, nil},
		{nil, 0, nil, nil},
	} {
		b := dispatcher{entries: test.entries}
		first, targets, labels := b.labels()
		if first != test.first || !slices.Equal(targets, test.targets) || !slices.Equal(labels, test.labels) {
			t.Errorf("%d: from %d on %d, by %d", test.entries, first, targets, labels)
		}
	}
}

// many is as many entries, each another function.
func many(n int) (entries []uint32) {
	for i := range n {
		entries = append(entries, uint32(i+1))
	}
	return entries
}

func TestEffortOfDispatchers(t *testing.T) {
	sig := signature{i32 + i32, i32}
	b := dispatcher{sig: sig, entries: append(many(130), 0, 1, 2)}
	each := dispatchTarget + 3*valueEffort + 7*reloadEffort + 130/dispatchShare
	if got, want := b.effort(7), functionEffort+130*each+133*labelEffort; got != want {
		t.Errorf("it takes %d, want %d", got, want)
	}
}

// planned is a rewriting of a module with 12 functions of type 1 in its table, and calls
// through it by types 1 and 2.
func planned() *rewriting {
	m := &image{limits: defaultLimits, types: []signature{{}, {i32, i32}, {i32 + i32, i32}}, functions: slices.Repeat([]uint32{1}, 14),
		tables: []bounds{{min: 12}}, entries: many(12), mutable: 2, effort: 1000}
	m.code.indirect = []uint32{1, 2}
	return &rewriting{m: m, types: make([][]byte, 3), order: make([]uint32, 5)}
}

// TestPlansOfDispatchers: the indices follow those of shims and block types, and what could
// change the table, or is too much, keeps it.
func TestPlansOfDispatchers(t *testing.T) {
	w := planned()
	w.dispatchers()
	if len(w.dispatch) != 2 || w.emit.dispatch[1] != 14+5 || w.emit.dispatch[2] != 14+5+1 || w.dispatch[0].typ != 3+3 || w.dispatch[1].typ != 3+4 {
		t.Errorf("planned: %+v, %v", w.dispatch, w.emit.dispatch)
	}
	if form := seq(typeFunction, 3, []byte(i32+i32+i32), 1, typeI32); len(w.types) != 5 || !bytes.Equal(w.types[4], form) {
		t.Errorf("types: %x", w.types)
	}
	if !slices.Equal(w.dispatch[0].entries, many(12)) || !slices.Equal(w.dispatch[1].entries, make([]uint32, 12)) {
		t.Errorf("entries by type: %v, %v", w.dispatch[0].entries, w.dispatch[1].entries)
	}
	one, two := w.dispatch[0].effort(2+meterGlobals), w.dispatch[1].effort(2+meterGlobals)
	for _, test := range []struct {
		name   string
		want   bool
		change func(m *image)
	}{
		{"unknown", false, func(m *image) { m.tableUnknown = true }},
		{"no table", false, func(m *image) { m.tables = nil }},
		{"two tables", false, func(m *image) { m.tables = make([]bounds, 2) }},
		{"an imported table", false, func(m *image) { m.inherited[externTable] = 1 }},
		{"no entries", false, func(m *image) { m.entries = nil }},
		{"tables in code", false, func(m *image) { m.code.tables = true }},
		{"references in code", false, func(m *image) { m.code.references = true }},
		{"no calls", false, func(m *image) { m.code.indirect = nil }},
		{"as many labels as may be", true, func(m *image) { m.entries = make([]uint32, dispatchLabels/2) }},
		{"too many labels", false, func(m *image) { m.entries = make([]uint32, dispatchLabels/2+1) }},
		{"as large as two bodies", true, func(m *image) { m.limits.BodyEffort = (one + 1) / dispatchBodies }},
		{"larger than two bodies", false, func(m *image) { m.limits.BodyEffort = (one+1)/dispatchBodies - 1 }},
		{"as much as may be", true, func(m *image) { m.limits.Effort = 1000 + one + two }},
		{"too much", false, func(m *image) { m.limits.Effort = 1000 + one + two - 1 }},
	} {
		w := planned()
		test.change(w.m)
		if w.dispatchers(); (w.dispatch != nil) != test.want || (w.emit.dispatch != nil) != test.want || !test.want && len(w.types) != 3 {
			t.Errorf("%s: %d dispatchers", test.name, len(w.dispatch))
		}
	}
	even := planned()
	even.m.mutable++
	even.dispatchers()
	if got := even.dispatch[0].effort(3 + meterGlobals); got == one {
		t.Errorf("a mutable global more takes as much: %d", got)
	}
	even = planned()
	even.m.limits.BodyEffort = one / dispatchBodies
	if even.dispatchers(); (even.dispatch != nil) != (one%dispatchBodies == 0) {
		t.Errorf("%d units, of which there may be %d: %d dispatchers", one, dispatchBodies*even.m.limits.BodyEffort, len(even.dispatch))
	}
}

// The memory of an instance, where nothing can be reserved.
func TestMemoryOnTheHeap(t *testing.T) {
	m := &heapMemory{most: 10}
	b := m.Reallocate(4)
	if len(b) != 4 {
		t.Fatalf("%d bytes", len(b))
	}
	copy(b, "abcd")
	if b = m.Reallocate(10); string(b) != "abcd\x00\x00\x00\x00\x00\x00" {
		t.Errorf("grown to %q", b)
	}
	if again := m.Reallocate(10); &again[0] != &b[0] || m.Reallocate(11) != nil || len(m.buf) != 10 {
		t.Errorf("%d bytes", len(m.buf))
	}
	if m.Free(); m.buf != nil {
		t.Error("it is kept")
	}
}

func TestMemoryIsBounded(t *testing.T) {
	for _, test := range []struct {
		pages uint32
		most  uint64
		want  uint64
	}{{2, 1 << 30, 2 * pageSize}, {5, 3 * pageSize, 3 * pageSize}} {
		a := allocator{pages: test.pages}
		m := a.Allocate(0, test.most)
		b := m.Reallocate(test.want)
		if uint64(len(b)) != test.want || m.Reallocate(test.want+1) != nil {
			t.Errorf("%d pages of %d bytes: %d", test.pages, test.most, len(b))
		}
		if a.made != nil && uint64(len(a.made.used())) != test.want {
			t.Errorf("%d bytes are used", len(a.made.used()))
		}
		m.Free()
	}
}

// Each table of a module may grow to its share, but not past its own maximum.
func TestSharesOfTables(t *testing.T) {
	for _, test := range []struct {
		tables []bounds
		want   []byte
	}{
		{[]bounds{{min: 8, elem: typeFunc}}, seq(1, typeFunc, 1, 8, 100)},
		{[]bounds{{min: 8, elem: typeFunc}, {min: 3, max: 20, capped: true, elem: typeExtern}, {min: 40, elem: typeFunc}},
			seq(3, typeFunc, 1, 8, 33, typeExtern, 1, 3, 20, typeFunc, 1, 40, 40)},
	} {
		m := &image{limits: Limits{Table: 100}, tables: test.tables}
		w := &rewriting{m: m}
		if got := w.tableSection([]byte{0}); !bytes.Equal(got, test.want) {
			t.Errorf("%+v: %d, want %d", test.tables, got, test.want)
		}
		m.inherited[externTable] = 1
		m.tables = append([]bounds{{min: 99}}, m.tables...)
		if got := w.tableSection([]byte{0}); !bytes.Equal(got, test.want) {
			t.Errorf("behind an imported one: %d, want %d", got, test.want)
		}
	}
	if got := (&rewriting{m: &image{}}).tableSection(nil); got != nil {
		t.Errorf("no table: %d", got)
	}
}

// Indices of what the meter adds follow those of the module.
func TestPlansOfTheMeter(t *testing.T) {
	m := bodied()
	m.code.several = []uint32{2, 3}
	m.exports = []exported{{"g", externGlobal, 0}, {"a", externFunction, 1}, {"b", externFunction, 0}, {"c", externFunction, 1}, {"m", externMemory, 0}}
	w := &rewriting{m: m, shims: map[uint32]uint32{}, emit: emit{blockTypes: map[uint32]uint32{}}}
	w.plan()
	if w.emit.blockTypes[2] != 4 || w.emit.blockTypes[3] != 5 || len(w.types) != 2 || !bytes.Equal(w.types[0], seq(typeFunction, 0, 2, typeI32, typeI32)) {
		t.Errorf("types %v: %x", w.emit.blockTypes, w.types)
	}
	if !slices.Equal(w.order, []uint32{1, 0}) || len(w.shims) != 2 || w.shims[1] != 2 || w.shims[0] != 3 {
		t.Errorf("shims %v: %v", w.order, w.shims)
	}
	for _, test := range []struct {
		id   byte
		b    []byte
		want []byte
	}{
		{sectionType, []byte{0}, nil}, {sectionStart, []byte{0}, []byte{sectionStart, 1, 0}}, {sectionType, []byte{1}, []byte{sectionType, 1, 1}},
		{sectionType, []byte{0, 0}, []byte{sectionType, 2, 0, 0}},
	} {
		if got := w.section(nil, test.id, test.b); !bytes.Equal(got, test.want) {
			t.Errorf("section %d of %x: %x", test.id, test.b, got)
		}
	}
}

// A length is taken as it is where a unit pays for one byte, and shifted where for more.
func TestPriceOfLengths(t *testing.T) {
	e := &emit{fuel: 7}
	for shift, want := range map[int][]byte{
		0: seq(opLocalSet, 9, opGlobalGet, 7, opLocalGet, 9, opI64ExtendI32U),
		1: seq(opLocalSet, 9, opGlobalGet, 7, opLocalGet, 9, opI64ExtendI32U, opI64Const, 1, opI64ShrU),
	} {
		want = seq(want, opI64Sub, opGlobalSet, 7, opGlobalGet, 7, opI64Const, 0, opI64LtS, opBrIf, 3, opLocalGet, 9)
		if got := e.price(nil, 9, shift, 3); !bytes.Equal(got, want) {
			t.Errorf("shifted by %d: %x, want %x", shift, got, want)
		}
	}
}

// A function pays for depth if it calls another, or if it takes much stack by itself.
func TestFunctionsThatPayForDepth(t *testing.T) {
	large := (largeLeaf - 80) / 8
	for _, test := range []struct {
		s    scan
		want bool
	}{
		{scan{}, false}, {scan{calls: 1}, true},
		{scan{shape: stack{slots: large}}, false}, {scan{shape: stack{slots: large + 1}}, true},
	} {
		if got := test.s.deepens(); got != test.want {
			t.Errorf("%d calls, %d bytes: %v", test.s.calls, test.s.shape.bytes(), got)
		}
	}
}

// A block is put around bodies that are charged past their entry, or change, or pay for
// depth; one that leaves several values has a type of its own.
func TestUsesOfCode(t *testing.T) {
	for _, test := range []struct {
		s       scan
		several []uint32
	}{
		{scan{fn: 0, charges: true}, nil}, {scan{fn: 1}, nil}, {scan{fn: 1, charges: true}, []uint32{2}},
		{scan{fn: 1, bulk: true}, []uint32{2}}, {scan{fn: 1, reference: true}, []uint32{2}}, {scan{fn: 1, calls: 1}, []uint32{2}},
	} {
		m := bodied()
		u := codeUses{seen: make([]listed, len(m.types))}
		u.add(m, &test.s)
		u.add(m, &test.s)
		if !slices.Equal(u.several, test.several) || u.references != test.s.reference || u.tables {
			t.Errorf("%+v: %+v", test.s, u)
		}
	}
	m := bodied()
	u := codeUses{seen: make([]listed, len(m.types))}
	u.add(m, &scan{edits: []edit{{kind: editIndirect, arg: 3}, {kind: editReturn, arg: 1}, {kind: editIndirect, arg: 1}, {kind: editIndirect, arg: 3}}, tables: true})
	if !slices.Equal(u.indirect, []uint32{3, 1}) || !u.tables || !reflect.DeepEqual(u.seen, []listed{0, inIndirect, 0, inIndirect}) {
		t.Errorf("indirect calls: %+v", u)
	}
}
