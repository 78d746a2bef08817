package host_test

import (
	"slices"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
)

// attack is one hostile module, what bounds it and how it ends.
type attack struct {
	name  string // one line of HOSTILE.md
	limit string // what stops it
	ends  ending
	guest hostileGuest
	url   string // of the server entry, where that is not one of a stream
	era   string // the protocol, where it is not the modern one
	whole []byte // the module, where it is not a hostileGuest's
}

func (a *attack) module() []byte {
	if a.whole != nil {
		return a.whole
	}
	return a.guest.bytes()
}

// corpus is every attack, in the order of HOSTILE.md.
func corpus() []attack {
	return slices.Concat(loops(), recursions(), bulkBombs(), tableBombs(), memoryBombs(), forgeries(), guesses(), tides(), feeding(),
		breakouts(), sizes(), beginnings(), features(), unknowns(), malformed())
}

const (
	eventBudget = "10 million units of fuel for an event"
	initBudget  = "100 million units of fuel for `_initialize`"
	rateBudget  = "40 million units of fuel a second for a connection"
	stackBudget = "8 MiB of estimated native stack"
)

// on is what a hostileGuest does at one event.
func on(kind abi.Kind, parts ...any) map[abi.Kind][]byte {
	return map[abi.Kind][]byte{kind: code(parts...)}
}

// atOpen is a hostileGuest that strikes when it is told to connect.
func atOpen(parts ...any) hostileGuest { return hostileGuest{on: on(abi.EventOpen, parts...)} }

// spending is an attack that ends with its fuel.
func spending(name string, ship hostileGuest) attack {
	return attack{name: name, limit: eventBudget, ends: trapped(wasm.TrapFuel), guest: ship}
}

func loops() []attack {
	division := many(500, get(4), num(7), 0x6d, set(4))
	nested := code(many(20, opLoop, voidBlock), opBr, 0, many(20, opEnd))
	return []attack{
		spending("an empty loop", atOpen(forever())),
		spending("a loop of divisions", atOpen(forever(division))),
		spending("loops in loops", atOpen(nested)),
		spending("a loop in a function that it calls", calling(code(forever(), get(0)))),
		spending("a loop in answer to DESCRIBE", hostileGuest{on: on(abi.EventDescribe, forever())}),
		spending("a loop whose body is a large `br_table`", atOpen(forever(get(4), 0x0e, appendU32(nil, 5000), make([]byte, 5001)))),
		{name: "a loop in `_initialize`", limit: initBudget, ends: trapped(wasm.TrapFuel), guest: hostileGuest{begin: forever()}},
		{
			name: "a timer that rings for as much work as an event may do", limit: rateBudget, ends: broke("keeps using more computing time"),
			guest: hostileGuest{on: map[abi.Kind][]byte{
				abi.EventOpen:  code(ask(abi.CallReport, int32(abi.ReportUp), 0, 0, 0, 0), ask(abi.CallTimer, 1, 10)),
				abi.EventTimer: code(ask(abi.CallTimer, 1, 10), num(1<<20), set(4), opLoop, voidBlock, get(4), num(-1), opAdd, 0x22, 4, opBrIf, 0, opEnd),
			}},
		},
	}
}

// tree is calls without a loop: each function calls the next one twice.
func tree(levels int) hostileGuest {
	var p hostileGuest
	p.on = on(abi.EventOpen, num(1), invoke(p.hand(0)), opDrop)
	for n := range levels {
		next := invoke(p.hand(n + 1))
		p.crew = append(p.crew, wasmFunc{typ: typeOne, code: code(get(0), next, next)})
	}
	p.crew = append(p.crew, wasmFunc{typ: typeOne, code: get(0)})
	return p
}

// calling is a hostileGuest whose crew calls itself without an end.
func calling(crew ...[]byte) hostileGuest {
	var p hostileGuest
	p.on = on(abi.EventOpen, num(1), invoke(p.hand(0)), opDrop)
	for _, c := range crew {
		p.crew = append(p.crew, wasmFunc{typ: typeOne, locals: 4, code: c})
	}
	return p
}

func recursions() []attack {
	var p hostileGuest
	first, second := p.hand(0), p.hand(1)
	deep := func(name string, ship hostileGuest) attack {
		return attack{name: name, limit: stackBudget, ends: trapped(wasm.TrapDepth), guest: ship}
	}
	indirect := calling(code(get(0), num(0), opIndirect, typeOne, 0))
	indirect.tables, indirect.entries = [][]byte{table(1, 1)}, []uint32{first}
	tall := code(many(1000, get(0), 0x28, 2, 0), get(0), invoke(first), many(1000, opAdd))
	ring := calling(code(forever(get(0), num(1), opIndirect, typeOne, 0, set(1)), get(0)), code(get(0), num(2), opIndirect, typeOne, 0), get(0))
	ring.tables, ring.entries = [][]byte{table(3, 3)}, []uint32{first, second, second + 1}
	return []attack{
		spending("2^60 calls without a loop", tree(60)),
		spending("calls in a ring through a table", ring),
		deep("a function that calls itself", calling(code(get(0), invoke(first)))),
		deep("two functions that call each other", calling(code(get(0), invoke(second)), code(get(0), invoke(first)))),
		deep("a function that calls itself through a table", indirect),
		deep("recursion with 1,000 values on the stack", calling(tall)),
		deep("recursion through its own event function", hostileGuest{on: on(abi.EventOpen, get(0), get(1), get(2), get(3), invoke(p.eventHand()), opDrop)}),
	}
}

func bulkBombs() []attack {
	const all = 16 << 20
	big := func(parts ...any) hostileGuest {
		p := atOpen(forever(parts...))
		p.pages = 256
		return p
	}
	tabled := func(parts ...any) hostileGuest {
		p := atOpen(code(opNull, funcref, num(60000), opMisc, 0x0f, 0, opDrop), forever(parts...))
		p.tables = [][]byte{table(4, 64<<10)}
		return p
	}
	parted := atOpen(forever(num(freeAt), num(0), num(4096), opMisc, 0x08, 2, 0))
	parted.raw = map[byte][]byte{sectionCount: {3}, sectionData: list(append(data(), code(1, named(string(make([]byte, 4096)))))...)}
	return []attack{
		spending("`memory.fill` of 16 MiB, over and over", big(num(0), num(1), num(all), opMisc, 0x0b, 0)),
		spending("`memory.copy` of 8 MiB, over and over", big(num(0), num(all/2), num(all/2), opMisc, 0x0a, 0, 0)),
		spending("`memory.fill` of nothing, over and over", big(many(100, num(0), num(0), num(0), opMisc, 0x0b, 0))),
		spending("`memory.init`, over and over", parted),
		spending("`table.fill` of 60,000 entries, over and over", tabled(num(0), opNull, funcref, num(60000), opMisc, 0x11, 0)),
		spending("`table.copy` of 59,000 entries, over and over", tabled(num(0), num(100), num(59000), opMisc, 0x0e, 0, 0)),
		spending("`memory.grow` by nothing, over and over", atOpen(forever(num(0), 0x40, 0, opDrop))),
	}
}

// tells is a hostileGuest that returns what stands on the stack as the result of OPEN.
func tells(parts ...any) hostileGuest { return atOpen(code(parts...), opReturn) }

func tableBombs() []attack {
	entries, count := "65,536 entries in a table", "8 tables"
	grown := func(by int32) hostileGuest {
		p := tells(opNull, funcref, num(by), opMisc, 0x0f, 0)
		p.tables = [][]byte{table(1, 0)}
		return p
	}
	growing := atOpen(forever(opNull, funcref, num(100), opMisc, 0x0f, 0, opDrop))
	growing.tables = [][]byte{table(1, 0)}
	return []attack{
		{name: "a table that begins with 100 million entries", limit: entries, ends: turnedAway("table: wanted at most 65536 entries, found 100000000"), guest: hostileGuest{tables: [][]byte{table(100_000_000, 0)}}},
		{name: "9 tables", limit: count, ends: turnedAway("tables: wanted at most 8, found 9"), guest: hostileGuest{tables: slices.Repeat([][]byte{table(1, 1)}, 9)}},
		{name: "`table.grow` past 65,536 entries", limit: entries, ends: gaveUp(abi.Denied), guest: grown(1 << 16)},
		{name: "`table.grow` by 100 million", limit: "what is moved is paid for first", ends: trapped(wasm.TrapFuel), guest: grown(100_000_000)},
		spending("`table.grow`, over and over", growing),
		{name: "a call through an empty entry of a table", limit: "the instruction itself", ends: trapped(wasm.TrapTable), guest: func() hostileGuest {
			p := atOpen(num(1), num(0), opIndirect, typeOne, 0, opDrop)
			p.tables = [][]byte{table(1, 1)}
			return p
		}()},
	}
}

func memoryBombs() []attack {
	const pages = "256 pages of memory"
	segment := hostileGuest{raw: map[byte][]byte{sectionData: list(code(0, num(1<<30), opEnd, named("x")))}}
	greedy := tells(opLoop, voidBlock, num(1), 0x40, 0, num(-1), 0x47, opBrIf, 0, opEnd, num(-1))
	return []attack{
		{name: "a memory that begins with 257 pages", limit: pages, ends: turnedAway("memory: wanted at most 256 pages of 64 KiB, found 257"), guest: hostileGuest{pages: 257}},
		{name: "a memory that begins with 65,537 pages", limit: pages, ends: turnedAway("memory: wanted at most 256 pages of 64 KiB, found 65537"), guest: hostileGuest{pages: 65537}},
		{name: "`memory.grow` by 4 GiB", limit: pages, ends: gaveUp(abi.Denied), guest: tells(num(65535), 0x40, 0)},
		{name: "`memory.grow` page by page, until it is refused", limit: pages, ends: gaveUp(abi.Denied), guest: greedy},
		{name: "a data segment outside of memory", limit: "the memory that the module has", ends: broke("start"), guest: segment},
		{name: "a load past the end of memory", limit: "the instruction itself", ends: trapped(wasm.TrapMemory), guest: atOpen(num(-4), 0x28, 2, 0, opDrop)},
		{name: "a store past the end of memory", limit: "the instruction itself", ends: trapped(wasm.TrapMemory), guest: atOpen(num(-4), num(1), 0x36, 2, 0)},
	}
}
