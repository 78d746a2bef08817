package wasm

import "fmt"

// This file reads one entry of each section. Every index is checked against
// what the module itself declares: in the metered form, an index past the end would
// name something that the meter added.

func (m *image) index(c *cursor, what string, n int) uint32 {
	i := c.u32()
	if c.err == nil && uint64(i) >= uint64(n) {
		c.fail("%s %d is used, %d are declared", what, i, n)
	}
	return i
}

func (m *image) typeIndex(c *cursor) uint32 { return m.index(c, "type", len(m.types)) }
func (m *image) function(c *cursor) uint32  { return m.index(c, "function", len(m.functions)) }

func valueType(c *cursor) byte {
	t := c.u8()
	if valueTypes[t] == "" {
		c.fail("value type %#x is not in core V2", t)
	}
	return t
}

func referenceType(c *cursor) byte {
	t := c.u8()
	if t != typeFunc && t != typeExtern {
		c.fail("reference type %#x is not in core V2", t)
	}
	return t
}

func (m *image) typeEntry(c *cursor) signature {
	if form := c.u8(); form != typeFunction {
		c.fail("type form %#x is not a function", form)
	}
	return signature{m.valueTypes(c), m.valueTypes(c)}
}

func (m *image) valueTypes(c *cursor) string {
	n := c.count()
	c.atMost("values in a function type", uint64(n), m.limits.Arity, "")
	start := c.at
	for i := 0; i < n && c.err == nil; i++ {
		valueType(c)
	}
	if c.err != nil {
		return ""
	}
	return string(c.b[start:c.at])
}

func (m *image) importEntry(c *cursor) imported {
	i := imported{module: c.name(), name: c.name(), kind: c.u8()}
	switch i.kind {
	case externFunction:
		i.typ = m.typeIndex(c)
		m.functions = append(m.functions, i.typ)
	case externTable:
		m.tables = append(m.tables, m.tableType(c))
	case externMemory:
		m.memories = append(m.memories, readBounds(c))
	case externGlobal:
		m.global(c)
	default:
		c.fail("import kind %#x is not in core V2", i.kind)
		return i
	}
	m.inherited[i.kind]++
	return i
}

func (m *image) exportEntry(c *cursor) exported {
	e := exported{name: c.name(), kind: c.u8()}
	switch e.kind {
	case externFunction:
		e.index = m.mention(c)
	case externTable:
		e.index = m.index(c, "table", len(m.tables))
		m.tableUnknown = true
	case externMemory:
		e.index = m.index(c, "memory", len(m.memories))
	case externGlobal:
		e.index = m.index(c, "global", len(m.globals))
	default:
		c.fail("export kind %#x is not in core V2", e.kind)
	}
	return e
}

func (m *image) tableType(c *cursor) bounds {
	elem := referenceType(c)
	b := readBounds(c)
	b.elem = elem
	m.tableMin += uint64(b.min)
	c.atMost("table", m.tableMin, int(m.limits.Table), " entries")
	return b
}

// readBounds reads the limits of a table or a memory. It refuses the flags that mark a
// memory as shared or as one of 64 bits.
func readBounds(c *cursor) bounds {
	var b bounds
	switch flag := c.u8(); flag {
	case 0:
		b.min = c.u32()
	case 1:
		b.min, b.max, b.capped = c.u32(), c.u32(), true
	default:
		c.fail("limits of kind %#x are not in core V2", flag)
	}
	return b
}

// global reads the type of the next global.
func (m *image) global(c *cursor) {
	g := globalType{value: valueType(c)}
	switch mutable := c.u8(); mutable {
	case 0:
	case 1:
		g.mutable = true
		m.mutable++
	default:
		c.fail("mutability %#x is not in core V2", mutable)
	}
	m.globals = append(m.globals, g)
}

// constant reads a constant expression, which is one instruction and its end. It returns
// the value of an i32.const; that of another instruction is not known.
func (m *image) constant(c *cursor) (value uint32, known bool) {
	switch op := c.u8(); op {
	case opI32Const:
		value, known = uint32(c.signed(32)), true
	case opI64Const:
		c.signed(64)
	case opF32Const:
		c.take(4)
	case opF64Const:
		c.take(8)
	case opGlobalGet:
		m.index(c, "global", len(m.globals))
	case opRefNull:
		referenceType(c)
	case opRefFunc:
		m.mention(c)
		m.tableUnknown = true
	case opVectorPrefix:
		if c.u8() != opV128Const {
			c.fail("this vector instruction is no constant")
		}
		c.take(16)
	default:
		c.fail("instruction %#x in a constant expression is not in core V2", op)
	}
	if c.u8() != opEnd {
		c.fail("a constant expression has more than one instruction")
	}
	return value, known
}

// element reads a segment of any of the eight kinds: bit 0 passive or
// declarative, bit 1 a table (or declarative), bit 2 expressions for indices.
func (m *image) element(c *cursor) {
	kind := c.u32()
	if kind > 7 {
		c.fail("element segment of kind %d is not in core V2", kind)
		return
	}
	var to uint32
	known := false // whether it is clear where in table 0 the entries lie
	if active := kind&1 == 0; active {
		if kind&2 != 0 {
			m.index(c, "table", len(m.tables))
		}
		to, known = m.constant(c)
	}
	m.tableUnknown = m.tableUnknown || kind != 0 || !known
	expressions := kind&4 != 0
	if kind&3 != 0 {
		if expressions {
			referenceType(c)
		} else if k := c.u8(); k != 0 {
			c.fail("element kind %#x is not in core V2", k)
		}
	}
	n := c.count()
	m.elementEntries += n
	c.atMost("entries of element segments", uint64(m.elementEntries), m.limits.Entries, "")
	for i := 0; i < n && c.err == nil; i++ {
		if expressions {
			m.constant(c)
		} else {
			m.enlist(to, m.mention(c))
			to++
		}
	}
}

// enlist notes that the function f stands at an entry of table 0. It notes nothing of a table that
// is too large for a dispatcher.
func (m *image) enlist(entry, f uint32) {
	if len(m.tables) == 0 || m.tables[0].min > dispatchEntries || entry >= m.tables[0].min {
		m.tableUnknown = true
		return
	}
	if m.entries == nil {
		m.entries = make([]uint32, m.tables[0].min)
	}
	m.entries[entry] = f + 1
}

func (m *image) data(c *cursor) {
	switch kind := c.u32(); kind {
	case 0:
		m.constant(c)
	case 1:
	case 2:
		m.index(c, "memory", len(m.memories))
		m.constant(c)
	default:
		c.fail("data segment of kind %d is not in core V2", kind)
	}
	c.take(c.u32())
}

// mention reads the number of a function, and notes that something outside of the code names this
// function.
func (m *image) mention(c *cursor) uint32 {
	f := m.function(c)
	if c.err == nil {
		if m.mentioned == nil {
			m.mentioned = make([]mention, len(m.functions))
		}
		m.mentioned[f] |= namedOutside
	}
	return f
}

// refer reads the number of a function, and notes that a body refers to this function.
func (m *image) refer(c *cursor) uint32 {
	f := m.function(c)
	switch {
	case c.err != nil:
	case m.mentioned == nil || m.mentioned[f]&namedOutside == 0:
		c.fail("function %d is referred to, and mentioned nowhere outside of the code", f)
	case m.mentioned[f]&namedInCode == 0:
		m.mentioned[f] |= namedInCode
		m.referred = append(m.referred, f)
		c.atMost("globals and functions that code refers to", uint64(len(m.globals)+len(m.referred)), m.limits.Globals, "")
	}
	return f
}

// body splits one function body into its locals and its code. It checks the count of
// locals before anything is allocated for them: four bytes can announce a billion.
func (m *image) body(c *cursor) {
	n := len(m.bodies) + m.inherited[externFunction]
	size := c.u32()
	raw := c.take(size)
	if len(raw) > m.limits.Body {
		c.atMost(fmt.Sprintf("body of function %d", n), uint64(size), m.limits.Body, " bytes")
		return
	}
	l := &cursor{b: raw}
	b := body{groups: l.count()}
	groups := l.at
	var declared uint64
	for i := 0; i < b.groups && l.err == nil; i++ {
		declared += uint64(l.u32())
		b.wide = valueType(l) == typeV128 || b.wide
	}
	if l.err != nil {
		c.fail("locals of function %d: %v", n, l.err)
	}
	if declared > uint64(m.limits.Locals) {
		c.atMost(fmt.Sprintf("locals of function %d", n), declared, m.limits.Locals, "")
	}
	if c.err != nil {
		return
	}
	b.count = int(declared)
	m.declared += b.count
	if c.atMost("locals of all functions", uint64(m.declared), m.limits.AllLocals, ""); c.err != nil {
		return
	}
	b.locals, b.code = raw[groups:l.at], raw[l.at:]
	m.bodies = append(m.bodies, b)
}
