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
	case TrapOther, TrapHost:
		return t.Err.Error()
	case TrapExit:
		return fmt.Sprintf("exited with code %d", t.Code)
	}
	return [...]string{
		TrapFuel:        "used up its budget for one event",
		TrapDepth:       "nested its calls too deeply",
		TrapMemory:      "accessed memory it does not have",
		TrapTable:       "called or used a table entry that is not there",
		TrapDivide:      "divided by zero, or overflowed a division or conversion",
		TrapUnreachable: "gave up (executed an unreachable instruction)",
	}[t.Kind]
}

func (t *Trap) Unwrap() error { return t.Err }

// stop is the value with which a host function panics, to end a call whose trap it has stored in
// the instance. wazero turns it into the error of the call.
type stop struct{}

// wasmErrors maps the texts of wazero's errors to kinds: only the text of
// wazero's error tells the kind of a trap. If wazero changes a text, its trap becomes a TrapOther, and a test fails.
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

// trapKind returns the kind of an error of wazero, or TrapOther if it is not in wasmErrors.
func trapKind(err error) TrapKind {
	for _, e := range wasmErrors {
		if strings.HasPrefix(err.Error(), e.text) {
			return e.kind
		}
	}
	return TrapOther
}
