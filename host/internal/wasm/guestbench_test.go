package wasm

import (
	"bytes"
	"errors"
	"testing"
)

// lines is a payload of 64 KiB in lines of 64 bytes.
var lines = bytes.Repeat(append(bytes.Repeat([]byte("x"), 63), '\n'), 1024)

var errPointer = errors.New("a pointer outside of memory")

// guestABI is what testdata/guest imports and exports.
func guestABI() ABI {
	return ABI{
		Module: "wharf1", MarkerPrefix: "wharf_abi_", Marker: "wharf_abi_1",
		Imports: []HostFunc{
			{Name: "take", Params: 3, HasResult: true, Price: 60, Func: func(in *Instance, s []uint64) {
				b, ok := in.Memory(uint32(s[1]), uint32(s[2]))
				if !ok {
					in.Trap(errPointer)
				}
				s[0] = uint64(copy(b, lines))
			}},
			{Name: "deliver", Params: 3, HasResult: true, Price: 60, Func: func(in *Instance, s []uint64) { s[0] = 0 }},
		},
		Exports: []Export{{Name: "wharf_event", Params: 4, HasResult: true}},
	}
}

// The kinds of event testdata/guest tells apart.
const (
	eventNothing = 0 // returns
	eventIndex   = 1 // finds lines with bytes.IndexByte
	eventLoop    = 2 // finds lines byte by byte
)

func BenchmarkGuestEvent(b *testing.B) {
	for name, kind := range map[string]uint32{"nothing": eventNothing, "index": eventIndex, "loop": eventLoop} {
		b.Run(name, func(b *testing.B) {
			in := start(b, newEngine(b, guestABI()), guestBinary(b))
			f := in.Export("wharf_event")
			b.ReportAllocs()
			for b.Loop() {
				if _, err := f.Call(1<<40, kind, 0, 0, uint32(len(lines))); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(in.Used()), "units")
		})
	}
}
