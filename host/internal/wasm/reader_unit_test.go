package wasm

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestLimitsOfSections has of each thing in a file as much as its limit, and one more.
func TestLimitsOfSections(t *testing.T) {
	customs := repeat(3, sectionCustom, 2, 1, byte('x'))
	for _, test := range []struct {
		name  string
		limit func(*Limits) *int
		found int
		b     build
		want  string
	}{
		{"types", func(l *Limits) *int { return &l.Types }, 3, kept(false), "types"},
		{"arity", func(l *Limits) *int { return &l.Arity }, 2, build{types: []signature{{i32 + i32, ""}}}, "values in a function type"},
		{"arity of results", func(l *Limits) *int { return &l.Arity }, 2, build{types: []signature{{"", i32 + i32}}}, "values in a function type"},
		{"imports", func(l *Limits) *int { return &l.Names }, 4, build{types: []signature{{}}, imports: slices.Repeat([]imported{{"a", "b", externFunction, 0}}, 4)}, "imports"},
		{"exports", func(l *Limits) *int { return &l.Names }, 3, kept(false), "exports"},
		{"functions", func(l *Limits) *int { return &l.Functions }, 2, kept(false), "functions"},
		{"tables", func(l *Limits) *int { return &l.Tables }, 2, build{tables: make([]bounds, 2)}, "tables"},
		{"globals", func(l *Limits) *int { return &l.Globals }, 2, kept(false), "globals"},
		{"a body", func(l *Limits) *int { return &l.Body }, 6, kept(false), "body of function 1"},
		{"locals", func(l *Limits) *int { return &l.Locals }, 4, kept(false), "locals of function 1"},
		{"locals in all", func(l *Limits) *int { return &l.AllLocals }, 8, func() build {
			b := kept(false)
			b.funcs = append(b.funcs, b.funcs[0])
			return b
		}(), "locals of all functions"},
		{"segments", func(l *Limits) *int { return &l.Segments }, 3, build{memory: &bounds{}, data: []string{"x", "y", "z"}}, "data segments"},
		{"element segments", func(l *Limits) *int { return &l.Segments }, 2, build{raw: map[byte][]byte{sectionElement: seq(2, repeat(2, 1, 0, 0))}}, "element segments"},
		{"entries", func(l *Limits) *int { return &l.Entries }, 4, func() build {
			b := kept(false)
			b.raw = map[byte][]byte{sectionElement: seq(2, repeat(2, 1, 0, 2, 0, 1))}
			return b
		}(), "entries of element segments"},
	} {
		for less := range 2 {
			limits := defaultLimits
			*test.limit(&limits) = test.found - less
			_, err := read(test.b.bytes(), limits)
			var over *excess
			if less == 0 && err != nil {
				t.Errorf("%s, at the limit: %v", test.name, err)
			}
			if less == 1 && (!errors.As(err, &over) || over.Item != test.want || over.Found != fmt.Sprint(test.found)) {
				t.Errorf("%s, past the limit: %v", test.name, err)
			}
		}
	}
	limits := defaultLimits
	file := append(kept(false).bytes(), customs...)
	for less, want := range []bool{true, false} {
		limits.Size = len(file) - less
		if _, err := read(file, limits); (err == nil) != want {
			t.Errorf("%d bytes, of which there may be %d: %v", len(file), limits.Size, err)
		}
		limits = defaultLimits
		limits.Customs = 3 - less
		if _, err := read(file, limits); (err == nil) != want {
			t.Errorf("3 custom sections, of which there may be %d: %v", limits.Customs, err)
		}
		limits = defaultLimits
		limits.Table = 8 - uint32(less)
		if _, err := read(kept(false).bytes(), limits); (err == nil) != want {
			t.Errorf("8 entries of tables, of which there may be %d: %v", limits.Table, err)
		}
	}
	// Segments of data come off what those of elements leave.
	limits = defaultLimits
	b := build{memory: &bounds{}, data: []string{"x", "y"}, raw: map[byte][]byte{sectionElement: seq(1, 1, 0, 0)}}
	for most, want := range map[int]bool{3: true, 2: false} {
		limits.Segments = most
		if m, err := read(b.bytes(), limits); (err == nil) != want || want && m.elements != 1 {
			t.Errorf("3 segments, of which there may be %d: %v", most, err)
		}
	}
}

// TestSectionsAreReadOnce: sections have an order, custom ones stand anywhere.
func TestSectionsAreReadOnce(t *testing.T) {
	header := build{}.bytes()
	section := func(id byte) []byte { return []byte{id, 1, 0} }
	custom := []byte{sectionCustom, 1, 0}
	for _, test := range []struct {
		file []byte
		want string
	}{
		{seq(custom, section(sectionType), custom, section(sectionImport), custom), ""},
		{seq(section(sectionElement), section(sectionDataCount), section(sectionCode), section(sectionData)), ""},
		{seq(section(sectionType), section(sectionType)), "repeated or out of order"},
		{seq(section(sectionImport), section(sectionType)), "repeated or out of order"},
		{seq(section(sectionCode), section(sectionDataCount)), "repeated or out of order"},
		{seq(section(sectionDataCount), section(sectionElement)), "repeated or out of order"},
		{section(13), "section 13 is unknown"}, {section(255), "section 255 is unknown"},
		{seq(sectionType, 3, 0, 0, 0), "2 bytes are left over"},
	} {
		if _, err := read(append(bytes.Clone(header), test.file...), defaultLimits); test.want == "" && err != nil ||
			test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%x: %v, want %q", test.file, err, test.want)
		}
	}
}

// TestTheFirstErrorStays: what is read after an error yields zero, and says nothing else.
func TestTheFirstErrorStays(t *testing.T) {
	c := &cursor{b: []byte{9, 1, 2}}
	new(image).index(c, "type", 3)
	first := c.err
	new(image).index(c, "function", 0)
	c.fail("again")
	c.atMost("again", 1, 0, "")
	if c.u8() != 0 || c.u32() != 0 || c.take(1) != nil || c.signed(64) != 0 || c.more() || c.count() != 0 || c.err != first || c.at != 1 {
		t.Errorf("at byte %d: %v", c.at, c.err)
	}
	c = &cursor{b: []byte{1}}
	if c.u8(); c.u8() != 0 || c.err == nil {
		t.Errorf("past the end: %v", c.err)
	}
}

func TestUnsignedNumbers(t *testing.T) {
	for _, test := range []struct {
		b    []byte
		want uint32
		size int // 0: refused
	}{
		{[]byte{0x7f}, 127, 1}, {[]byte{0x80, 0x01}, 128, 2}, {[]byte{0xff, 0xff, 0xff, 0xff, 0x0f}, 1<<32 - 1, 5},
		{[]byte{0x80, 0x80, 0x80, 0x80, 0x00}, 0, 5}, {[]byte{0x80, 0x80, 0x80, 0x80, 0x10}, 0, 0}, {[]byte{0x80, 0x80, 0x80, 0x80, 0x8f, 0x00}, 0, 0},
		{[]byte{0x80}, 0, 0}, {nil, 0, 0},
	} {
		c := &cursor{b: test.b}
		if got := c.u32(); got != test.want || (c.err == nil) != (test.size > 0) || c.err == nil && c.at != test.size {
			t.Errorf("%x is %d, %v", test.b, got, c.err)
		}
	}
	for v, size := range map[uint32]int{0: 1, 127: 1, 128: 2, 16383: 2, 16384: 3, 1<<32 - 1: 5} {
		if b := appendU32(nil, v); len(b) != size {
			t.Errorf("%d is written as %x", v, b)
		}
	}
	for n, want := range map[byte]bool{2: true, 3: false} { // counted from where the reading is
		c := &cursor{b: []byte{0, n, 1, 2}, at: 1}
		if got := c.count(); (c.err == nil) != want || want && got != int(n) || !want && !strings.Contains(c.err.Error(), "2 bytes are left") {
			t.Errorf("%d of 2 entries: %d, %v", n, got, c.err)
		}
	}
}

// Ten groups of a number of 64 bits, and six of one of 33, are one too many or the last.
func TestLongNumbers(t *testing.T) {
	for _, test := range []struct {
		width, groups int
		last          byte
		want          bool
	}{
		{64, 10, 0x00, true}, {64, 10, 0x7f, true}, {64, 10, 0x01, false}, {64, 11, 0x00, false}, {64, 9, 0x3f, true},
		{33, 5, 0x00, true}, {33, 6, 0x00, false}, {32, 6, 0x00, false}, {7, 1, 0x3f, true}, {7, 2, 0x00, false}, {14, 2, 0x40, true},
	} {
		c := &cursor{b: append(bytes.Repeat([]byte{0x80}, test.groups-1), test.last)}
		if c.signed(test.width); (c.err == nil) != test.want {
			t.Errorf("%d groups of %d bits: %v", test.groups, test.width, c.err)
		}
	}
	for width, want := range map[int]int64{7: -64, 14: -64 << 7, 64: -64 << 7} {
		c := &cursor{b: append(bytes.Repeat([]byte{0x80}, min(width/7, 2)-1), 0x40)}
		if got := c.signed(width); got != want || c.err != nil {
			t.Errorf("of %d bits: %d, %v", width, got, c.err)
		}
	}
}

// TestEntriesOfTables: what a segment does not say of the table makes it unknown.
func TestEntriesOfTables(t *testing.T) {
	for _, test := range []struct {
		name    string
		min     uint32
		entry   uint32
		entries []uint32
	}{
		{"the last entry", 3, 2, []uint32{0, 0, 8}}, {"past the last", 3, 3, nil},
		{"the largest table", dispatchEntries, 0, append([]uint32{8}, make([]uint32, dispatchEntries-1)...)},
		{"a table too large", dispatchEntries + 1, 0, nil},
	} {
		m := &image{tables: []bounds{{min: test.min}}}
		if m.enlist(test.entry, 7); !slices.Equal(m.entries, test.entries) || m.tableUnknown != (test.entries == nil) {
			t.Errorf("%s: %d entries, unknown: %v", test.name, len(m.entries), m.tableUnknown)
		}
	}
	m := new(image)
	if m.enlist(0, 7); !m.tableUnknown {
		t.Error("an entry of no table is known")
	}
	for _, at := range [][]byte{seq(i32c(0)), seq(opGlobalGet, 0)} {
		m = bodied()
		m.tables, m.limits = []bounds{{min: 3}}, defaultLimits
		c := &cursor{b: seq(0, at, opEnd, 1, 0)}
		if m.element(c); c.err != nil || m.tableUnknown != (at[0] == opGlobalGet) {
			t.Errorf("a segment at %x: unknown: %v, %v", at, m.tableUnknown, c.err)
		}
	}
}

// TestReferredFunctions: what code refers to has to be mentioned outside of it, and counts
// against the globals once.
func TestReferredFunctions(t *testing.T) {
	m := bodied()
	refer := func(f byte) error {
		c := &cursor{b: []byte{f}}
		m.refer(c)
		return c.err
	}
	m.limits.Globals = 3
	if err := errors.Join(refer(1), refer(1)); err != nil || !slices.Equal(m.referred, []uint32{1}) {
		t.Errorf("twice: %v, %v", m.referred, err)
	}
	if err := refer(0); err == nil || !strings.Contains(err.Error(), "function 0 is referred to, and mentioned nowhere") {
		t.Errorf("a function that is not mentioned: %v", err)
	}
	if err := refer(2); err == nil {
		t.Error("a function that is not there")
	}
	m.mentioned[0] = namedOutside
	var over *excess
	if err := refer(0); !errors.As(err, &over) || over.Found != "4" {
		t.Errorf("one more than there may be: %v", err)
	}
	m = bodied()
	m.mentioned = nil
	if err := refer(1); err == nil {
		t.Error("a function that is not mentioned, where none is")
	}
}

// TestBodiesAreSplit: locals are counted over all groups, and one vector makes a body wide.
func TestBodiesAreSplit(t *testing.T) {
	m := &image{limits: defaultLimits}
	m.inherited[externFunction] = 3
	code := seq(2, 2, typeV128, 3, typeI32, opNop, opEnd)
	c := &cursor{b: append([]byte{byte(len(code))}, code...)}
	m.body(c)
	if c.err != nil || len(m.bodies) != 1 || m.declared != 5 {
		t.Fatalf("%+v, %v", m, c.err)
	}
	b := m.bodies[0]
	if b.groups != 2 || b.count != 5 || !b.wide || !bytes.Equal(b.locals, code[1:5]) || !bytes.Equal(b.code, code[5:]) {
		t.Errorf("%+v", b)
	}
	for _, malformed := range [][]byte{seq(1, 5, 0x60, opEnd), seq(9, opEnd)} {
		c := &cursor{b: append([]byte{byte(len(malformed))}, malformed...)}
		if m.body(c); c.err == nil || !strings.Contains(c.err.Error(), "locals of function 4") {
			t.Errorf("%x: %v", malformed, c.err)
		}
	}
	c = &cursor{b: seq(3, 1, 5, typeI32)}
	if m.body(c); c.err != nil || m.bodies[1].wide {
		t.Errorf("%+v, %v", m.bodies[1], c.err)
	}
}

// Small entries, each by itself.
func TestSmallEntries(t *testing.T) {
	for _, test := range []struct {
		b    []byte
		read func(m *image, c *cursor)
		want bool
	}{
		{[]byte{typeFunc}, func(_ *image, c *cursor) { referenceType(c) }, true},
		{[]byte{typeExtern}, func(_ *image, c *cursor) { referenceType(c) }, true},
		{[]byte{typeI32}, func(_ *image, c *cursor) { referenceType(c) }, false},
		{seq(opVectorPrefix, opV128Const, make([]byte, 16), opEnd), func(m *image, c *cursor) { m.constant(c) }, true},
		{seq(opVectorPrefix, 0x0d, make([]byte, 16), opEnd), func(m *image, c *cursor) { m.constant(c) }, false},
		{seq(opRefNull, typeFunc, opEnd), func(m *image, c *cursor) { m.constant(c) }, true},
		{seq(i32c(0), opNop), func(m *image, c *cursor) { m.constant(c) }, false},
		{seq(7, typeFunc, 0), func(m *image, c *cursor) { m.element(c) }, true},
		{seq(8, typeFunc, 0), func(m *image, c *cursor) { m.element(c) }, false},
		{seq(1, 1, 0), func(m *image, c *cursor) { m.element(c) }, false},
		{seq(typeI32, 2), func(m *image, c *cursor) { m.global(c) }, false},
		{seq(2, 0, 0), func(_ *image, c *cursor) { readBounds(c) }, false},
	} {
		m, c := bodied(), &cursor{b: test.b}
		if test.read(m, c); (c.err == nil) != test.want || test.want && c.more() {
			t.Errorf("%x: %v, up to byte %d", test.b, c.err, c.at)
		}
	}
	m := bodied()
	m.global(&cursor{b: []byte{typeI64, 1}})
	m.global(&cursor{b: []byte{typeI64, 0}})
	if m.mutable != 2 || len(m.globals) != 4 || !m.globals[2].mutable || m.globals[3].mutable {
		t.Errorf("%+v, %d of them mutable", m.globals, m.mutable)
	}
	for _, b := range [][]byte{{1, 2, 'a', 'b'}, {1, 0}} {
		c := &cursor{b: b}
		if m.data(c); c.err != nil || c.more() {
			t.Errorf("a data segment, up to byte %d: %v", c.at, c.err)
		}
	}
}

// HasExport looks for a function among all exports, behind all other sections.
func TestHasExportReadsExports(t *testing.T) {
	b := kept(false)
	for name, want := range map[string]bool{"run": true, "memory": false, "own": false, "ru": false, "": false} {
		if got := HasExport(b.bytes(), name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
	file := b.bytes()
	at := bytes.Index(file, []byte("run")) + len("run")
	if HasExport(file[:at], "run") || HasExport(nil, "run") || HasExport(file[:7], "run") || HasExport(file[:8], "run") {
		t.Error("found in a file that ends before it")
	}
	last := seq(build{}.bytes(), sectionExport, 5, 1, 1, byte('x'), externFunction, 0x80) // an index that ends too early
	if HasExport(last, "x") {
		t.Error("found in an entry that ends too early")
	}
	first := seq(build{}.bytes(), sectionExport, 6, 2, 1, byte('x'), externFunction, 0, 9)
	if !HasExport(first, "x") || HasExport(first, "y") {
		t.Error("only what stands before the damage is found")
	}
	counted := seq(build{}.bytes(), sectionExport, 9, 1, 1, byte('x'), externFunction, 0, 1, byte('y'), externFunction, 0)
	if !HasExport(counted, "x") || HasExport(counted, "y") {
		t.Error("found behind as many as are announced")
	}
	again := seq(build{}.bytes(), sectionExport, 1, 0, sectionExport, 5, 1, 1, byte('x'), externFunction, 0)
	if HasExport(again, "x") {
		t.Error("found in a second section, which no reader takes")
	}
	hidden := seq(build{}.bytes(), sectionType, 5, 1, 1, byte('x'), externFunction, 0)
	if HasExport(hidden, "x") {
		t.Error("found in another section")
	}
}

// What a message takes from a module is escaped and short.
func TestNamesInMessages(t *testing.T) {
	long := strings.Repeat("n", 64)
	for name, want := range map[string]string{"a\n": `"a\n"`, long: `"` + long + `"`, long + "n": `"` + long + `\u2026"`} {
		if got := quote(name); got != want {
			t.Errorf("%q is written %s", name, got)
		}
	}
	r := &Refusal{Name: "guest", Findings: []Finding{{"a", "b", "c"}}}
	if s := r.Error(); strings.Contains(s, "more") {
		t.Errorf("says %q", s)
	}
	r.Omitted = 1
	if s := r.Error(); !strings.HasSuffix(s, "\n  and 1 more") {
		t.Errorf("says %q", s)
	}
}
