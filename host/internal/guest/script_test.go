package guest

import (
	"encoding/binary"
	"strings"

	"github.com/wharf-mcp/wharf/abi"
)

// order is a host call that a puppet is told to make.
type order struct {
	call abi.Call
	args args
}

// The moments at which a puppet can take its orders from its own module. Those of
// DATA come with the payload.
type moment byte

const (
	never moment = iota
	atStart
	atDescribe
)

// Where things lie in a puppet's memory of two pages.
const (
	puppetManifest = 16
	puppetRequest  = 512
	puppetOrders   = 1024
	puppetPayload  = 4096
	puppetSize     = 2 << 16
)

// orderSize is the size of an order in memory: the number of the call, and five
// arguments. A number that no call has ends the list.
const orderSize = 24

// script is a list of orders as it lies in memory, and in a payload.
func script(orders ...order) (out []byte) {
	for _, o := range orders {
		out = binary.LittleEndian.AppendUint32(out, uint32(o.call))
		for _, a := range o.args {
			out = binary.LittleEndian.AppendUint32(out, a)
		}
	}
	return binary.LittleEndian.AppendUint32(out, 1<<32-1)
}

// scripted is a guest without a will: it opens the stream main, reports that it is up,
// and makes the host calls that a payload of DATA lists; those of its own list it
// makes at the moment that it is for.
func scripted(when moment, own []byte) []byte {
	manifest := abi.AppendManifest(nil, &abi.Manifest{Name: "puppet", Version: "1", Grants: []abi.Grant{{Kind: abi.OpenStream, Name: "main"}}})
	n := len(abi.Calls())
	begin, describe := []byte{}, []byte{}
	switch perform := join(constant(puppetOrders), calling(n)); when {
	case atStart:
		begin = perform
	case atDescribe:
		describe = perform
	}
	event := join(
		on(abi.EventDescribe, describe, callCode(abi.CallReport, uint32(abi.ReportManifest), 0, 0, puppetManifest, uint32(len(manifest)))),
		on(abi.EventOpen, callCode(abi.CallOpen, uint32(abi.OpenStream), 0, puppetRequest, uint32(len(mainRequest))), callCode(abi.CallReport, uint32(abi.ReportUp), 0, 0, 0, 0)),
		on(abi.EventData, callCode(abi.CallTake, 0, puppetPayload, puppetSize-puppetPayload), constant(puppetPayload), calling(n)),
		constant(0))
	return join([]byte("\x00asm\x01\x00\x00\x00"),
		part(1, counted(append([][]byte{
			{0x60, 0, 0}, {0x60, 4, 0x7f, 0x7f, 0x7f, 0x7f, 1, 0x7f}, {0x60, 1, 0x7f, 0},
		}, callTypes()...)...)),
		part(2, counted(callImports()...)),
		part(3, []byte{4, 0, 1, 0, 2}), // the marker, the event, _initialize, and who performs
		part(5, []byte{1, 1, 2, 2}),
		part(7, counted(exported(abi.ExportMarker, 0, n), exported(abi.ExportEvent, 0, n+1), exported(abi.ExportInitialize, 0, n+2), exported(abi.ExportMemory, 2, 0))),
		part(10, counted(block(nil), block(event), block(begin), block(scriptModule()))),
		part(11, counted(segment(puppetManifest, manifest), segment(puppetRequest, mainRequest), segment(puppetOrders, own))))
}

// calling calls who performs the orders at the address on the stack.
func calling(calls int) []byte { return join([]byte{0x10}, leb(calls+3)) }

// scriptModule makes the calls of a list, whose address is its parameter.
func scriptModule() []byte {
	address := []byte{0x20, 0}
	load := func(at int) []byte { return join(address, []byte{0x28, 2}, leb(at)) }
	pass := join(load(0), constant(uint32(len(abi.Calls()))), []byte{0x4f, 0x04, 0x40, 0x0f, 0x0b}) // past the last call: return
	for _, c := range abi.Calls() {
		pass = join(pass, load(0), constant(uint32(c)), []byte{0x46, 0x04, 0x40})
		for k := range c.Params() {
			pass = join(pass, load(4+4*k))
		}
		pass = join(pass, invoke(c), []byte{0x0b})
	}
	return join([]byte{0x03, 0x40}, pass, address, constant(orderSize), []byte{0x6a, 0x21, 0, 0x0c, 0, 0x0b})
}

// on is what to do at an event.
func on(kind abi.Kind, parts ...[]byte) []byte {
	return join([]byte{0x20, 0}, constant(uint32(kind)), []byte{0x46, 0x04, 0x40}, join(parts...), []byte{0x0b})
}

// callCode makes a host call with constants.
func callCode(c abi.Call, args ...uint32) (out []byte) {
	for _, a := range args {
		out = join(out, constant(a))
	}
	return join(out, invoke(c))
}

// invoke makes a host call and drops its result.
func invoke(c abi.Call) []byte {
	if c.HasResult() {
		return []byte{0x10, byte(c), 0x1a}
	}
	return []byte{0x10, byte(c)}
}

func callTypes() (all [][]byte) {
	for _, c := range abi.Calls() {
		t := join([]byte{0x60, byte(c.Params())}, []byte(strings.Repeat("\x7f", c.Params())))
		if c.HasResult() {
			t = append(t, 1, 0x7f)
		} else {
			t = append(t, 0)
		}
		all = append(all, t)
	}
	return all
}

func callImports() (all [][]byte) {
	for n, c := range abi.Calls() {
		all = append(all, join(text(abi.Module), text(c.String()), []byte{0}, leb(3+n)))
	}
	return all
}

func exported(name string, kind byte, index int) []byte {
	return join(text(name), []byte{kind}, leb(index))
}

func segment(at uint32, data []byte) []byte {
	return join([]byte{0}, constant(at), []byte{0x0b}, text(string(data)))
}

func block(code []byte) []byte { return text(string(join([]byte{0}, code, []byte{0x0b}))) }

func part(id byte, content []byte) []byte { return join([]byte{id}, text(string(content))) }

func counted(items ...[]byte) []byte { return join(leb(len(items)), join(items...)) }

func text(s string) []byte { return join(leb(len(s)), []byte(s)) }

func leb(v int) []byte { return binary.AppendUvarint(nil, uint64(v)) }

// constant pushes an i32.
func constant(v uint32) []byte {
	out, n := []byte{0x41}, int32(v)
	for ; n < -64 || n > 63; n >>= 7 {
		out = append(out, byte(n)&0x7f|0x80)
	}
	return append(out, byte(n)&0x7f)
}

func join(parts ...[]byte) (all []byte) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}
