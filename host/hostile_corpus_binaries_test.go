package host_test

import (
	"bytes"
	"fmt"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
)

// sizes are what compiling would take too long for, or too much memory.
func sizes() []attack {
	crew := func(n int, d wasmFunc) hostileGuest {
		p := hostileGuest{crew: make([]wasmFunc, n)}
		for i := range p.crew {
			p.crew[i] = d
		}
		return p
	}
	nothing := wasmFunc{typ: typeNothing}
	nest := func(n int) []byte { return code(many(n, opBlock, voidBlock), many(n, opEnd)) }
	raw := func(id byte, content []byte) hostileGuest { return hostileGuest{raw: map[byte][]byte{id: content}} }
	huge := (&hostileGuest{}).bytes()
	huge = append(huge, section(0, append(named("x"), make([]byte, 8<<20)...))...)
	item := func(words, limit string, name string, p hostileGuest) attack {
		return attack{name: name, limit: limit, ends: turnedAway(words), guest: p}
	}
	endless := hostileGuest{tables: [][]byte{table(1<<32-1, 0)}, entries: []uint32{0}}
	zeros := func(n int) []byte { return code(1, 1, 0, appendU32(nil, uint32(n)), make([]byte, n)) }
	return append(estimates(), []attack{
		item("table: wanted at most 65536 entries, found 4294967295", "65,536 entries in a table", "a table of 4 billion entries, of which one is filled", endless),
		item("entries of element segments: wanted at most 65536", "65,536 entries in all element segments", "8 million entries in an element segment", raw(sectionElement, zeros(8_000_000))),
		item("functions: wanted at most 20000, found 2000000", "20,000 functions", "2 million functions in 4 MB", raw(sectionFunction, append(appendU32(nil, 2_000_000), make([]byte, 2_000_000)...))),
		{name: "a file of 8 MiB and more", limit: "8 MiB a file", ends: notRead("it is larger than 8388608 bytes"), whole: huge},
		item("functions: wanted at most 20000", "20,000 functions", "200,000 functions", crew(200_000, nothing)),
		item("nesting of function", "1,000 blocks in blocks", "50,000 blocks in blocks", atOpen(nest(50_000))),
		item("blocks of function", "4,000 blocks in a function", "5,000 blocks side by side", atOpen(many(5000, opBlock, voidBlock, opEnd))),
		item("branches of function", "4,000 branches in a function", "40,000 branches out of a block", atOpen(opBlock, voidBlock, many(40_000, num(0), opBrIf, 0), opEnd)),
		item("branch table in function", "10,000 labels in a `br_table`", "a `br_table` of 20,000 labels", atOpen(num(0), 0x0e, appendU32(nil, 20_000), make([]byte, 20_001))),
		item("locals of function", "2,000 locals in a function", "a million locals", crew(1, wasmFunc{locals: 1_000_000})),
		item("locals of function", "2,000 locals in a function", "4 billion locals", crew(1, wasmFunc{locals: 1<<32 - 1})),
		item("body of function", "512 KiB of code in a function", "a function of 600 KB", atOpen(many(200_000, get(0), opDrop))),
		item("effort of compiling", "an estimate of what compiling takes", "2,000 functions, each within every limit", crew(2000, wasmFunc{code: nest(900)})),
		item("data segments: wanted at most 100000", "100,000 data and element segments", "a million data segments", raw(sectionData, list(bytes.SplitAfter(many(1_000_000, 1, 0), []byte{1, 0})[:1_000_000]...))),
		item("globals: wanted at most 2000", "2,000 globals", "20,000 globals", raw(sectionGlobal, append(appendU32(nil, 20_000), many(20_000, 0x7f, 0, num(0), opEnd)...))),
		item("types: wanted at most 10000", "10,000 types", "20,000 types", hostileGuest{types: make([][2]string, 20_000)}),
		item("values in a function type", "100 parameters and results", "a type with 200 parameters", hostileGuest{types: [][2]string{{i32(200), ""}}}),
		item("exports: wanted at most 1000", "1,000 imports and exports", "2,000 exports", hostileGuest{exports: numbered(2000)}),
	}...)
}

// estimates are small, within every count, and what compiling them takes grows
// faster than they do.
func estimates() (all []attack) {
	add := func(name string, locals uint32, parts ...any) {
		p := hostileGuest{crew: []wasmFunc{{typ: firstType}, {typ: typeOne, locals: locals, code: code(parts...)}},
			types: [][2]string{{i32(100), i32(100)}, {"", i32(100)}}}
		p.crew[0].code = ofLocals(100, get)
		all = append(all, attack{name: name, limit: "an estimate of what compiling takes", ends: turnedAway("effort of compiling function"), guest: p})
	}
	leave := code(get(0), opBrIf, 0)
	gather := func(n uint32) []byte { return ofLocals(n, func(l uint32) []byte { return code(get(l), opDrop) }) }
	setAndLeave := func(n, locals uint32) []byte {
		return ofLocals(n, func(l uint32) []byte { return code(get(0), set(1+l%locals), leave) })
	}
	add("2,000 branches, and 1,000 locals that are read behind them", 1000, opBlock, voidBlock, many(2000, leave), opEnd, gather(1000), get(0))
	add("1,000 branches, each behind another local that is set", 1000, opBlock, voidBlock, setAndLeave(1000, 1000), opEnd, gather(1000), get(0))
	add("16,000 branches with 100 results", 0, opBlock, appendS32(nil, int32(firstType+1)), many(100, get(0)), many(16_000, leave), opEnd, many(100, opDrop), get(0))
	add("20,000 calls with 100 parameters and results", 0, many(100, get(0)), many(20_000, invoke((&hostileGuest{}).hand(0))), many(100, opDrop), get(0))
	add("900 loops in loops, around 1,000 locals", 1000, many(900, opLoop, voidBlock), gather(1000), many(900, leave, opEnd), get(0))
	add("20,000 values on the stack beside 1,000 branches", 0, many(20_000, get(0), 0x28, 2, 0), opBlock, voidBlock, many(1000, leave), opEnd, many(19_999, 0x6a))
	add("100,000 addresses that each come out of memory", 0, get(0), many(100_000, 0x28, 2, 0))
	return all
}

// ofLocals joins the code for each of n locals.
func ofLocals(n uint32, of func(local uint32) []byte) (out []byte) {
	for l := range n {
		out = append(out, of(l)...)
	}
	return out
}

func numbered(n int) (all [][]byte) {
	for i := range n {
		all = append(all, export(fmt.Sprint("e", i), externFunction, 0))
	}
	return all
}

// beginnings run before the host asks for anything.
func beginnings() []attack {
	var p hostileGuest
	p.begin = code(invoke(p.hand(0)))
	p.crew = []wasmFunc{{typ: typeNothing, code: invoke(p.hand(0))}}
	with := func(parts ...any) hostileGuest { return hostileGuest{begin: code(parts...)} }
	start := hostileGuest{raw: map[byte][]byte{sectionStart: appendU32(nil, p.hand(0))}, crew: []wasmFunc{{typ: typeNothing, code: forever()}}}
	return []attack{
		{name: "a start section", limit: "no code runs while a module is loaded", ends: turnedAway("start section"), guest: start},
		{name: "recursion in `_initialize`", limit: stackBudget, ends: trapped(wasm.TrapDepth), guest: p},
		{name: "host calls in `_initialize`", limit: "the state of the connection", ends: trapped(wasm.TrapHost), guest: with(ask(abi.CallTimer, 1, 10))},
		{name: "a log flood in `_initialize`", limit: initBudget, ends: trapped(wasm.TrapFuel), guest: with(forever(ask(abi.CallLog, 3, manifestAt, 32)))},
	}
}

// features are what modules may be made of elsewhere.
func features() (all []attack) {
	add := func(words, name string, p hostileGuest) {
		all = append(all, attack{name: name, limit: "the features of core V2, and no others", ends: turnedAway(words), guest: p})
	}
	unread := func(words, name string, id byte, content []byte) {
		all = append(all, attack{name: name, limit: "the features of core V2, and no others", ends: unreadable(words), guest: hostileGuest{raw: map[byte][]byte{id: content}}})
	}
	unread("limits of kind 0x3", "a shared memory (threads)", sectionMemory, []byte{1, 3, 2, 4})
	add("instruction 0xfe10", "an atomic load (threads)", atOpen(num(0), 0xfe, 0x10, 2, 0, opDrop))
	unread("limits of kind 0x4", "a memory of 64 bits", sectionMemory, []byte{1, 4, 2})
	add("memories: wanted at most 1", "two memories", hostileGuest{raw: map[byte][]byte{sectionMemory: {2, 0, 2, 0, 2}}})
	add("instruction 0x12", "a tail call", atOpen(0x12, 0))
	add("instruction 0x13", "a tail call through a table", atOpen(num(0), 0x13, typeOne, 0))
	unread("section 13", "a section of exceptions", sectionTag, []byte{1, 0, 0})
	add("instruction 0x08", "an exception that is thrown", atOpen(0x08, 0))
	add("instruction 0x1f", "a `try_table`", atOpen(0x1f, voidBlock, 0, opEnd))
	add("instruction 0x06", "a `try` of the old kind", atOpen(0x06, voidBlock, opEnd))
	add("instruction 0xfd80", "relaxed vectors", atOpen(0xfd, 0x80, 0x02))
	unread("type form 0x5f", "a structure (garbage collection)", sectionType, []byte{1, 0x5f, 0})
	add("instruction 0x14", "a call through a typed reference", atOpen(0x14, 0))
	unread("limits of kind", "a table of 64 bits", sectionTable, []byte{1, funcref, 4, 1})
	return all
}

// unknowns want from the host what it does not have, or lack what it wants.
func unknowns() (all []attack) {
	add := func(words, name string, p hostileGuest) {
		all = append(all, attack{name: name, limit: "a list of imports and exports, with their types", ends: turnedAway(words), guest: p})
	}
	importing := func(name, module, field string, words string) {
		add(words, name, hostileGuest{imports: []string{foreign(module, field, externFunction, typeOne)}})
	}
	importing("an import of another module", "env", "system", `import "env.system": there is no such function`)
	importing("a host call that there is not", abi.Module, "exec", `import "wharf1.exec": there is no such function`)
	importing("a host call with another type", abi.Module, "take", `import "wharf1.take": wanted`)
	importing("files, by way of WASI", "wasi_snapshot_preview1", "path_open", `path_open": there is no such function`)
	importing("sockets, by way of WASI", "wasi_snapshot_preview1", "sock_send", `sock_send": there is no such function`)
	importing("an import of the meter's", "__wharf", "fuel", `import "__wharf.fuel": there is no such function`)
	importing("an import whose name moves the cursor", "env", "\x1b[2J", `"env.\x1b[2J"`)
	add(`import "env.m": wanted functions only, found a memory`, "an import of a memory", hostileGuest{imports: []string{foreign("env", "m", externMemory, 0, 1)}, raw: map[byte][]byte{sectionMemory: {0}}})
	add(`import "env.t": wanted functions only, found a table`, "an import of a table", hostileGuest{imports: []string{foreign("env", "t", externTable, funcref, 0, 1)}})
	add(`import "env.g": wanted functions only, found a global`, "an import of a global", hostileGuest{imports: []string{foreign("env", "g", externGlobal, 0x7f, 0)}})
	add("one of that name, found two", "an export that is there twice", hostileGuest{exports: [][]byte{export(abi.ExportEvent, externFunction, 0)}})
	add("not a Wharf plugin", "a module that is no plugin", hostileGuest{raw: map[byte][]byte{sectionExport: list(export("memory", externMemory, 0))}})
	add("built for ABI 9", "a plugin for another version", hostileGuest{raw: map[byte][]byte{sectionExport: list(export("wharf_abi_9", externFunction, hostCalls))}})
	return all
}

// malformed binaries are no modules, or no valid ones.
func malformed() (all []attack) {
	add := func(words, name string, whole []byte) {
		all = append(all, attack{name: name, limit: "the reader of modules", ends: unreadable(words), whole: whole})
	}
	sound := (&hostileGuest{}).bytes()
	header := sound[:8]
	follow := func(parts ...any) []byte { return append(bytes.Clone(header), code(parts...)...) }
	add("not a WebAssembly module", "an empty file", []byte{})
	add("not a WebAssembly module", "text", []byte("#!/bin/sh\nexit 0\n"))
	add("not a WebAssembly module", "a component", []byte("\x00asm\x0d\x00\x01\x00"))
	add("are left", "half a module", sound[:len(sound)/2])
	add("is unknown, repeated or out of order", "sections out of order", follow(section(sectionFunction, []byte{0}), section(sectionType, []byte{0})))
	add("is unknown, repeated or out of order", "a section twice", follow(section(sectionType, []byte{0}), section(sectionType, []byte{0})))
	add("is unknown, repeated or out of order", "a section that there is not", follow(section(99, nil)))
	add("are announced", "a section of 4 GiB in a file of 14 bytes", follow(sectionType, appendU32(nil, 1<<32-1)))
	add("entries are announced", "4 billion types in a section of 5 bytes", follow(section(sectionType, appendU32(nil, 1<<32-1))))
	add("longer than 32 bits", "a number without an end", follow(sectionType, many(12, 0x80)))
	add("have bodies", "functions without code", follow(section(sectionType, list(typ("", ""))), section(sectionFunction, []byte{1, 0})))
	add("is used", "a function of a type that there is not", follow(section(sectionType, []byte{0}), section(sectionFunction, []byte{1, 5})))
	add("not UTF-8", "a name that is no text", follow(section(0, []byte("\x01\xff"))))
	add("left over", "bytes after the last entry of a section", follow(section(sectionType, []byte{0, 0})))
	endless := hostileGuest{raw: map[byte][]byte{sectionCode: list([]byte{2, 0, 1}, []byte{2, 0, opEnd}, []byte{2, 0, opEnd})}}
	return append(all,
		attack{name: "a body that does not end", limit: "the reader of modules", ends: turnedAway("too early"), guest: endless},
		attack{name: "a branch to a block that there is not", limit: "the reader of modules", ends: turnedAway("label 9 is used"), guest: atOpen(opBr, 9)},
		attack{name: "a function that returns nothing where it should", limit: "the validation of wazero", ends: turnedAway("compile: invalid function"), guest: hostileGuest{crew: []wasmFunc{{typ: typeOne}}}},
		attack{name: "a load from an address of 64 bits", limit: "the validation of wazero", ends: turnedAway("compile: invalid function"), guest: atOpen(0x42, 0, 0x28, 2, 0, opDrop)},
	)
}
