package abi

import (
	"reflect"
	"testing"
)

func FuzzFacts(f *testing.F)       { fuzzBlock(f, "facts") }
func FuzzSettings(f *testing.F)    { fuzzBlock(f, "settings") }
func FuzzManifest(f *testing.F)    { fuzzBlock(f, "manifest") }
func FuzzOpenRequest(f *testing.F) { fuzzBlock(f, "open") }
func FuzzHead(f *testing.F)        { fuzzBlock(f, "head") }

// fuzzBlock holds that a decoder never panics, and that what it accepts means
// the same after it has been encoded. The vectors of the other blocks are
// seeds as well: a field of the wrong sort is worth a try.
func fuzzBlock(f *testing.F, block string) {
	for _, v := range vectors(f) {
		f.Add(v.data)
	}
	c := codecs[block]
	f.Fuzz(func(t *testing.T, b []byte) {
		value, err := c.decode(b)
		if err != nil {
			return
		}
		enc := c.append(nil, value)
		again, err := c.decode(enc)
		if err != nil || !reflect.DeepEqual(value, again) {
			t.Fatalf("%+v\nencoded as % x\ndecoded as %+v, %v", value, enc, again, err)
		}
		if size, _ := BlockSize(b); len(enc) > size {
			t.Fatalf("% x is longer than what it was decoded from", enc)
		}
	})
}

// FuzzTrace holds that no number that a guest can pass breaks a trace line.
func FuzzTrace(f *testing.F) {
	f.Add(uint8(CallDeliver), uint32(1), uint32(2), uint32(3), uint32(4), uint32(5))
	f.Add(uint8(CallReport), ^uint32(0), ^uint32(0), ^uint32(0), ^uint32(0), ^uint32(0))
	f.Fuzz(func(t *testing.T, call uint8, a, b, c, d, e uint32) {
		which := Call(call) % callCount
		line := AppendCall(nil, which, []uint32{a, b, c, d, e}[:which.Params()], int32(e))
		line = AppendEvent(line, Kind(a), b, c, d)
		line = AppendReturn(line, int32(a))
		for _, ch := range line {
			if ch < ' ' || ch > '~' {
				t.Fatalf("%q is not printable on one line", line)
			}
		}
	})
}
