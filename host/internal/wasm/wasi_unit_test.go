package wasm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"time"
)

// TestBoundsOfWasi has counts at their bounds and past them, and holds what calls pay.
func TestBoundsOfWasi(t *testing.T) {
	var log strings.Builder
	ended := false
	config := InstanceConfig{Stderr: &log, Random: strings.NewReader("0123456789"), Env: []string{"A=1", "B=22", "C=333"}}
	wasiWorld(t, config, func(in *Instance, sys func(string, ...uint64) errno) {
		view, _ := in.Memory(0, pageSize)
		pays := func(want int64, name string, args ...uint64) errno {
			t.Helper()
			left := in.Left()
			got := sys(name, args...)
			if paid := left - in.Left(); paid != want+wasiCall {
				t.Errorf("%s of %d pays %d, want %d", name, args, paid, want+wasiCall)
			}
			return got
		}
		word := func(at int) uint32 { return binary.LittleEndian.Uint32(view[at:]) }
		if e := pays(0, "fd_write", stdout, 100, maxVectors, 50); e != success || word(50) != 0 {
			t.Errorf("as many vectors as may be: %d, %d", e, word(50))
		}
		if e := pays(0, "fd_write", stdout, 100, maxVectors+1, 50); e != eInval {
			t.Errorf("a vector too many: %d", e)
		}
		copy(view[100:], []byte{200, 0, 0, 0, 30, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 200, 0, 0, 0, 12, 0, 0, 0})
		if e := pays(2*42, "fd_write", stderr, 100, 3, 50); e != success || word(50) != 42 || log.Len() != 42 {
			t.Errorf("three vectors: %d, %d, %d", e, word(50), log.Len())
		}
		clear(view)
		for fd, right := range []byte{1 << 1, 1 << 6, 1 << 6} {
			if e := pays(0, "fd_fdstat_get", uint64(fd), 60); e != success || view[60] != 2 || view[68] != right {
				t.Errorf("descriptor %d: %d, %v", fd, e, view[60:84])
			}
		}
		for id, want := range map[uint64]errno{clockRealtime: success, clockMonotonic: success, 2: eInval} {
			if e := sys("clock_res_get", id, 60); e != want {
				t.Errorf("resolution of clock %d: %d", id, e)
			}
		}
		if e := pays(4+5+6, "environ_get", 16, 32); e != success || string(view[32:47]) != "A=1\x00B=22\x00C=333\x00" ||
			word(16) != 32 || word(20) != 36 || word(24) != 41 {
			t.Errorf("environment: %d, %q, %v", e, view[32:47], view[16:28])
		}
		if e := pays(4*8, "random_get", 60, 8); e != success || string(view[60:68]) != "01234567" {
			t.Errorf("randomness: %d, %q", e, view[60:68])
		}
		clear(view)
		if e := pays(maxSubscriptions*wasiCall, "poll_oneoff", 0, 8192, maxSubscriptions, 60000); e != success || word(60000) != maxSubscriptions {
			t.Errorf("as many subscriptions as may be: %d, %d", e, word(60000))
		}
		if e := pays(0, "poll_oneoff", 0, 8192, maxSubscriptions+1, 60000); e != eInval {
			t.Errorf("a subscription too many: %d", e)
		}
		view[24] = 1
		if e := pays(wasiCall+napPrice, "poll_oneoff", 0, 8192, 1, 60000); e != success {
			t.Errorf("a nap of a nanosecond: %d", e)
		}
		ended = true
	})
	if !ended {
		t.Error("the call ended before its end")
	}
	in := wasiWorld(t, InstanceConfig{Random: strings.NewReader("0")}, func(_ *Instance, sys func(string, ...uint64) errno) { sys("random_get", 0, 2) })
	if in.Dead() == nil || in.Dead().Kind != TrapHost {
		t.Errorf("randomness that ends: %v", in.Dead())
	}
}

func TestAnswersOfPoll(t *testing.T) {
	for _, test := range []struct {
		kind, flags byte
		timeout     time.Duration
		want        time.Duration
		err         byte
	}{
		{clockEvent, 0, 0, 0, 0}, {clockEvent, 0, longestNap - 1, longestNap - 1, 0}, {clockEvent, 0, longestNap, longestNap, 0},
		{clockEvent, 0, time.Hour, longestNap, 0}, {clockEvent, 0, -1, longestNap, 0}, {clockEvent, 1, 0, longestNap, 0}, {clockEvent, 2, 5, 5, 0},
		{1, 0, time.Hour, 0, byte(eBadf)}, {2, 1, 5, 0, byte(eBadf)},
	} {
		s, e := make([]byte, subscriptionSize), bytes.Repeat([]byte{0xff}, eventSize)
		copy(s, "userdata")
		s[8], s[40] = test.kind, test.flags
		binary.LittleEndian.PutUint64(s[24:], uint64(test.timeout))
		want := append([]byte("userdata"), test.err, 0, test.kind)
		want = append(want, make([]byte, eventSize-len(want))...)
		if got := answer(s, e); got != test.want || !bytes.Equal(e, want) {
			t.Errorf("%+v: %s, %v", test, got, e)
		}
	}
}

// A call may spend its last unit. The counters are below zero only after they had none.
func TestCountersAtZero(t *testing.T) {
	fuel, depth := unmetered(5), unmetered(0)
	in := &Instance{fuel: &fuel, depth: &depth}
	in.Charge(5)
	in.Charge(-7)
	if in.Left() != 0 || in.pending != nil {
		t.Errorf("%d units left, %v", in.Left(), in.pending)
	}
	for _, test := range []struct {
		fuel, depth int64
		kind, want  TrapKind
	}{
		{0, 0, TrapUnreachable, TrapUnreachable}, {-1, 0, TrapUnreachable, TrapFuel}, {0, 1<<32 - 1, TrapUnreachable, TrapDepth},
		{-1, 1<<32 - 1, TrapUnreachable, TrapFuel}, {-1, -1, TrapMemory, TrapMemory},
	} {
		fuel, depth = unmetered(test.fuel), unmetered(test.depth)
		if got := in.metered(test.kind); got != test.want {
			t.Errorf("%+v: %d", test, got)
		}
	}
	fuel = 3
	func() {
		defer func() {
			if _, stopped := recover().(stop); !stopped {
				t.Error("it does not stop")
			}
		}()
		in.Charge(4)
	}()
	if in.pending == nil || in.pending.Kind != TrapFuel || in.Left() != -1 {
		t.Errorf("%v, %d left", in.pending, in.Left())
	}
}

// A function without a result yields zero. References are made by their numbers.
func TestResultsAndReferences(t *testing.T) {
	b := one(seq(i32c(0), opRefFunc, 1, opTableSet, 0, i32c(1), opRefFunc, 2, opTableSet, 0, get(0), i32c(1), opCallIndirect, unary, 0),
		fn{typ: unary, code: seq(get(0), i32c(2), opI32Add)},
		fn{typ: unary, code: seq(get(0), i32c(2), 0x6c)},
		fn{typ: 2})
	b.types = append(b.types, signature{i32, ""})
	b.tables, b.elems = []bounds{{min: 4}}, []uint32{0, 1, 2}
	b.exports = append(b.exports, exported{"nothing", externFunction, 3})
	in := start(t, newEngine(t, plain), b.bytes())
	if got, err := in.Export("run").Call(1000, 7); got != 14 || err != nil {
		t.Errorf("entry 1 says %d, %v", got, err)
	}
	if got, err := in.Export("nothing").Call(1000, 7); got != 0 || err != nil {
		t.Errorf("nothing is %d, %v", got, err)
	}
}

// The first and the last of each range of instructions, and what stands beside them.
func TestRangesOfInstructions(t *testing.T) {
	for _, clz := range []int{opI32Clz, opI64Clz} {
		for i := range 18 {
			o, pop, weight, effort := plainOps[clz+i], 2, weightRegister, 6
			if i < 3 {
				pop = 1
			}
			if i >= 6 && i <= 9 {
				weight, effort = weightDivide, 60
			}
			if o != (opcode{imm: immNone, pop: uint8(pop), push: 1, weight: uint8(weight), effort: uint16(effort)}) {
				t.Errorf("instruction %#x is %+v", clz+i, o)
			}
		}
	}
	for _, test := range []struct {
		table       *[256]opcode
		first, last int
		imm         immediate
		pop         uint8
		weight      int
		effort      uint16
	}{
		{plainOps, opI32Load, opI64Load32U, immMemArg, 1, weightLoad, 60},
		{plainOps, opI32Store, opI64Store32, immMemArg, 2, weightTouch, 60},
		{plainOps, opI32Eqz, opI32Eqz, immNone, 1, weightRegister, 6},
		{plainOps, opI32Eq, opI32GeU, immNone, 2, weightRegister, 6},
		{plainOps, opI64Eqz, opI64Eqz, immNone, 1, weightRegister, 6},
		{plainOps, opI64Eq, opF64Ge, immNone, 2, weightRegister, 6},
		{plainOps, opF32Sqrt, opF32Sqrt, immNone, 1, weightDivide, 12},
		{plainOps, opF64Div, opF64Div, immNone, 2, weightDivide, 12},
		{plainOps, opF32Min, opF32Max, immNone, 2, 2, 30},
		{plainOps, opI32TruncF32S, opI32TruncF64U, immNone, 1, 2, 90},
		{plainOps, opI64TruncF32S, opI64TruncF64U, immNone, 1, 2, 90},
		{plainOps, opI32ReinterpretF32, opF64ReinterpretI64, immNone, 1, 2, 6},
		{plainOps, opI32Extend8S, opI64Extend32S, immNone, 1, weightRegister, 6},
		{plainOps, opMemoryGrow, opMemoryGrow, immZero, 1, weightHost, 60},
		{miscOps, opI32TruncSatF32S, opI64TruncSatF64U, immNone, 1, 4, 60},
		{miscOps, opMemoryFill, opMemoryFill, immZero, 3, weightHost, 350},
		{vectorOps, opV128Load8Lane, opV128Load64Lane, immMemLane, 2, weightLoad, 70},
		{vectorOps, opI64x2ExtmulLowS, opI64x2ExtmulHighU, immNone, 2, 6, 40},
	} {
		for _, i := range []int{test.first, test.last} {
			if o := test.table[i]; o.imm != test.imm || o.pop != test.pop || o.weight != uint8(test.weight) || o.effort != test.effort {
				t.Errorf("instruction %#x is %+v", i, o)
			}
		}
	}
	for _, i := range []int{0x06, 0x0a, 0x12, 0x15, 0x18, 0x19, 0x1d, 0x27, 0xc5, 0xd3, 0xfe, 0xff} {
		if plainOps[i].imm != immUnknown {
			t.Errorf("instruction %#x is accepted", i)
		}
	}
	if miscOps[0x12].imm != immUnknown || vectorOps[0x9a].imm != immUnknown {
		t.Error("an instruction that is not there is accepted")
	}
}

// An export called memory has to be one, and what is said of a module is of its exports.
func TestInspectedExports(t *testing.T) {
	b := kept(false)
	b.exports = append(b.exports, exported{"yield", externFunction, 0})
	info, found, err := Inspect(b.bytes(), plain)
	want := `memory memory, run (i32) -> (i32), own global, yield () -> (i32)`
	if got := strings.Join(info.Exports, ", "); len(found) > 0 || err != nil || got != want {
		t.Errorf("says %s, %v, %v", got, found, err)
	}
	if info.MinPages != 2 || info.MaxPages != 9 || info.Functions != 2 {
		t.Errorf("says %+v", info)
	}
	for _, e := range []exported{{"memory", externGlobal, 0}, {"memory", externFunction, 0}, {"space", externMemory, 0}} {
		b := kept(false)
		b.exports[0] = e
		if _, found, _ := Inspect(b.bytes(), plain); len(found) != 1 || found[0].Item != `export "memory"` {
			t.Errorf("%+v: %v", e, found)
		}
	}
	if _, _, err := Inspect([]byte("text"), plain); err == nil {
		t.Error("text is a module")
	}
}

// Under a provider that compiles, errors of compiling stay as they are.
func TestErrorsOfExtism(t *testing.T) {
	broken := errors.New("broken")
	for _, precompiled := range []bool{true, false} {
		x := &Extism{}
		x.precompiled = precompiled
		if err := x.NotCompiled(nil); err != nil {
			t.Errorf("nothing is %v", err)
		}
		if err := x.NotCompiled(broken); errors.Is(err, ErrNotCompiled) != precompiled || !errors.Is(err, broken) {
			t.Errorf("precompiled %v: %v", precompiled, err)
		}
	}
}
