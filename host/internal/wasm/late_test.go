package wasm

import (
	"errors"
	"testing"
)

// A call that has spent its budget does not go on for longer than a function may owe, be it
// in the arms of one function, or behind the calls that a recursion returns from. Each arm
// and each tail here has a charge of its own.
func TestWhatIsPaidLateIsBounded(t *testing.T) {
	const heavy = 600
	work := repeat(heavy, get(0), opDrop)
	arms := seq(repeat(40, get(0), opIf, blockEmpty, work, opEnd), get(0))
	tails := seq(get(0), opIf, blockEmpty, get(0), i32c(1), opI32Sub, callTo(0), opDrop, opEnd, work, get(0))
	for name, code := range map[string][]byte{"arms": arms, "tails": tails} {
		binary := one(code).bytes()
		e := newEngine(t, plain)
		all := start(t, e, binary)
		if _, err := all.Export("run").Call(1<<30, 50); err != nil {
			t.Fatal(err)
		}
		if all.Used() < 2*mostOwed {
			t.Fatalf("%s: all of it takes %d: too little to tell", name, all.Used())
		}
		for budget := int64(1); budget < all.Used(); budget += 499 {
			in := start(t, e, binary)
			_, err := in.Export("run").Call(budget, 50)
			var trap *Trap
			if !errors.As(err, &trap) || trap.Kind != TrapFuel {
				t.Errorf("%s: with a budget of %d of %d: %v", name, budget, all.Used(), err)
			}
			if over := in.Used() - budget; over > mostOwed+heavy {
				t.Errorf("%s: with a budget of %d it spends %d more", name, budget, over)
			}
			in.Close()
		}
		if _, err := start(t, e, binary).Export("run").Call(all.Used(), 50); err != nil {
			t.Errorf("%s: with just enough: %v", name, err)
		}
	}
}
