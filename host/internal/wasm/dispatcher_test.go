package wasm

import (
	"testing"
)

// dispatching is a module whose run calls the entry that it is given, of a table
// of three functions with holes around them.
func dispatching() build {
	m := one(seq(i32c(40), get(0), opCallIndirect, unary, 0),
		fn{typ: unary, code: seq(get(0), i32c(2), 0x6a)},
		fn{typ: nullary},
		fn{typ: unary, code: seq(get(0), i32c(2), 0x6c)})
	m.tables = []bounds{{min: 8}}
	m.raw = map[byte][]byte{sectionElement: seq(2,
		0, i32c(2), opEnd, 3, 1, 2, 3, // entries 2 to 4
		0, i32c(6), opEnd, 1, 1)} // and 6
	return m
}

// tablesOf reads how many entries the tables of a metered module begin with, and
// how many segments fill them.
func tablesOf(t *testing.T, m build) (entries uint32, segments int) {
	t.Helper()
	metered, err := meterModule("test", m.bytes(), Limits{}, EventBudget)
	if err != nil {
		t.Fatal(err)
	}
	x, err := read(metered, ample.withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range x.tables {
		entries += b.min
	}
	return entries, x.elements
}

func TestDispatcher(t *testing.T) {
	m := dispatching()
	if entries, segments := tablesOf(t, m); entries != 0 || segments != 0 {
		t.Errorf("a table of %d entries and %d segments are left for each instance to have", entries, segments)
	}
	e := newEngine(t, plain)
	for entry, want := range map[uint32]uint32{2: 42, 4: 80, 6: 42} {
		if got, err := start(t, e, m.bytes()).Export("run").Call(1000, entry); got != want || err != nil {
			t.Errorf("entry %d: %d, %v, want %d", entry, got, err, want)
		}
	}
	for _, entry := range []uint32{0, 1, 3, 5, 7, 8, 1 << 31, 1<<32 - 1} {
		_, err := start(t, e, m.bytes()).Export("run").Call(1000, entry)
		if trap, ok := err.(*Trap); !ok || trap.Kind != TrapTable {
			t.Errorf("entry %d: %v", entry, err)
		}
	}
}

// A table that the module or the host could write to, or look at, stays a table.
func TestTablesThatStay(t *testing.T) {
	with := func(change func(m *build)) build {
		m := dispatching()
		change(&m)
		return m
	}
	for name, m := range map[string]build{
		"exported": with(func(m *build) { m.exports = append(m.exports, exported{"table", externTable, 0}) }),
		"grown": with(func(m *build) {
			m.funcs[2].code = seq(0xd0, typeFunc, i32c(1), opMiscPrefix, 15, 0, 0x1a)
		}),
		"read":      with(func(m *build) { m.funcs[2].code = seq(i32c(2), 0x25, 0, 0x1a) }),
		"set":       with(func(m *build) { m.funcs[2].code = seq(i32c(0), 0xd0, typeFunc, 0x26, 0) }),
		"dropped":   with(func(m *build) { m.funcs[2].code = seq(opMiscPrefix, 13, 0) }),
		"reference": with(func(m *build) { m.funcs[2].code = seq(opRefFunc, 1, 0x1a) }),
		"passive": with(func(m *build) {
			m.raw[sectionElement] = seq(2, 0, i32c(2), opEnd, 1, 1, 1, 0, 1, 1)
		}),
		"two":  with(func(m *build) { m.tables = append(m.tables, bounds{min: 1}) }),
		"past": with(func(m *build) { m.raw[sectionElement] = seq(1, 0, i32c(7), opEnd, 2, 1, 1) }),
		"vast": with(func(m *build) { m.tables[0].min = dispatchEntries + 1 }),
	} {
		t.Run(name, func(t *testing.T) {
			if entries, segments := tablesOf(t, m); entries < 8 || segments == 0 {
				t.Errorf("%d entries, %d segments", entries, segments)
			}
		})
	}
}

// Every level of a recursion through a table takes a frame of the dispatcher.
// The estimate knows.
func TestDispatchersPayForTheirFrames(t *testing.T) {
	m := dispatching()
	m.funcs[1].code = seq(get(0), i32c(2), opCallIndirect, unary, 0)
	x, err := read(m.bytes(), ample.withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	direct := one(seq(callTo(1)), fn{typ: unary, code: seq(get(0), callTo(1))})
	y, err := read(direct.bytes(), ample.withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	if through, without := scanned(t, x, 1).shape.bytes(), scanned(t, y, 1).shape.bytes(); through < without+80 {
		t.Errorf("a level through a table counts %d bytes, without one %d", through, without)
	}
	stops(t, start(t, newEngine(t, plain), m.bytes()), TrapTable)
	deep := start(t, newEngine(t, plain), m.bytes())
	if _, err := deep.Export("run").Call(1<<40, 2); err == nil || deep.Dead().Kind != TrapDepth {
		t.Errorf("endless recursion ends with %v", err)
	}
}
