package wasm

// switchboard is a function that stands for the table in indirect calls of one
// type: it takes the arguments and, last, the entry, and calls what is there.
//
// A table is the same in all instances of a module that does not write to it, and
// yet wazero makes one for each, of references that it allocates one by one:
// 95 KB for each instance of a Go guest, which has the larger part of its
// functions there, behind 4,096 empty entries. As code it is there once.
type switchboard struct {
	typ     uint32    // of the switchboard, which is the type of the call and an i32
	calls   uint32    // the type of the call
	sig     signature // of the call
	entries []uint32  // function plus 1 by entry, 0 where the call traps
}

// A module with more than this keeps its table. What a switchboard takes to
// compile grows a little faster than the functions behind it: 1,400 of them, as
// in a Go guest, some 40 ms, 8,000 of them 400.
const (
	boardEntries = 10_000 // of the table
	boardLabels  = 40_000 // of all switchboards
	boardBodies  = 2      // one takes at most as much as so many functions may
	boardTarget  = 250    // effort of a function in it
	boardShare   = 64     // of the square of the functions in it
)

// switchboards plans one for each type of indirect call, if the table is known
// and nobody can change it.
func (w *rewriting) switchboards() {
	m := w.m
	if m.intricate || len(m.tables) != 1 || m.inherited[externTable] > 0 || len(m.entries) == 0 {
		return
	}
	used := m.code.indirect
	if m.code.tables || m.code.references {
		return
	}
	if len(used) == 0 || len(used)*len(m.entries) > boardLabels {
		return
	}
	boards, effort := make([]switchboard, len(used)), m.effort
	for i, t := range used {
		boards[i] = m.switchboard(t)
		one := boards[i].effort(m.mutable + gauges)
		if effort += one; one > boardBodies*m.limits.BodyEffort || effort > m.limits.Effort {
			return
		}
	}
	w.boards, w.emit.boards = boards, map[uint32]uint32{}
	for i := range boards {
		b := &boards[i]
		w.emit.boards[b.calls] = uint32(len(m.functions) + len(w.order) + i)
		b.typ = uint32(len(m.types) + len(w.types))
		form := appendName([]byte{typeFunction}, b.sig.params+string(rune(typeI32)))
		w.types = append(w.types, appendName(form, b.sig.results))
	}
}

func (m *image) switchboard(t uint32) switchboard {
	b := switchboard{calls: t, sig: m.types[t], entries: make([]uint32, len(m.entries))}
	for i, f := range m.entries {
		if f > 0 && m.types[m.functions[f-1]] == b.sig {
			b.entries[i] = f
		}
	}
	return b
}

// effort is what compiling the switchboard takes. Its blocks are not in a row, which
// is why it grows slower than that of other functions with as many.
func (b *switchboard) effort(mutable int) int {
	_, targets, labels := b.labels()
	values := len(b.sig.params) + len(b.sig.results)
	each := boardTarget + valueEffort*values + reloadEffort*mutable + len(targets)/boardShare
	return functionEffort + each*len(targets) + labelEffort*len(labels)
}

// body appends the code: a branch by entry to as many blocks as there are
// functions, and behind the last of them an indirect call into a table in which
// there is nothing, for the trap that the call would have been.
func (b *switchboard) body(out []byte) []byte {
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
	code = append(appendU32(code, b.calls), 0, opEnd)
	return append(appendU32(out, uint32(len(code))), code...)
}

func (b *switchboard) arguments(code []byte) []byte {
	for i := range len(b.sig.params) {
		code = appendU32(append(code, opLocalGet), uint32(i))
	}
	return code
}

// labels gives each function a block, the innermost first, and each entry from
// first on the block of its function. The one around all is for none.
func (b *switchboard) labels() (first int, targets, labels []uint32) {
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
