package wasm

import (
	"errors"
	"strings"
)

// meterVersion names the metered form; it is part of the key of the cache. Any
// change to what the meter or the validation accepts or writes must change it.
const meterVersion = "7"

// reservedPrefix is the prefix of the names that the meter exports; a module that uses
// it is refused.
const reservedPrefix = "__wharf_"

// The globals the meter exports, for the host to read why a call stopped and
// to set what the next one may spend.
const (
	fuelGlobal   = reservedPrefix + "fuel"
	budgetGlobal = reservedPrefix + "budget"
	depthGlobal  = reservedPrefix + "depth"
)

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

// refuseReservedNames refuses exports under names that the meter uses.
func (m *image) refuseReservedNames() {
	for _, e := range m.exports {
		if strings.HasPrefix(e.name, reservedPrefix) {
			m.findings.add("export "+quote(e.name), "no name that begins with "+reservedPrefix, "")
		}
	}
}

// rewriting makes one metered module. It has the indices that several sections share.
type rewriting struct {
	m        *image
	emit     emit
	budget   int64             // of a call, if the host sets none
	types    [][]byte          // appended types, encoded
	shims    map[uint32]uint32 // exported function to the shim that stands for it
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
	for _, id := range sectionsInOrder {
		if id == sectionCode {
			out = w.code(out)
		} else if c := w.rewrite(id, m.content[id]); len(c) > 0 {
			out = w.section(out, id, c)
		}
	}
	return out
}

// sectionsInOrder leaves out custom sections: names and debug data are the
// bulk of some files and of no use to a module that only runs.
var sectionsInOrder = []byte{sectionType, sectionImport, sectionFunction, sectionTable, sectionMemory,
	sectionGlobal, sectionExport, sectionStart, sectionElement, sectionDataCount, sectionCode, sectionData}

func (m *image) size() (n int) {
	for _, content := range m.content {
		n += len(content) + 8
	}
	return n
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
		return extend(original, w.shimTypes())
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
		return original
	default:
		return original
	}
}

// extend appends entries to the vector a section holds.
func extend(original []byte, entries [][]byte) []byte {
	c := cursor{b: original}
	n := uint32(0)
	if original != nil {
		n = c.u32()
	}
	out := appendU32(make([]byte, 0, len(original)+16), n+uint32(len(entries)))
	out = append(out, original[c.at:]...)
	for _, e := range entries {
		out = append(out, e...)
	}
	return out
}

func (w *rewriting) shimTypes() (entries [][]byte) {
	for _, f := range w.order {
		entries = append(entries, appendU32(nil, w.m.functions[f]))
	}
	for _, b := range w.dispatch {
		entries = append(entries, appendU32(nil, b.typ))
	}
	return entries
}

// tableSection gives every table a maximum. A table may refuse to grow at any
// time, so no module can tell.
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

// ownGlobals are the globals of the meter, and after them a reference to each function
// that a body refers to. wazero keeps an object for each reference that it makes, as
// long as the instance lives: these are made once, at its start, and ref.func becomes a
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
	out := appendU32(nil, uint32(len(w.m.exports)+meterGlobals))
	for _, e := range w.m.exports {
		if e.kind == externFunction {
			e.index = w.shims[e.index]
		}
		out = appendU32(append(appendName(out, e.name), e.kind), e.index)
	}
	out = appendU32(append(appendName(out, fuelGlobal), externGlobal), w.emit.fuel)
	out = appendU32(append(appendName(out, budgetGlobal), externGlobal), w.emit.budget)
	return appendU32(append(appendName(out, depthGlobal), externGlobal), w.emit.depth)
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
	size := len(out) - begin
	for i := range room {
		more := byte(0x80)
		if i == room-1 {
			more = 0
		}
		out[begin-room+i] = byte(size>>(7*i))&0x7f | more
	}
	return out
}
