package host_test

import (
	"strings"

	"github.com/wharf-mcp/wharf/abi"
)

// hostileGuest is a module under construction that passes for a plugin: it has the
// marker, the event function and the memory, imports every host call under its own
// number, and answers DESCRIBE unless it is told otherwise. So what a test adds to
// it is what it is stopped for.
type hostileGuest struct {
	on      map[abi.Kind][]byte // code of an event, which leaves nothing on the stack
	begin   []byte              // code of _initialize; nil is none
	crew    []wasmFunc          // more functions, from firstHand on
	types   [][2]string         // more types, from firstType on
	imports []string            // more imports, from the number of host calls on; see foreign
	pages   uint32              // of memory; 0 is 2
	most    uint32              // pages it may grow to, as it says itself; 0 is no limit
	tables  [][]byte            // see table
	entries []uint32            // functions in table 0
	exports [][]byte            // more exports; see export
	raw     map[byte][]byte     // sections as they are, in place of what would stand there
}

// wasmFunc is one function: its type, how many i32 it has beside its parameters,
// and its code without the end.
type wasmFunc struct {
	typ    uint32
	locals uint32
	code   []byte
}

// Types that every hostileGuest has; behind them stands one for each host call.
const (
	typeNothing = 0 // () -> ()
	typeEvent   = 1 // (i32 i32 i32 i32) -> i32
	typeOne     = 2 // (i32) -> i32
)

// Where things lie in memory.
const (
	manifestAt = 1024
	requestAt  = 2048 // an open request for the grant main
	freeAt     = 4096
)

// Instructions, as far as the corpus needs their names.
const (
	opBlock, opLoop, opIf, opElse, opEnd = 0x02, 0x03, 0x04, 0x05, 0x0b
	opBr, opBrIf, opReturn               = 0x0c, 0x0d, 0x0f
	opCall, opIndirect, opDrop           = 0x10, 0x11, 0x1a
	opEq, opLess, opAdd                  = 0x46, 0x49, 0x6a
	opMisc, opNull, voidBlock            = 0xfc, 0xd0, 0x40
	funcref                              = 0x70
)

// Sections.
const (
	sectionType, sectionImport, sectionFunction, sectionTable, sectionMemory      = 1, 2, 3, 4, 5
	sectionGlobal, sectionExport, sectionStart, sectionElement, sectionCode       = 6, 7, 8, 9, 10
	sectionData, sectionCount, sectionTag                                         = 11, 12, 13
	externFunction, externTable, externMemory, externGlobal                  byte = 0, 1, 2, 3
)

// Numbers of functions.
var (
	hostCalls = uint32(len(abi.Calls()))
	firstType = 3 + hostCalls
)

// hand is the number of the n-th function of the crew, eventHand that of the event
// function.
func (p *hostileGuest) hand(n int) uint32 { return p.eventHand() + 2 + uint32(n) }
func (p *hostileGuest) eventHand() uint32 { return hostCalls + uint32(len(p.imports)) + 1 }

// bytes encodes the module.
func (p *hostileGuest) bytes() []byte {
	out := []byte("\x00asm\x01\x00\x00\x00")
	for _, s := range []struct {
		id    byte
		items [][]byte
	}{
		{sectionType, p.typeList()},
		{sectionImport, p.importList()},
		{sectionFunction, p.functionList()},
		{sectionTable, p.tables},
		{sectionMemory, [][]byte{p.memory()}},
		{sectionTag, nil},
		{sectionGlobal, nil},
		{sectionExport, p.exportList()},
		{sectionStart, nil},
		{sectionElement, p.elements()},
		{sectionCount, nil},
		{sectionCode, p.codeList()},
		{sectionData, data()},
	} {
		content, raw := p.raw[s.id]
		if !raw && len(s.items) == 0 {
			continue
		}
		if !raw {
			content = list(s.items...)
		}
		out = append(out, section(s.id, content)...)
	}
	return out
}

func section(id byte, content []byte) []byte {
	return append(appendU32([]byte{id}, uint32(len(content))), content...)
}

// list is a count and what is counted.
func list(items ...[]byte) []byte {
	out := appendU32(nil, uint32(len(items)))
	for _, item := range items {
		out = append(out, item...)
	}
	return out
}

func (p *hostileGuest) typeList() [][]byte {
	all := [][]byte{typ("", ""), typ(i32(4), i32(1)), typ(i32(1), i32(1))}
	for _, c := range abi.Calls() {
		results := 0
		if c.HasResult() {
			results = 1
		}
		all = append(all, typ(i32(c.Params()), i32(results)))
	}
	for _, t := range p.types {
		all = append(all, typ(t[0], t[1]))
	}
	return all
}

func typ(params, results string) []byte { return code(0x60, named(params), named(results)) }
func i32(n int) string                  { return strings.Repeat("\x7f", n) }

// named is a length and so many bytes.
func named(s string) []byte { return append(appendU32(nil, uint32(len(s))), s...) }

func (p *hostileGuest) importList() (all [][]byte) {
	for n, c := range abi.Calls() {
		all = append(all, []byte(foreign(abi.Module, c.String(), externFunction, 3+n)))
	}
	for _, i := range p.imports {
		all = append(all, []byte(i))
	}
	return all
}

// foreign is an import; what follows its kind is its type.
func foreign(module, name string, kind byte, typ ...int) string {
	out := code(named(module), named(name), kind)
	for _, t := range typ {
		out = append(out, byte(t))
	}
	return string(out)
}

func (p *hostileGuest) functionList() [][]byte {
	all := [][]byte{{typeNothing}, {typeEvent}, {typeNothing}}
	for _, f := range p.crew {
		all = append(all, appendU32(nil, f.typ))
	}
	return all
}

func (p *hostileGuest) memory() []byte { return limits(max(p.pages, 2), p.most) }

// limits are those of a memory or a table; most 0 is none.
func limits(least, most uint32) []byte {
	if most == 0 {
		return appendU32([]byte{0}, least)
	}
	return appendU32(appendU32([]byte{1}, least), most)
}

func table(least, most uint32) []byte { return code(funcref, limits(least, most)) }

func (p *hostileGuest) exportList() [][]byte {
	all := [][]byte{
		export(abi.ExportMarker, externFunction, p.eventHand()-1),
		export(abi.ExportEvent, externFunction, p.eventHand()),
		export(abi.ExportMemory, externMemory, 0),
	}
	if p.begin != nil {
		all = append(all, export(abi.ExportInitialize, externFunction, p.eventHand()+1))
	}
	return append(all, p.exports...)
}

func export(name string, kind byte, index uint32) []byte {
	return appendU32(code(named(name), kind), index)
}

func (p *hostileGuest) elements() [][]byte {
	if len(p.entries) == 0 {
		return nil
	}
	var hands [][]byte
	for _, f := range p.entries {
		hands = append(hands, appendU32(nil, f))
	}
	return [][]byte{code(0, num(0), opEnd, list(hands...))}
}

func (p *hostileGuest) codeList() [][]byte {
	all := [][]byte{body(0, nil), body(4, p.event()), body(0, p.begin)}
	for _, f := range p.crew {
		all = append(all, body(f.locals, f.code))
	}
	return all
}

func body(locals uint32, instructions []byte) []byte {
	b := []byte{0}
	if locals > 0 {
		b = append(appendU32([]byte{1}, locals), 0x7f)
	}
	b = append(append(b, instructions...), opEnd)
	return append(appendU32(nil, uint32(len(b))), b...)
}

// event is the code of the event function. Its parameters are the locals 0 to 3, and
// 4 to 7 are free.
func (p *hostileGuest) event() (out []byte) {
	say := code(hostCall(abi.CallReport, int32(abi.ReportManifest), 0, 0, manifestAt, int32(len(papers()))), opDrop)
	on := map[abi.Kind][]byte{abi.EventDescribe: say}
	for kind, instructions := range p.on {
		on[kind] = instructions
	}
	for kind := abi.EventDescribe; kind <= abi.EventClose; kind++ {
		if instructions, ok := on[kind]; ok {
			out = append(out, code(get(0), num(int32(kind)), opEq, opIf, voidBlock, instructions, opEnd)...)
		}
	}
	return append(out, num(0)...)
}

func papers() []byte {
	return abi.AppendManifest(nil, &abi.Manifest{Name: "hostile", Version: "1"})
}

func mainRequest() []byte { return abi.AppendOpenRequest(nil, &abi.OpenRequest{Grant: "main"}) }

func data() [][]byte {
	return [][]byte{
		code(0, num(manifestAt), opEnd, named(string(papers()))),
		code(0, num(requestAt), opEnd, named(string(mainRequest()))),
	}
}

// code joins instructions: ints as bytes, and slices.
func code(parts ...any) (out []byte) {
	for _, p := range parts {
		switch p := p.(type) {
		case int:
			out = append(out, byte(p))
		case byte:
			out = append(out, p)
		case []byte:
			out = append(out, p...)
		default:
			panic("neither a byte nor bytes")
		}
	}
	return out
}

// many repeats instructions.
func many(n int, parts ...any) []byte { return []byte(strings.Repeat(string(code(parts...)), n)) }

// forever is a loop without an end.
func forever(parts ...any) []byte { return code(opLoop, voidBlock, code(parts...), opBr, 0, opEnd) }

// hostCall makes a host call with these arguments and leaves its result.
func hostCall(c abi.Call, args ...int32) []byte {
	var out []byte
	for _, a := range args {
		out = append(out, num(a)...)
	}
	return append(out, invoke(uint32(c))...)
}

// ask is hostCall without the result.
func ask(c abi.Call, args ...int32) []byte {
	if c.HasResult() {
		return code(hostCall(c, args...), opDrop)
	}
	return hostCall(c, args...)
}

func num(v int32) []byte        { return appendS32([]byte{0x41}, v) }
func get(local uint32) []byte   { return appendU32([]byte{0x20}, local) }
func set(local uint32) []byte   { return appendU32([]byte{0x21}, local) }
func invoke(hand uint32) []byte { return appendU32([]byte{opCall}, hand) }

func appendU32(out []byte, v uint32) []byte {
	for ; v >= 0x80; v >>= 7 {
		out = append(out, byte(v)|0x80)
	}
	return append(out, byte(v))
}

func appendS32(out []byte, v int32) []byte {
	for ; v < -64 || v > 63; v >>= 7 {
		out = append(out, byte(v)&0x7f|0x80)
	}
	return append(out, byte(v)&0x7f)
}
