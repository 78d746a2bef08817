package wasm

import (
	"bytes"
	"testing"
)

// The last index that is declared may be used, and the next one, which the meter would
// give to something of its own, may not.
func TestLastIndex(t *testing.T) {
	for i, want := range map[byte]bool{0: true, 4: true, 5: false, 6: false} {
		c := &cursor{b: []byte{i}}
		if new(image).index(c, "function", 5); (c.err == nil) != want {
			t.Errorf("index %d of 5: %v", i, c.err)
		}
	}
}

// What is announced must be there, counted from where the reading is.
func TestAnnouncedBytes(t *testing.T) {
	for n, want := range map[uint32]bool{0: true, 3: true, 4: false, 5: false} {
		c := &cursor{b: []byte("abcde"), at: 2}
		got := c.take(n)
		if (c.err == nil) != want || want && (len(got) != int(n) || c.at != 2+int(n)) {
			t.Errorf("%d of 3 bytes: %q, %v", n, got, c.err)
		}
		if !want && !bytes.Contains([]byte(c.err.Error()), []byte("3 are left")) {
			t.Error(c.err)
		}
	}
}

// Numbers are written as short as they are, and read back.
func TestSignedNumbers(t *testing.T) {
	for v, size := range map[int64]int{0: 1, 63: 1, 64: 2, -64: 1, -65: 2, 8191: 2, 8192: 3, 1<<63 - 1: 10, -1 << 63: 10} {
		b := appendS64(nil, v)
		c := &cursor{b: b}
		if got := c.signed(64); got != v || c.err != nil || len(b) != size || c.at != size {
			t.Errorf("%d is written as %x and read as %d, %v", v, b, got, c.err)
		}
	}
}

// The estimate of what a function takes to compile, part by part.
func TestSumOfEffort(t *testing.T) {
	e := effort{units: 7}
	if got := e.sum(10); got != 7 {
		t.Errorf("units alone are %d", got)
	}
	e = effort{units: 7, nodes: 100, labels: 60}
	if got, want := e.sum(10), 7+100*160/walksPerUnit; got != want {
		t.Errorf("with blocks and labels: %d, want %d", got, want)
	}
	e = effort{walks: 120, reads: 5}
	for locals, want := range map[int]int{10: 120 * 5 / stepsPerUnit, 3: 120 * 3 / stepsPerUnit, 0: 0} {
		if got := e.sum(locals); got != want {
			t.Errorf("with walks, of %d locals: %d, want %d", locals, got, want)
		}
	}
	e = effort{here: path{length: 3, addresses: 8}}
	e.block(2)
	if e.nodes != 1 || e.units != nodeEffort+2*aliveEffort+8/listedPerUnit {
		t.Errorf("a block: %+v", e)
	}
	var m meeting
	m.join(path{length: 3, addresses: 8})
	m.join(path{length: 1, addresses: 5})
	m.join(path{length: 0, addresses: 9})
	if m != (meeting{paths: 3, walks: 4 + 2 + 1, addresses: 5}) {
		t.Errorf("three paths meet: %+v", m)
	}
	e = effort{walks: 1}
	if e.meet(&m, 2); e.walks != 8 || e.units != carryEffort*3*2 || e.here != (path{addresses: 5}) {
		t.Errorf("where they meet: %+v", e)
	}
}

func TestBytesOfAStack(t *testing.T) {
	for _, test := range []struct {
		s    stack
		want int64
	}{
		{stack{}, 80}, {stack{slots: 3, passing: 2}, 80 + 5*8}, {stack{slots: 3, passing: 2, wide: true}, 80 + 5*16},
		{stack{relayed: 3}, 80 + 80 + 6*8}, {stack{relayed: 1, wide: true}, 80 + 80 + 2*16},
	} {
		if got := test.s.bytes(); got != test.want {
			t.Errorf("%+v has %d bytes, want %d", test.s, got, test.want)
		}
	}
}

// What is held beside the memory of an instance, with each limit at its default.
func TestHeldWithTheDefaults(t *testing.T) {
	l := defaultLimits
	want := 5<<20 + 20*int(l.Table) + 42*l.Entries + 122*l.Globals + 24*l.Segments + 256<<10
	if got := MaxHeld(); got != want {
		t.Errorf("%d bytes, want %d", got, want)
	}
}

func TestFindingsAreCounted(t *testing.T) {
	var f findings
	for range maxFindings + 3 {
		f.add("a", "b", "c")
	}
	if len(f.list) != maxFindings || f.omitted != 3 {
		t.Errorf("%d, and %d more", len(f.list), f.omitted)
	}
}

// The bits of the last group that a number has no use for repeat its sign.
func TestLastGroupOfANumber(t *testing.T) {
	for _, test := range []struct {
		last  byte // of five groups
		width int
		want  bool
	}{
		{0x7f, 32, true}, {0x78, 32, true}, {0x07, 32, true}, {0x0f, 32, false}, {0x70, 32, false}, {0x08, 32, false},
		{0x0f, 33, true}, {0x10, 33, false}, {0x70, 33, true}, {0x60, 33, false}, {0x40, 64, true},
	} {
		c := &cursor{b: []byte{0x80, 0x80, 0x80, 0x80, test.last}}
		if c.signed(test.width); (c.err == nil) != test.want {
			t.Errorf("%#x at the end of %d bits: %v", test.last, test.width, c.err)
		}
	}
}
