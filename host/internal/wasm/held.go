package wasm

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

// Held is the most that the host holds for an instance beside its memory, for any
// module within the default limits.
func Held() int {
	l := defaultLimits
	tables := 2 * int(l.Table) // what they begin with, and a share for each to grow into
	return heldStack + tables*heldEntry + l.Entries*heldReference + l.Globals*heldGlobal + l.Segments*heldSegment + heldBase
}
