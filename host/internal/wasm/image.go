package wasm

import (
	"fmt"
	"slices"
	"strings"
)

// image is a module as it is read from its sections. It has views into the binary, and
// copies nothing. Function bodies are split into locals and code, and not yet read.
//
// Malformed input ends the reading with an error, because nothing after it can be
// trusted. So does the first count or size over its limit, with an *excess: the effort
// of reading is bounded by the limits, and not by the file.
type image struct {
	limits         Limits
	content        [sectionDataCount + 1][]byte // of the sections that are there, by id; nil for others
	customs        int                          // custom sections
	types          []signature
	imports        []imported
	functions      []uint32 // type of each function, imported ones first
	tables         []bounds
	tableMin       uint64 // entries that the tables begin with
	memories       []bounds
	globals        []globalType
	mutable        int // of the globals
	exports        []exported
	starts         bool
	elements       int
	elementEntries int      // entries of all element segments
	entries        []uint32 // functions of table 0 by entry, plus 1, as the element segments say
	tableUnknown   bool     // entries is not complete, or the table can be changed
	datas          int      // data segments
	counted        uint32   // data segments announced to the code
	bodies         []body
	declared       int    // locals of all bodies
	inherited      [4]int // imported functions, tables, memories, globals
	findings       findings

	// referred are the functions that bodies refer to, each once, in the order of the
	// scan. Only what is mentioned outside of the code can be referred to.
	referred  []uint32
	mentioned []mention // by function

	effort int      // what compiling the bodies read so far takes
	code   codeUses // what bodies read so far use

	// loopCost is the extra price of each iteration of a loop, in fuel, under a runtime
	// that asks in every loop whether the time is over.
	loopCost int64
}

const (
	sectionCustom = iota
	sectionType
	sectionImport
	sectionFunction
	sectionTable
	sectionMemory
	sectionGlobal
	sectionExport
	sectionStart
	sectionElement
	sectionCode
	sectionData
	sectionDataCount
)

const (
	externFunction = iota
	externTable
	externMemory
	externGlobal
)

// signature holds the value types of a function as the binary spells them.
type signature struct{ params, results string }

func (s signature) String() string {
	return fmt.Sprintf("(%s) -> (%s)", typeNames(s.params), typeNames(s.results))
}

func typeNames(types string) string {
	names := make([]string, len(types))
	for i := range types {
		names[i] = typeName(types[i])
	}
	return strings.Join(names, ", ")
}

func typeName(t byte) string {
	switch t {
	case typeI32:
		return "i32"
	case typeI64:
		return "i64"
	case typeF32:
		return "f32"
	case typeF64:
		return "f64"
	case typeV128:
		return "v128"
	case typeFunc:
		return "funcref"
	default:
		return "externref"
	}
}

type imported struct {
	module, name string
	kind         byte
	typ          uint32 // of a function
}

type exported struct {
	name  string
	kind  byte
	index uint32
}

// globalType is the type of a global.
type globalType struct {
	value   byte
	mutable bool
}

// bounds are the limits of a table or a memory; max is meaningful when capped.
type bounds struct {
	min, max uint32
	capped   bool
	elem     byte // of a table
}

// body is one function body: its declared locals, then code up to its last end.
type body struct {
	locals []byte // the vector of local groups, as written
	groups int
	count  int // locals, without parameters
	wide   bool
	code   []byte
	at     int // offset of code in its section, for messages
}

// read splits a binary into an image.
func read(binary []byte, limits Limits) (*image, error) {
	m := &image{limits: limits}
	if len(binary) > limits.Size {
		return nil, fmt.Errorf("the file has %d bytes, at most %d are taken", len(binary), limits.Size)
	}
	c := &cursor{b: binary}
	if string(c.take(8)) != "\x00asm\x01\x00\x00\x00" {
		return nil, fmt.Errorf("not a WebAssembly module of version 1")
	}
	last := 0
	for c.more() && c.err == nil {
		id := c.u8()
		content := c.take(c.u32())
		if c.err == nil && id != sectionCustom {
			if sectionOrder(id) <= last {
				c.fail("section %d is unknown, repeated or out of order", id)
			}
			last = sectionOrder(id)
		}
		if c.err == nil {
			if err := m.section(id, content); err != nil {
				return nil, fmt.Errorf("section %d: %w", id, err)
			}
		}
	}
	if c.err != nil {
		return nil, c.err
	}
	return m, m.agree()
}

// sectionOrder is the place of a section in a module; 0 for an unknown section.
func sectionOrder(id byte) int {
	switch {
	case id == sectionDataCount:
		return 2*sectionElement + 1
	case id <= sectionData:
		return 2 * int(id)
	default:
		return 0
	}
}

func (m *image) section(id byte, content []byte) error {
	c := &cursor{b: content}
	if id != sectionCustom {
		m.content[id] = content
	}
	switch id {
	case sectionCustom:
		if m.customs++; m.customs > m.limits.Customs {
			c.exceed(sectionNames[id], uint64(m.customs), uint64(m.limits.Customs), "")
		}
		c.text()
		return c.err
	case sectionStart:
		m.function(c)
		m.starts = true
	case sectionDataCount:
		m.counted = c.u32()
	default:
		n := c.count()
		if most := m.countLimit(id); n > most {
			c.exceed(sectionNames[id], uint64(n), uint64(most), "")
		}
		if c.err == nil {
			m.makeRoom(id, n)
		}
		for i := 0; i < n && c.err == nil; i++ {
			m.entry(id, c)
		}
	}
	if c.err == nil && c.more() {
		c.fail("%d bytes are left over", len(c.b)-c.at)
	}
	return c.err
}

// makeRoom reserves place for the n entries of a section, of which there are no more
// than its limit.
func (m *image) makeRoom(id byte, n int) {
	switch id {
	case sectionType:
		m.types = make([]signature, 0, n)
	case sectionImport:
		m.imports = make([]imported, 0, n)
	case sectionFunction:
		m.functions = slices.Grow(m.functions, n)
	case sectionGlobal:
		m.globals = slices.Grow(m.globals, n)
	case sectionExport:
		m.exports = make([]exported, 0, n)
	case sectionCode:
		m.bodies = make([]body, 0, n)
	}
}

var sectionNames = [...]string{"custom sections", "types", "imports", "functions", "tables", "memories",
	"globals", "exports", "start", "element segments", "function bodies", "data segments", "data count"}

func (m *image) countLimit(id byte) int {
	switch id {
	case sectionType:
		return m.limits.Types
	case sectionImport, sectionExport:
		return m.limits.Names
	case sectionTable:
		return m.limits.Tables
	case sectionMemory:
		return 1
	case sectionGlobal:
		return m.limits.Globals
	case sectionElement, sectionData:
		return m.limits.Segments - m.elements
	default:
		return m.limits.Functions
	}
}

func (m *image) entry(id byte, c *cursor) {
	switch id {
	case sectionType:
		m.typeEntry(c)
	case sectionImport:
		m.importEntry(c)
	case sectionFunction:
		m.functions = append(m.functions, m.typeIndex(c))
	case sectionTable:
		m.tables = append(m.tables, m.tableType(c))
	case sectionMemory:
		m.memories = append(m.memories, readBounds(c))
	case sectionGlobal:
		m.global(c)
		m.constant(c)
	case sectionExport:
		m.exportEntry(c)
	case sectionElement:
		m.element(c)
		m.elements++
	case sectionCode:
		m.body(c)
	case sectionData:
		m.data(c)
	}
}

// agree checks that the sections agree with each other.
func (m *image) agree() error {
	if want := len(m.functions) - m.inherited[externFunction]; want != len(m.bodies) {
		return fmt.Errorf("%d functions are declared, %d have bodies", want, len(m.bodies))
	}
	if n := len(m.functions); n > m.limits.Functions {
		return newExcess("functions", uint64(n), uint64(m.limits.Functions), "")
	}
	return nil
}
