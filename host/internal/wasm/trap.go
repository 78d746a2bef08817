package wasm

import (
	"fmt"
	"strings"
)

// TrapKind says why a call stopped.
type TrapKind uint8

const (
	TrapOther       TrapKind = iota
	TrapFuel                 // the budget of the call is spent
	TrapDepth                // calls are nested too deeply
	TrapMemory               // memory access out of bounds
	TrapTable                // table access out of bounds, or an empty or wrong entry called
	TrapDivide               // division by zero, or overflow of a division or conversion
	TrapUnreachable          // the module gave up: a panic, an abort, an assertion
	TrapExit                 // the module called proc_exit
	TrapHost                 // a host function ended the call
)

// Trap is the error of a call that did not return, and of every later call to
// the same instance.
type Trap struct {
	Kind TrapKind
	Code uint32 // of TrapExit
	Err  error  // of TrapHost and TrapOther
}

func (t *Trap) Error() string {
	switch t.Kind {
	case TrapFuel:
		return "used up its budget for one event"
	case TrapDepth:
		return "nested its calls too deeply"
	case TrapMemory:
		return "accessed memory it does not have"
	case TrapTable:
		return "called or used a table entry that is not there"
	case TrapDivide:
		return "divided by zero, or overflowed a division or conversion"
	case TrapUnreachable:
		return "gave up (executed an unreachable instruction)"
	case TrapExit:
		return fmt.Sprintf("exited with code %d", t.Code)
	default:
		return t.Err.Error()
	}
}

func (t *Trap) Unwrap() error { return t.Err }

// stop is what a host function panics with to end a call whose trap it has
// left in the instance. wazero turns it into the error of the call.
type stop struct{}

// wasmErrors maps the texts of wazero's errors to kinds: wazero tells the kind of a trap by
// its text alone. If wazero changes a text, its trap becomes a TrapOther, and a test fails.
var wasmErrors = []struct {
	text string
	kind TrapKind
}{
	{"wasm error: unreachable", TrapUnreachable},
	{"wasm error: out of bounds memory access", TrapMemory},
	{"wasm error: invalid table access", TrapTable},
	{"wasm error: indirect call type mismatch", TrapTable},
	{"wasm error: integer divide by zero", TrapDivide},
	{"wasm error: integer overflow", TrapDivide},
	{"wasm error: invalid conversion to integer", TrapDivide},
	{"stack overflow", TrapDepth},
}

// trapOf reads the error of a call. The meter traps with unreachable as well,
// and leaves its reason in a global below zero.
func (i *Instance) trapOf(err error) *Trap {
	if t := i.pending; t != nil {
		i.pending = nil
		return t
	}
	text := err.Error()
	for _, e := range wasmErrors {
		if strings.HasPrefix(text, e.text) {
			return &Trap{Kind: i.metered(e.kind)}
		}
	}
	return &Trap{Kind: TrapOther, Err: err}
}

func (i *Instance) metered(kind TrapKind) TrapKind {
	switch {
	case kind != TrapUnreachable:
		return kind
	case int64(i.fuel.Get()) < 0:
		return TrapFuel
	case int32(i.depth.Get()) < 0:
		return TrapDepth
	default:
		return kind
	}
}
