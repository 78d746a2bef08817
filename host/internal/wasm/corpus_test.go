package wasm

import (
	"errors"
	"testing"
)

// TestFloodsOfWasi calls every function of WASI without an end: with zeros, and with
// the whole memory wherever a function takes an address and a length. Each call has
// its price, so each flood ends with its budget; proc_exit ends it at once.
func TestFloodsOfWasi(t *testing.T) {
	for _, f := range wasi {
		for name, value := range map[string]int32{"zeros": 0, "all of memory": 1 << 16} {
			t.Run(f.name+" with "+name, func(t *testing.T) {
				in := start(t, newEngine(t, plain), flood(f, value).bytes())
				want := TrapFuel
				if f.name == "proc_exit" {
					want = TrapExit
				}
				stops(t, in, want)
				if past := in.Used() - EventBudget; want == TrapFuel && (past < 0 || past > napPrice) {
					t.Errorf("used %d units past its budget", past)
				}
			})
		}
	}
}

// flood is a module that calls f over and over, each argument being value.
func flood(f hostFunc, value int32) build {
	b := one(nil)
	b.types = append(b.types, f.signature)
	b.imports = []imported{{f.module, f.name, externFunction, 2}}
	b.exports[1].index = 1
	var pass []byte
	for _, p := range []byte(f.signature.params) {
		if p == typeI64 {
			pass = append(pass, i64c(int64(value))...)
		} else {
			pass = append(pass, i32c(value)...)
		}
	}
	pass = append(pass, callTo(0)...)
	if len(f.signature.results) > 0 {
		pass = append(pass, 0x1a)
	}
	b.funcs[0].code = seq(forever(pass), get(0))
	return b
}

// FuzzLoad takes modules all the way: what is loaded compiles or is refused, starts
// or traps, and is called within its budget, and its neighbour does not notice. The
// seeds are generated modules, those that spend a budget in the slowest ways, and what
// earlier runs came across (testdata/fuzz).
func FuzzLoad(f *testing.F) {
	f.Add([]byte("\x00asm\x01\x00\x00\x00"))
	for _, hog := range hogs() {
		f.Add(hog.bytes())
	}
	for n := range 20 {
		seed := make([]byte, 40*n)
		for i := range seed {
			seed[i] = byte(i * (2*n + 7))
		}
		f.Add(generate(seed).bytes())
	}
	e := newEngine(f, plain)
	neighbour := start(f, e, one(seq(get(0), i32c(1), 0x6a)).bytes())
	f.Fuzz(func(t *testing.T, binary []byte) {
		m, err := e.Load(t.Context(), "fuzz", binary)
		if err != nil {
			return
		}
		in, err := m.Instantiate(t.Context(), InstanceConfig{})
		e.forget(m.program)
		defer func() { // an engine gives native code back at its own end
			if m.compiled != nil {
				m.compiled.Close(t.Context())
			}
		}()
		if err != nil {
			return
		}
		defer in.Close()
		var trap *Trap
		_, err = in.Export("run").Call(EventBudget/10, 7)
		if errors.As(err, &trap) && trap.Kind == TrapOther {
			t.Errorf("an error of the host's own: %v", err)
		}
		if past := in.Used() - EventBudget/10; past > 1<<26 {
			t.Errorf("used %d units past its budget", past)
		}
		if got, err := neighbour.Export("run").Call(1000, 41); got != 42 || err != nil {
			t.Errorf("the neighbour says %d, %v", got, err)
		}
	})
}
