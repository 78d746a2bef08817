package wasm

// gen makes a valid module out of any bytes: each byte decides one thing, and
// when they run out every decision takes its shortest way. All values are i32,
// all control constructs occur, and nothing runs long: every function and
// every loop counts in global 0 and gives up past a few hundred.
type gen struct {
	data   []byte
	labels []int // values a branch to each open block carries, outermost first
	out    []byte
	locals uint32
}

const patience = 300

// The types of generated modules; a function of type i is function i.
var genTypes = []signature{
	{i32, i32},             // 0
	{"", ""},               // 1
	{i32 + i32, i32 + i32}, // 2
	{"", i32 + i32},        // 3
	{i32 + i32, i32},       // 4
	{i32 + i32, ""},        // 5
}

const genLocals = 4

func generate(data []byte) build {
	m := build{
		types:   genTypes,
		memory:  &bounds{min: 1, max: 2, capped: true},
		globals: 1,
		tables:  []bounds{{min: 8, max: 8, capped: true}},
		exports: []exported{{"memory", externMemory, 0}, {"run", externFunction, 0}, {"count", externGlobal, 0}},
		elems:   []uint32{0, 1, 2, 3, 4, 5, 0},
	}
	g := &gen{data: data}
	for i, sig := range genTypes {
		m.funcs = append(m.funcs, fn{typ: uint32(i), locals: []uint32{genLocals}, code: g.function(sig)})
	}
	return m
}

func (g *gen) function(sig signature) []byte {
	g.out, g.labels = nil, []int{len(sig.results)}
	g.locals = uint32(len(sig.params)) + genLocals
	g.limit()
	g.stmts(6)
	g.exprs(len(sig.results), 4)
	return g.out
}

func (g *gen) byte() int {
	if len(g.data) == 0 {
		return 0
	}
	b := g.data[0]
	g.data = g.data[1:]
	return int(b)
}

func (g *gen) op(parts ...any)   { g.out = append(g.out, seq(parts...)...) }
func (g *gen) local() uint32     { return uint32(g.byte()) % g.locals }
func (g *gen) label() int        { return g.byte() % len(g.labels) }
func (g *gen) carries(l int) int { return g.labels[len(g.labels)-1-l] }

// limit counts, and gives up when that is enough.
func (g *gen) limit() {
	g.op(opGlobalGet, 0, i64c(1), 0x7c, opGlobalSet, 0)
	g.op(opGlobalGet, 0, i64c(patience), 0x55, opIf, blockEmpty, opUnreachable, opEnd)
}

func (g *gen) stmts(depth int) {
	for range g.byte() % 5 {
		g.stmt(depth)
	}
}

func (g *gen) exprs(n, depth int) {
	for range n {
		g.expr(depth)
	}
}

// within opens a block to which branches carry n values, and fills it.
func (g *gen) within(op byte, typ any, carries int, fill func()) {
	g.op(op, typ)
	g.labels = append(g.labels, carries)
	if op == opLoop {
		g.limit()
	}
	fill()
	g.labels = g.labels[:len(g.labels)-1]
	g.op(opEnd)
}

// stmt leaves the operand stack as it was.
func (g *gen) stmt(depth int) {
	kind := g.byte() % 17
	if depth <= 0 {
		kind = 0
	}
	d := depth - 1
	switch kind {
	case 0:
		g.expr(min(d, 1))
		g.op(set(g.local()))
	case 1:
		g.address(d)
		g.expr(d)
		g.op(0x36, 2, 0)
	case 2:
		g.expr(d)
		g.within(opIf, byte(blockEmpty), 0, func() { g.stmts(d) })
	case 3:
		g.expr(d)
		g.within(opIf, byte(blockEmpty), 0, func() { g.stmts(d); g.op(opElse); g.stmts(d) })
	case 4:
		g.within(opBlock, byte(blockEmpty), 0, func() { g.stmts(d) })
	case 5:
		g.within(opLoop, byte(blockEmpty), 0, func() { g.stmts(d); g.expr(d); g.op(0x0d, 0) })
	case 6: // a branch that may be taken
		l := g.label()
		g.exprs(g.carries(l), d)
		g.expr(d)
		g.op(0x0d, l)
		g.drop(g.carries(l))
	case 7: // a branch that is, and code that is never reached
		l := g.label()
		g.exprs(g.carries(l), d)
		g.op(opBr, l)
		g.stmts(d)
	case 8:
		g.branchTable(d)
	case 9:
		g.exprs(g.labels[0], d)
		g.op(opReturn)
		g.stmts(d)
	case 10:
		g.op(callTo(1))
	case 11:
		g.exprs(2, d)
		g.op(callTo(2), 0x1a, 0x1a)
	case 12: // a block with two results, and one with parameters
		g.within(opBlock, byte(3), 2, func() { g.stmts(d); g.exprs(2, d) })
		g.within(opLoop, byte(2), 2, func() { g.stmts(d) })
		g.within(opBlock, byte(5), 0, func() { g.drop(2); g.stmts(d) })
	case 13:
		g.bulk(d)
	case 14:
		g.op(opRefFunc, 0, 0xd1, 0x1a)
	case 15:
		g.expr(d)
		g.op(0xac, opGlobalGet, 0, 0x85, 0x1a)
	case 16:
		g.expr(d)
		g.within(opIf, byte(0x7f), 1, func() { g.expr(d); g.op(opReturnIf(g.labels[0] == 1)...); g.op(opElse); g.expr(d) })
		g.op(0x1a)
	}
}

func opReturnIf(yes bool) []any {
	if yes {
		return []any{opReturn}
	}
	return nil
}

func (g *gen) drop(n int) {
	for range n {
		g.op(0x1a)
	}
}

// branchTable chooses labels that carry as much as the default one.
func (g *gen) branchTable(depth int) {
	last := g.label()
	var targets []byte
	for range g.byte() % 6 {
		if l := g.label(); g.carries(l) == g.carries(last) {
			targets = append(targets, byte(l))
		}
	}
	g.exprs(g.carries(last), depth)
	g.expr(depth)
	g.op(0x0e, len(targets), targets, last)
}

func (g *gen) bulk(depth int) {
	g.address(depth)
	g.address(depth)
	g.expr(depth)
	g.op(i32c(0x7fff), 0x71)
	if g.byte()%2 == 0 {
		g.op(opMiscPrefix, 0x0a, 0, 0)
	} else {
		g.op(opMiscPrefix, 0x0b, 0)
	}
}

// address leaves an address that is inside of memory, as a rule.
func (g *gen) address(depth int) {
	g.expr(depth)
	g.op(i32c(0x7ffc), 0x71)
}

// expr leaves one i32.
func (g *gen) expr(depth int) {
	kind := g.byte() % 15
	if depth <= 0 {
		kind %= 2
	}
	d := depth - 1
	switch kind {
	case 0:
		g.op(get(g.local()))
	case 1:
		g.op(i32c(int32(int8(g.byte()))))
	case 2:
		g.address(d)
		g.op(0x28, 2, 0)
	case 3: // arithmetic, division included
		g.exprs(2, d)
		g.op(0x6a + g.byte()%15)
	case 4:
		g.exprs(2, d)
		g.op(0x46 + g.byte()%10)
	case 5:
		g.expr(d)
		g.op(callTo(0))
	case 6:
		g.exprs(2, d)
		g.op(callTo(4))
	case 7:
		g.op(callTo(3), 0x6a)
	case 8: // through the table: the entry may be of another type, or none
		g.expr(d)
		g.expr(0)
		g.op(i32c(7), 0x71, 0x11, 0, 0)
	case 9:
		g.exprs(3, d)
		g.op(0x1b)
	case 10:
		g.within(opBlock, byte(0x7f), 1, func() { g.stmts(d); g.expr(d) })
	case 11:
		g.within(opLoop, byte(0x7f), 0, func() { g.stmts(d); g.expr(d) })
	case 12:
		g.expr(d)
		g.within(opIf, byte(0x7f), 1, func() { g.stmts(d); g.expr(d); g.op(opElse); g.stmts(d); g.expr(d) })
	case 13:
		g.op(i32c(int32(g.byte()%2)), 0x40, 0)
	case 14:
		g.expr(d)
		g.op(0xb7, 0x9f, 0xfc, 2)
	}
}
