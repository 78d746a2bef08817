package wasm

import (
	"fmt"
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
	counted        uint32   // data segments announced to the code
	bodies         []body
	declared       int    // locals of all bodies
	inherited      [4]int // imported functions, tables, memories, globals
	findings       findings
	kept           bool // the cache had the metered form

	// referred are the functions that bodies refer to, each once, in the order of the scan. A body
	// may refer only to functions that are mentioned outside of the code.
	referred  []uint32
	mentioned []mention // by function

	effort int      // what compiling the bodies read so far takes
	code   codeUses // what bodies read so far use

	// loopCost is the extra price of each iteration of a loop, in fuel, under a runtime
	// that checks in each iteration whether the time is over.
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

// sectionsInOrder are the sections that a module has once at most, in their order.
var sectionsInOrder = []byte{sectionType, sectionImport, sectionFunction, sectionTable, sectionMemory,
	sectionGlobal, sectionExport, sectionStart, sectionElement, sectionDataCount, sectionCode, sectionData}

// sectionNames says what a section holds, by id.
var sectionNames = [...]string{"custom sections", "types", "imports", "functions", "tables", "memories",
	"globals", "exports", "start", "element segments", "function bodies", "data segments", "data count"}

const (
	externFunction = iota
	externTable
	externMemory
	externGlobal
)

// size returns how many bytes the sections take, and a little more.
func (m *image) size() (n int) {
	for _, content := range m.content {
		n += len(content) + 8
	}
	return n
}

// signature holds the value types of a function as the binary spells them.
type signature struct{ params, results string }

func (s signature) String() string {
	return fmt.Sprintf("(%s) -> (%s)", typeNames(s.params), typeNames(s.results))
}

func typeNames(types string) string {
	names := make([]string, len(types))
	for i := range types {
		names[i] = valueTypes[types[i]]
	}
	return strings.Join(names, ", ")
}

// valueTypes are the names of all types that a value may have.
var valueTypes = [256]string{typeI32: "i32", typeI64: "i64", typeF32: "f32", typeF64: "f64", typeV128: "v128", typeFunc: "funcref", typeExtern: "externref"}

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
}

// codeUses notes what the bodies of a module use that other sections depend on.
type codeUses struct {
	references bool     // to functions
	tables     bool     // reads or writes one
	indirect   []uint32 // types of indirect calls, each once
	several    []uint32 // types with more than one result, of bodies that get blocks around them
	seen       []listed // by type
}

// listed says which of the lists a type is in.
type listed uint8

const (
	inIndirect listed = 1 << iota
	inSeveral
)

// dispatchEntries is how many entries of a table are noted. A table with more keeps its entries,
// and gets no dispatcher.
const dispatchEntries = 10_000

// mention is where a function was named other than in calls.
type mention uint8

const (
	namedOutside mention = 1 << iota // by an export, an element segment or a global
	namedInCode                      // by ref.func, in a body
)
