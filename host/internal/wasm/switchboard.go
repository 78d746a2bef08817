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
)

// switchboards plans one for each type of indirect call, if the table is known
// and nobody can change it.
func (w *rewriting) switchboards() {
	m := w.m
	if m.intricate || len(m.tables) != 1 || m.inherited[externTable] > 0 || len(m.entries) == 0 || len(m.entries) > boardEntries {
		return
	}
	var used []uint32
	seen := map[uint32]bool{}
	for _, s := range w.plans {
		if s.tables || s.reference {
			return
		}
		for _, e := range s.edits {
			if t := uint32(e.arg); e.kind == editIndirect && !seen[t] {
				seen[t] = true
				used = append(used, t)
			}
		}
	}
	if len(used) == 0 || len(used)*len(m.entries) > boardLabels {
		return
	}
	w.emit.boards = map[uint32]uint32{}
	for _, t := range used {
		w.emit.boards[t] = uint32(len(m.functions) + len(w.order) + len(w.boards))
		w.boards = append(w.boards, w.switchboard(t))
	}
}

func (w *rewriting) switchboard(t uint32) switchboard {
	sig := w.m.types[t]
	b := switchboard{calls: t, sig: sig, typ: uint32(len(w.m.types) + len(w.types))}
	form := appendName([]byte{0x60}, sig.params+string(rune(typeI32)))
	w.types = append(w.types, appendName(form, sig.results))
	b.entries = make([]uint32, len(w.m.entries))
	for i, f := range w.m.entries {
		if f > 0 && w.m.types[w.m.functions[f-1]] == sig {
			b.entries[i] = f
		}
	}
	return b
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
