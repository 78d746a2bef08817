package wasm

// dispatcher is a function that replaces the table in indirect calls of one type: it
// takes the arguments and, last, the index of the entry, and calls the function there
// by br_table.
//
// A table that the module does not write to is the same in all instances. Yet wazero makes
// one for each instance, out of references that it allocates one by one. An instance of a Go
// guest takes 95 KB for it: the table has 4,096 empty entries, and then most of the
// functions. As code, the table exists once.
type dispatcher struct {
	typ     uint32    // of the dispatcher: the type of the call and an i32
	target  uint32    // the type of the call
	sig     signature // of the call
	entries []uint32  // function plus 1 by entry, 0 where the call traps
}

// Limits of dispatchers. A module that exceeds one keeps its table. The time to compile a
// dispatcher grows a little faster than the number of its functions: 40 ms for 1,400, as in a Go
// guest, 400 ms for 8,000.
const (
	dispatchLabels = 40_000 // of all dispatchers
	dispatchBodies = 2      // a dispatcher takes at most the effort of this many functions
	dispatchTarget = 250    // the effort of a function in a dispatcher
	dispatchShare  = 64     // the square of the number of functions, divided by this, is effort too
)

// effort returns the effort of compiling the dispatcher. Its blocks do not follow each other, so it
// takes less than another function with as many blocks.
func (b *dispatcher) effort(mutable int) int {
	_, targets, labels := b.labels()
	values := len(b.sig.params) + len(b.sig.results)
	each := dispatchTarget + valueEffort*values + reloadEffort*mutable + len(targets)/dispatchShare
	return functionEffort + each*len(targets) + labelEffort*len(labels)
}

// body appends the code: a br_table with a block for each function. After the last block comes an
// indirect call into an empty table, which traps as an empty entry or another type would have done.
func (b *dispatcher) body(out []byte) []byte {
	first, targets, labels := b.labels()
	code := []byte{0}
	for range len(targets) + 1 {
		code = append(code, opBlock, blockEmpty)
	}
	entry := uint32(len(b.sig.params))
	code = appendU32(append(code, opLocalGet), entry)
	code = append(appendS64(append(code, opI32Const), int64(first)), opI32Sub, opBrTable)
	code = appendU32(code, uint32(len(labels)))
	for _, l := range append(labels, uint32(len(targets))) {
		code = appendU32(code, l)
	}
	for _, f := range targets {
		code = b.arguments(append(code, opEnd))
		code = append(appendU32(append(code, opCall), f), opReturn)
	}
	code = b.arguments(append(code, opEnd))
	code = append(code, opI32Const, 0, opCallIndirect)
	code = append(appendU32(code, b.target), 0, opEnd)
	return append(appendU32(out, uint32(len(code))), code...)
}

func (b *dispatcher) arguments(code []byte) []byte {
	for i := range len(b.sig.params) {
		code = appendU32(append(code, opLocalGet), uint32(i))
	}
	return code
}

// labels gives each function a block, the innermost first, and each entry from
// first on the block of its function. The outermost block is for entries that trap.
func (b *dispatcher) labels() (first int, targets, labels []uint32) {
	for first < len(b.entries) && b.entries[first] == 0 {
		first++
	}
	last := len(b.entries)
	for last > first && b.entries[last-1] == 0 {
		last--
	}
	block := map[uint32]uint32{}
	for _, f := range b.entries[first:last] {
		if _, known := block[f]; f > 0 && !known {
			block[f] = uint32(len(targets))
			targets = append(targets, f-1)
		}
	}
	for _, f := range b.entries[first:last] {
		l, known := block[f]
		if !known {
			l = uint32(len(targets))
		}
		labels = append(labels, l)
	}
	return first, targets, labels
}
