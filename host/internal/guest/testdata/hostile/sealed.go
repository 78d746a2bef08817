package main

import (
	"unsafe"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
)

// pry does what it must not with a sealed payload, as far as the host lets it.
func (h *hostile) pry(e sdk.Event) {
	size := uint32(e.Len())
	switch h.mode {
	case "pry":
		loot := make([]byte, 2*size)
		for off := range size {
			take(off, unsafe.Pointer(&loot[off]), 1)
		}
		take(0, unsafe.Pointer(&loot[0]), size)
		take(0, unsafe.Pointer(&loot[0]), 2*size)
		for c := range uint32(256) {
			if scan(0, c*0x01010101) != -1 {
				panic("a byte was found")
			}
		}
		deliver(0, 0, size, abi.More)
		deliver(0, 0, size, abi.End)
		deliver(7, 0, 1, abi.End)
		h.conn.Save(loot)
		h.conn.Log(abi.LevelInfo, string(loot))
		h.conn.Failed(7, abi.Internal, string(loot))
		h.conn.Deliver(7, loot, abi.End)
		h.handle.Write(loot, abi.More)
		e.Handle.Forward(e.Payload, abi.More)
	case "pieces":
		for off := range e.Len() {
			e.Handle.Write([]byte("-"), abi.More)
			e.Handle.Forward(e.Slice(off, off+1), abi.More)
		}
	case "divert":
		other, _ := h.conn.Open(abi.OpenStream, 0, &abi.OpenRequest{Grant: "main"})
		other.Forward(e.Payload, abi.More)
	case "beyond":
		e.Handle.Write([]byte("x"), abi.More)
		forward(e.Handle.ID(), 1, size, 0)
	case "shut":
		e.Handle.Close()
		e.Handle.Forward(e.Payload, abi.More)
	case "gone":
		h.conn.Failed(0, abi.Internal, "it has no use for this")
	}
}

//go:wasmimport wharf1 take
func take(off uint32, ptr unsafe.Pointer, size uint32) int32

//go:wasmimport wharf1 scan
func scan(off, needles uint32) int32
