package sdk

import (
	"unsafe"

	"github.com/wharf-mcp/wharf/abi"
)

// guest is the one transport of this module. A module instance serves one
// connection, so one is enough; native builds have no such variable.
var guest *Guest

// Register makes t the transport of this plugin. It is called once, from an
// init function of package main.
func Register(m abi.Manifest, t Transport) { guest = NewGuest(m, t, imports{}) }

//go:wasmexport wharf_abi_0
func marker() {}

//go:wasmexport wharf_event
func event(kind, handle, arg, size uint32) int32 {
	if guest == nil {
		panic("sdk: no transport: call sdk.Register in an init function of package main")
	}
	return guest.Event(abi.Kind(kind), handle, arg, size)
}

// imports are the host calls as the module imports them.
type imports struct{}

func (imports) Call(op abi.Call, a [4]uint32, data []byte) int32 {
	p, n := unsafe.Pointer(unsafe.SliceData(data)), uint32(len(data))
	switch op {
	case abi.CallTake:
		return take(a[0], p, n)
	case abi.CallScan:
		return scan(a[0], a[1])
	case abi.CallDeliver:
		return deliver(a[0], a[1], a[2], a[3])
	case abi.CallDeliverMem:
		return deliverMem(a[0], p, n, a[1])
	case abi.CallForward:
		return forward(a[0], a[1], a[2], a[3])
	case abi.CallWrite:
		return write(a[0], p, n, a[1])
	case abi.CallOpen:
		return open(a[0], a[1], p, n)
	case abi.CallClose:
		return closeHandle(a[0])
	case abi.CallTimer:
		return timer(a[0], a[1])
	case abi.CallReport:
		return report(a[0], a[1], a[2], p, n)
	case abi.CallSave:
		return save(p, n)
	case abi.CallLog:
		log(a[0], p, n)
	}
	return int32(abi.OK)
}

//go:wasmimport wharf0 take
//go:noescape
func take(off uint32, ptr unsafe.Pointer, size uint32) int32

//go:wasmimport wharf0 scan
func scan(off, needles uint32) int32

//go:wasmimport wharf0 deliver
func deliver(exchange, off, size, flags uint32) int32

//go:wasmimport wharf0 deliver_mem
//go:noescape
func deliverMem(exchange uint32, ptr unsafe.Pointer, size, flags uint32) int32

//go:wasmimport wharf0 forward
func forward(handle, off, size, flags uint32) int32

//go:wasmimport wharf0 write
//go:noescape
func write(handle uint32, ptr unsafe.Pointer, size, flags uint32) int32

//go:wasmimport wharf0 open
//go:noescape
func open(kind, exchange uint32, ptr unsafe.Pointer, size uint32) int32

//go:wasmimport wharf0 close
func closeHandle(handle uint32) int32

//go:wasmimport wharf0 timer
func timer(id, ms uint32) int32

//go:wasmimport wharf0 report
//go:noescape
func report(what, exchange, code uint32, ptr unsafe.Pointer, size uint32) int32

//go:wasmimport wharf0 save
//go:noescape
func save(ptr unsafe.Pointer, size uint32) int32

//go:wasmimport wharf0 log
//go:noescape
func log(level uint32, ptr unsafe.Pointer, size uint32)
