package sdk

import (
	"unsafe"

	"github.com/wharf-mcp/wharf/abi"
)

// guest is the one transport of this module. A module instance serves one connection, so one is
// enough. Native builds have no such variable.
var guest Guest

// Register makes t the transport of this plugin. It is called once, from an
// init function of package main.
func Register(m abi.Manifest, t Transport) { guest = Guest{manifest: m, transport: t} }

//go:wasmexport wharf_abi_1
func marker() {}

//go:wasmexport wharf_event
func event(kind, handle, arg, size uint32) int32 {
	if guest.transport == nil {
		panic("sdk: no transport: call sdk.Register in an init function of package main")
	}
	return guest.Event(abi.Kind(kind), handle, arg, size)
}

// port is the package's access to the host. Its methods are the imports, with a slice in place
// of a pointer and a length.
type port struct{}

func (port) take(off uint32, b []byte) int32 { return hostTake(off, start(b), size(b)) }

func (port) scan(off, needles uint32) int32 { return hostScan(off, needles) }

func (port) deliver(exchange, off, size, flags uint32) int32 {
	return hostDeliver(exchange, off, size, flags)
}

func (port) deliverMem(exchange uint32, b []byte, flags uint32) int32 {
	return hostDeliverMem(exchange, start(b), size(b), flags)
}

func (port) forward(handle, off, size, flags uint32) int32 {
	return hostForward(handle, off, size, flags)
}

func (port) write(handle uint32, b []byte, flags uint32) int32 {
	return hostWrite(handle, start(b), size(b), flags)
}

func (port) open(kind, exchange uint32, b []byte) int32 {
	return hostOpen(kind, exchange, start(b), size(b))
}

func (port) close(handle uint32) int32 { return hostClose(handle) }

func (port) timer(id, ms uint32) int32 { return hostTimer(id, ms) }

func (port) report(what, exchange, code uint32, b []byte) int32 {
	return hostReport(what, exchange, code, start(b), size(b))
}

func (port) save(b []byte) int32 { return hostSave(start(b), size(b)) }

func (port) log(level uint32, b []byte) { hostLog(level, start(b), size(b)) }

func start(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }

func size(b []byte) uint32 { return uint32(len(b)) }

//go:wasmimport wharf1 take
//go:noescape
func hostTake(off uint32, ptr unsafe.Pointer, size uint32) int32

//go:wasmimport wharf1 scan
func hostScan(off, needles uint32) int32

//go:wasmimport wharf1 deliver
func hostDeliver(exchange, off, size, flags uint32) int32

//go:wasmimport wharf1 deliver_mem
//go:noescape
func hostDeliverMem(exchange uint32, ptr unsafe.Pointer, size, flags uint32) int32

//go:wasmimport wharf1 forward
func hostForward(handle, off, size, flags uint32) int32

//go:wasmimport wharf1 write
//go:noescape
func hostWrite(handle uint32, ptr unsafe.Pointer, size, flags uint32) int32

//go:wasmimport wharf1 open
//go:noescape
func hostOpen(kind, exchange uint32, ptr unsafe.Pointer, size uint32) int32

//go:wasmimport wharf1 close
func hostClose(handle uint32) int32

//go:wasmimport wharf1 timer
func hostTimer(id, ms uint32) int32

//go:wasmimport wharf1 report
//go:noescape
func hostReport(what, exchange, code uint32, ptr unsafe.Pointer, size uint32) int32

//go:wasmimport wharf1 save
//go:noescape
func hostSave(ptr unsafe.Pointer, size uint32) int32

//go:wasmimport wharf1 log
//go:noescape
func hostLog(level uint32, ptr unsafe.Pointer, size uint32)
