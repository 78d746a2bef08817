package wasm

import "reflect"

// Limits bound what Load accepts, before anything is compiled: the compilation of a
// function cannot be cancelled, and some shapes make it quadratic. The first limit that
// is exceeded ends the reading. A zero field takes its default. The largest plugins that
// come with Wharf, in Go, use at most half of each limit (of Nesting, 700); those in C
// use less than a hundredth.
type Limits struct {
	Size        int    // bytes of the file
	Customs     int    // custom sections
	Functions   int    // functions, imported ones included
	Body        int    // bytes of one function body
	Locals      int    // locals of one function
	AllLocals   int    // locals of all functions together
	Nesting     int    // depth of blocks in one function
	Blocks      int    // blocks of one function
	Branches    int    // branches of one function: br, br_if, br_table, if, else and return
	Targets     int    // labels of one br_table
	BodyEffort  int    // what compiling one function takes, in the units of effort
	Effort      int    // what compiling all of them takes
	Table       uint32 // entries that tables begin with, and may grow to, together
	Tables      int    // tables
	Entries     int    // entries of all element segments together
	MemoryPages uint32 // pages of 64 KiB an instance may start with
	Segments    int    // data and element segments together
	Globals     int    // globals, and functions that code refers to, together
	Names       int    // imports and exports, each
	Types       int    // function types
	Arity       int    // parameters, and results, of one type
}

var defaultLimits = Limits{
	Size:        8 << 20,
	Customs:     1_000,
	Functions:   20_000,
	Body:        512 << 10,
	Locals:      2_000,
	AllLocals:   1 << 20,
	Nesting:     1_000,
	Blocks:      4_000,
	Branches:    4_000,
	Targets:     10_000,
	BodyEffort:  1_500_000,
	Effort:      80_000_000,
	Table:       64 << 10,
	Tables:      8,
	Entries:     64 << 10,
	MemoryPages: 256,
	Segments:    100_000,
	Globals:     2_000,
	Names:       1_000,
	Types:       10_000,
	Arity:       100,
}

// withDefaults returns l with its zero fields set to their defaults.
func (l Limits) withDefaults() Limits {
	fields, defaults := reflect.ValueOf(&l).Elem(), reflect.ValueOf(defaultLimits)
	for i := range fields.NumField() {
		if fields.Field(i).IsZero() {
			fields.Field(i).Set(defaults.Field(i))
		}
	}
	return l
}

// What the host holds for one instance beside its memory, in bytes, as wazero was
// seen to take it.
const (
	heldStack     = 10 << 10 << 9 // native: doubled from 10 KiB on as far as StackBudget lets a call come
	heldEntry     = 10            // of a table: a word, and what is left free when it grows
	heldReference = 42            // of an element segment: an object, and a word or two that lead to it
	heldGlobal    = 122           // one that refers to a function has an object beside it
	heldSegment   = 24
	heldBase      = 256 << 10 // everything else
)

// MaxHeld is the most that the host holds for an instance beside its memory, for any
// module within the default limits.
func MaxHeld() int {
	l := defaultLimits
	tables := 2 * int(l.Table) // their first size, and a share for each to grow into
	return heldStack + tables*heldEntry + l.Entries*heldReference + l.Globals*heldGlobal + l.Segments*heldSegment + heldBase
}
