//go:build !wasip1

package sdk

import "github.com/wharf-mcp/wharf/abi"

// Host is the host of a native build: all host calls of the ABI, through one method. In a
// sandbox the imports of [abi.Module] take its place. A plugin behaves the same with
// both.
//
// args are the integers of the call in the order of the ABI. data stands for its
// pointer and length: take fills data, every other call reads it. data belongs
// to the guest again when Call returns.
type Host interface {
	Call(op abi.Call, args [4]uint32, data []byte) int32
}

// NewGuest returns a guest that runs t for host.
func NewGuest(m abi.Manifest, t Transport, host Host) *Guest {
	return &Guest{manifest: m, transport: t, conn: Conn{port: port{host}}}
}

// Register makes t the transport of this plugin. It is called once, from an
// init function of package main. Outside a sandbox there is no host to
// register with, so a native build drops t: its tests make as many guests as
// they like with NewGuest.
func Register(abi.Manifest, Transport) {}

// port is the package's access to the host. It has one method for each host call. A sandbox has
// another port with the same methods, whose calls cost nothing.
type port struct{ host Host }

func (p port) take(off uint32, b []byte) int32 {
	return p.host.Call(abi.CallTake, [4]uint32{off}, b)
}

func (p port) scan(off, needles uint32) int32 {
	return p.host.Call(abi.CallScan, [4]uint32{off, needles}, nil)
}

func (p port) deliver(exchange, off, size, flags uint32) int32 {
	return p.host.Call(abi.CallDeliver, [4]uint32{exchange, off, size, flags}, nil)
}

func (p port) deliverMem(exchange uint32, b []byte, flags uint32) int32 {
	return p.host.Call(abi.CallDeliverMem, [4]uint32{exchange, flags}, b)
}

func (p port) forward(handle, off, size, flags uint32) int32 {
	return p.host.Call(abi.CallForward, [4]uint32{handle, off, size, flags}, nil)
}

func (p port) write(handle uint32, b []byte, flags uint32) int32 {
	return p.host.Call(abi.CallWrite, [4]uint32{handle, flags}, b)
}

func (p port) open(kind, exchange uint32, b []byte) int32 {
	return p.host.Call(abi.CallOpen, [4]uint32{kind, exchange}, b)
}

func (p port) close(handle uint32) int32 {
	return p.host.Call(abi.CallClose, [4]uint32{handle}, nil)
}

func (p port) timer(id, ms uint32) int32 {
	return p.host.Call(abi.CallTimer, [4]uint32{id, ms}, nil)
}

func (p port) report(what, exchange, code uint32, b []byte) int32 {
	return p.host.Call(abi.CallReport, [4]uint32{what, exchange, code}, b)
}

func (p port) save(b []byte) int32 { return p.host.Call(abi.CallSave, [4]uint32{}, b) }

func (p port) log(level uint32, b []byte) { p.host.Call(abi.CallLog, [4]uint32{level}, b) }
