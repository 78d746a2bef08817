package wasm

import (
	"errors"
	"slices"
)

// meterVersion names the metered form; it is part of the key of the cache. Any
// change to what the meter or the validation accepts or writes must change it.
const meterVersion = "8"

// reservedPrefix is the prefix of the names that the meter exports; a module that uses
// it is refused.
const reservedPrefix = "__wharf_"

// The names of the globals that the meter exports. From them the host reads why a call stopped, and
// there it sets how much the next call may spend.
const (
	fuelGlobal   = reservedPrefix + "fuel"
	budgetGlobal = reservedPrefix + "budget"
	depthGlobal  = reservedPrefix + "depth"
)

// add notes what one body uses.
func (u *codeUses) add(m *image, s *scan) {
	u.references = u.references || s.reference
	u.tables = u.tables || s.tables
	if typ := m.functions[s.fn]; len(m.types[typ].results) > 1 && s.wrapped() {
		u.list(&u.several, typ, inSeveral)
	}
	for _, e := range s.edits {
		if e.kind == editIndirect {
			u.list(&u.indirect, e.arg, inIndirect)
		}
	}
}

func (u *codeUses) list(types *[]uint32, typ uint32, as listed) {
	if u.seen[typ]&as == 0 {
		u.seen[typ] |= as
		*types = append(*types, typ)
	}
}

// scanAll reads every body. A malformed body is a finding, and the next body is still
// read; a limit that is exceeded is the last finding.
func (m *image) scanAll() {
	m.code = codeUses{seen: make([]listed, len(m.types))}
	for s, err := range m.scans() {
		var over *excess
		switch {
		case errors.As(err, &over):
			m.findings.add(over.Item, over.Want, over.Found)
			return
		case err != nil:
			m.findings.add("code", "", err.Error())
		default:
			m.code.add(m, s)
		}
	}
}

// rewriting makes one metered module. It has the indices that several sections share.
type rewriting struct {
	m        *image
	emit     emit
	budget   int64             // of a call, if the host sets none
	types    [][]byte          // appended types, encoded
	shims    map[uint32]uint32 // from an exported function to the shim that replaces it
	order    []uint32          // exported functions in the order of their shims
	dispatch []dispatcher      // in the order of their functions, behind the shims
}

// meter writes the metered form of an image whose bodies have all been read, and
// that has no findings.
func (m *image) meter(budget int64) []byte {
	w := &rewriting{m: m, budget: budget, shims: map[uint32]uint32{}}
	g := uint32(len(m.globals))
	w.emit = emit{fuel: g, budget: g + 1, depth: g + 2, references: make(map[uint32]uint32, len(m.referred)), blockTypes: map[uint32]uint32{}}
	for n, f := range m.referred {
		w.emit.references[f] = g + meterGlobals + uint32(n)
	}
	w.plan()
	w.dispatchers()
	out := make([]byte, 0, m.size()*5/4)
	out = append(out, "\x00asm\x01\x00\x00\x00"...)
	for _, id := range sectionsInOrder { // without custom sections: names and debug data, of no use to a module that only runs
		if id == sectionCode {
			out = w.code(out)
		} else if c := w.rewrite(id, m.content[id]); len(c) > 0 {
			out = w.section(out, id, c)
		}
	}
	return out
}

// plan assigns the indices of types and shims.
func (w *rewriting) plan() {
	for _, typ := range w.m.code.several {
		results := w.m.types[typ].results
		w.emit.blockTypes[typ] = uint32(len(w.m.types) + len(w.types))
		t := appendU32([]byte{typeFunction, 0}, uint32(len(results)))
		w.types = append(w.types, append(t, results...))
	}
	for _, e := range w.m.exports {
		if _, done := w.shims[e.index]; e.kind == externFunction && !done {
			w.shims[e.index] = uint32(len(w.m.functions) + len(w.order))
			w.order = append(w.order, e.index)
		}
	}
}

// dispatchers plans one dispatcher for each type of indirect call, if the entries of the table are
// known and neither the module nor the host can change them.
func (w *rewriting) dispatchers() {
	m, used := w.m, w.m.code.indirect
	if m.tableUnknown || len(m.tables) != 1 || m.inherited[externTable] > 0 || len(m.entries) == 0 ||
		m.code.tables || m.code.references || len(used) == 0 || len(used)*len(m.entries) > dispatchLabels {
		return
	}
	planned, effort := make([]dispatcher, len(used)), m.effort
	for i, t := range used {
		b := dispatcher{target: t, sig: m.types[t], entries: make([]uint32, len(m.entries))}
		for entry, f := range m.entries {
			if f > 0 && m.types[m.functions[f-1]] == b.sig {
				b.entries[entry] = f
			}
		}
		planned[i] = b
		one := b.effort(m.mutable + meterGlobals)
		if effort += one; one > dispatchBodies*m.limits.BodyEffort || effort > m.limits.Effort {
			return
		}
	}
	w.dispatch, w.emit.dispatch = planned, map[uint32]uint32{}
	for i := range planned {
		b := &planned[i]
		w.emit.dispatch[b.target] = uint32(len(m.functions) + len(w.order) + i)
		b.typ = uint32(len(m.types) + len(w.types))
		form := appendName([]byte{typeFunction}, b.sig.params+string(rune(typeI32)))
		w.types = append(w.types, appendName(form, b.sig.results))
	}
}

// section appends a section, unless it is empty.
func (w *rewriting) section(out []byte, id byte, content []byte) []byte {
	if empty := len(content) == 1 && content[0] == 0; empty && id != sectionStart {
		return out
	}
	return append(appendU32(append(out, id), uint32(len(content))), content...)
}

// rewrite returns the metered content of a section other than code; original
// is nil when the module has none.
func (w *rewriting) rewrite(id byte, original []byte) []byte {
	switch id {
	case sectionType:
		return extend(original, w.types)
	case sectionFunction:
		var own [][]byte
		for _, f := range w.order {
			own = append(own, appendU32(nil, w.m.functions[f]))
		}
		for _, b := range w.dispatch {
			own = append(own, appendU32(nil, b.typ))
		}
		return extend(original, own)
	case sectionTable:
		return w.tableSection(original)
	case sectionGlobal:
		return extend(original, w.ownGlobals())
	case sectionExport:
		return w.exportSection()
	case sectionElement:
		if w.dispatch != nil {
			return nil
		}
	}
	return original
}

// extend returns a vector with entries appended. original is the vector as its section holds it.
func extend(original []byte, entries [][]byte) []byte {
	c, n := cursor{b: original}, uint32(0)
	if original != nil {
		n = c.u32()
	}
	out := appendU32(make([]byte, 0, len(original)+16), n+uint32(len(entries)))
	return append(append(out, original[c.at:]...), slices.Concat(entries...)...)
}

// tableSection gives every table a maximum. No module can tell the difference, because a table may
// refuse to grow at any time.
func (w *rewriting) tableSection(original []byte) []byte {
	own := w.m.tables[w.m.inherited[externTable]:]
	if original == nil {
		return nil
	}
	out := appendU32(nil, uint32(len(own)))
	share := w.m.limits.Table / uint32(max(len(own), 1))
	for _, t := range own {
		most := max(t.min, share)
		if t.capped {
			most = min(most, t.max)
		}
		if w.dispatch != nil {
			t.min, most = 0, 0
		}
		out = append(out, t.elem, 1)
		out = appendU32(appendU32(out, t.min), most)
	}
	return out
}

// ownGlobals returns the globals of the meter, followed by a reference to each function that a body
// refers to. wazero keeps an object for each reference that it makes, as long as the instance
// lives. These references are made once, at the start of the instance, and each ref.func becomes a
// global.get.
func (w *rewriting) ownGlobals() [][]byte {
	fuel := append(appendS64([]byte{typeI64, 1, opI64Const}, w.budget), opEnd)
	depth := append(appendS64([]byte{typeI32, 1, opI32Const}, StackBudget), opEnd)
	all := [][]byte{fuel, fuel, depth} // fuel, budget and depth
	for _, f := range w.m.referred {
		all = append(all, append(appendU32([]byte{typeFunc, 0, opRefFunc}, f), opEnd))
	}
	return all
}

// exportSection replaces each exported function by a shim and adds the globals of the
// meter.
func (w *rewriting) exportSection() []byte {
	exports := slices.Clone(w.m.exports)
	for i := range exports {
		if e := &exports[i]; e.kind == externFunction {
			e.index = w.shims[e.index]
		}
	}
	exports = append(exports, exported{fuelGlobal, externGlobal, w.emit.fuel},
		exported{budgetGlobal, externGlobal, w.emit.budget}, exported{depthGlobal, externGlobal, w.emit.depth})
	out := appendU32(nil, uint32(len(exports)))
	for _, e := range exports {
		out = appendU32(append(appendName(out, e.name), e.kind), e.index)
	}
	return out
}

// code appends the code section. Its length always takes five bytes, because it is only
// known at the end.
func (w *rewriting) code(out []byte) []byte {
	n := len(w.m.bodies) + len(w.order) + len(w.dispatch)
	if n == 0 {
		return out
	}
	const room = 5
	out = append(out, sectionCode, 0, 0, 0, 0, 0)
	begin := len(out)
	out = appendU32(out, uint32(n))
	for s := range w.m.scans() { // read once before, so without an error
		typ := w.m.functions[s.fn]
		out = w.emit.body(out, &w.m.bodies[s.fn-w.m.inherited[externFunction]], s, typ, w.m.types[typ])
	}
	for _, f := range w.order {
		out = w.emit.shim(out, f, len(w.m.types[w.m.functions[f]].params))
	}
	for _, b := range w.dispatch {
		out = b.body(out)
	}
	for i, size := 0, len(out)-begin; i < room; i, size = i+1, size>>7 {
		out[begin-room+i] = byte(size) | 0x80
	}
	out[begin-1] &= 0x7f // the last byte of the length
	return out
}
