package wasm

import "fmt"

// meterVersion names the metered form; it is part of the key of the cache. Any
// change to what the meter or the look accepts or writes must change it.
const meterVersion = "4"

// ours is the prefix of the names the meter exports; a module that uses it is
// refused.
const ours = "__wharf_"

// The globals the meter exports, for the host to read why a call stopped and
// to set what the next one may spend.
const (
	fuelGlobal   = ours + "fuel"
	budgetGlobal = ours + "budget"
	depthGlobal  = ours + "depth"
)

// Meter returns binary rewritten so that each call of an export spends at most
// budget units of fuel and a bounded native stack, and traps beyond. It serves
// a module that another runtime than the Engine runs; Load meters by itself.
// Whatever breaks the limits is a *Refusal under name.
func Meter(name string, binary []byte, limits Limits, budget int64) ([]byte, error) {
	m, err := read(binary, limits.filled())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	plans := m.scanAll()
	m.unclaimed()
	if err := m.findings.refusal(name); err != nil {
		return nil, err
	}
	return m.meter(plans, budget), nil
}

// scanAll plans every body. A body that cannot be read is a finding, so that
// the next one is read all the same.
func (m *image) scanAll() []*scan {
	plans := make([]*scan, len(m.bodies))
	for i := range plans {
		var err error
		if plans[i], err = scanBody(m, i); err != nil {
			m.findings.add("code", "", err.Error())
		}
	}
	if m.effort > m.limits.Effort {
		m.findings.add("effort of compiling", fmt.Sprintf("at most %d units", m.limits.Effort), fmt.Sprint(m.effort))
	}
	return plans
}

// unclaimed refuses exports under names the meter needs.
func (m *image) unclaimed() {
	for _, e := range m.exports {
		if len(e.name) >= len(ours) && e.name[:len(ours)] == ours {
			m.findings.add("export "+quote(e.name), "no name that begins with "+ours, "")
		}
	}
}

// rewriting holds what the sections of one metered module agree on.
type rewriting struct {
	m         *image
	emit      emit
	plans     []*scan
	budget    int64             // of a call, where nobody sets one
	types     [][]byte          // appended types, encoded
	shims     map[uint32]uint32 // exported function to the shim that stands for it
	order     []uint32          // exported functions in the order of their shims
	reference bool              // some body takes references to functions
	boards    []switchboard     // in the order of their functions, behind the shims
}

// meter writes the metered form of an image without findings.
func (m *image) meter(plans []*scan, budget int64) []byte {
	w := &rewriting{m: m, plans: plans, budget: budget, shims: map[uint32]uint32{}}
	g := uint32(m.globals)
	w.emit = emit{fuel: g, budget: g + 1, depth: g + 2, blockTypes: map[uint32]uint32{}}
	w.plan()
	w.switchboards()
	out := make([]byte, 0, m.size()*5/4)
	out = append(out, "\x00asm\x01\x00\x00\x00"...)
	content := make(map[byte][]byte, len(m.sections))
	for _, s := range m.sections {
		content[s.id] = s.content
	}
	for _, id := range sectionsInOrder {
		if id == sectionCode {
			out = w.section(out, id, w.code())
		} else if c := w.rewrite(id, content[id]); len(c) > 0 {
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
	for _, s := range m.sections {
		n += len(s.content) + 8
	}
	return n
}

// plan assigns the indices of types and shims.
func (w *rewriting) plan() {
	for i, s := range w.plans {
		w.reference = w.reference || s.reference
		typ := w.m.functions[i+w.m.inherited[externFunction]]
		if sig := w.m.types[typ]; len(sig.results) > 1 && s.wrapped() {
			w.resultType(typ, sig)
		}
	}
	for _, e := range w.m.exports {
		if _, done := w.shims[e.index]; e.kind == externFunction && !done {
			w.shims[e.index] = uint32(len(w.m.functions) + len(w.order))
			w.order = append(w.order, e.index)
		}
	}
}

func (w *rewriting) resultType(typ uint32, sig signature) {
	if _, done := w.emit.blockTypes[typ]; done {
		return
	}
	w.emit.blockTypes[typ] = uint32(len(w.m.types) + len(w.types))
	t := append([]byte{0x60, 0}, appendU32(nil, uint32(len(sig.results)))...)
	w.types = append(w.types, append(t, sig.results...))
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
		if w.boards != nil {
			return nil
		}
		return extend(original, w.declared())
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
	for _, b := range w.boards {
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
	for _, t := range own {
		most := w.m.limits.Table
		if t.capped {
			most = min(most, t.max)
		}
		if w.boards != nil {
			t.min, most = 0, 0
		}
		out = append(out, t.elem, 1)
		out = appendU32(appendU32(out, t.min), most)
	}
	return out
}

func (w *rewriting) ownGlobals() [][]byte {
	tank := appendS64([]byte{typeI64, 1, opI64Const}, w.budget)
	tank = append(tank, opEnd)
	stack := appendS64([]byte{typeI32, 1, opI32Const}, StackBudget)
	return [][]byte{tank, tank, append(stack, opEnd)}
}

// exportSection puts a shim in the place of each exported function and adds
// our globals.
func (w *rewriting) exportSection() []byte {
	out := appendU32(nil, uint32(len(w.m.exports)+3))
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

// declared keeps references legal: a body may take a reference only to a
// function that something outside of the code mentions, and an export that
// now names the shim no longer counts.
func (w *rewriting) declared() [][]byte {
	if !w.reference || len(w.order) == 0 {
		return nil
	}
	e := appendU32([]byte{3, 0}, uint32(len(w.order)))
	for _, f := range w.order {
		e = appendU32(e, f)
	}
	return [][]byte{e}
}

func (w *rewriting) code() []byte {
	out := appendU32(make([]byte, 0, w.m.size()*5/4), uint32(len(w.plans)+len(w.order)+len(w.boards)))
	for i, s := range w.plans {
		typ := w.m.functions[i+w.m.inherited[externFunction]]
		out = w.emit.body(out, &w.m.bodies[i], s, typ, w.m.types[typ])
	}
	for _, f := range w.order {
		out = w.emit.shim(out, f, len(w.m.types[w.m.functions[f]].params))
	}
	for _, b := range w.boards {
		out = b.body(out)
	}
	return out
}
