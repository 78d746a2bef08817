package guest

import (
	"slices"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
)

// Observer sees all that passes between a guest and its host, for recordings that
// can be run again. The owner calls it, so one call at a time; what it
// is given is valid during the call only. Nothing is left out but the bytes of a
// sealed payload, so an Observer that keeps bytes has to hide the secrets.
type Observer interface {
	// Event begins an event. A sealed payload is nil, whatever its size.
	Event(kind abi.Kind, handle, arg, size uint32, payload []byte)

	// Call is a host call that was answered, with its arguments as the guest passed
	// them and the bytes that they point to, if they do.
	Call(c abi.Call, args []uint32, carried []byte, result int32)

	// Return ends the event; err is of one that did not return.
	Return(result int32, err error)
}

// Budget is the fuel for an event with that many bytes of payload.
func Budget(payload int) int64 { return wasm.EventBudget + earnedBy(payload) }

// DecodePrice is the fuel for each byte of a block that becomes fields of its own.
const DecodePrice = decodePrice

// Environ is the environment of every guest.
func Environ() []string { return slices.Clone(guestEnv) }

// observeEvent shows an event to the trace and the observer.
func (i *Instance) observeEvent(it *item) {
	i.traceEvent(it)
	if i.observer == nil {
		return
	}
	payload := it.payload
	if it.sealed() {
		payload = nil
	}
	i.observer.Event(it.kind, it.handle, it.arg, uint32(len(it.payload)), payload)
}

func (i *Instance) observeReturn(result int32, err error) {
	i.traceReturn(result, err)
	if i.observer != nil {
		i.observer.Return(result, err)
	}
}

// observeCall shows a host call after it was answered. Bytes that a guest passed
// are still where they were.
func (i *Instance) observeCall(c abi.Call, a []uint32, result int32) {
	if i.tracer != nil {
		i.traceCall(c, a, result)
	}
	if i.observer == nil {
		return
	}
	var carried []byte
	if at := PointerArg(c); at >= 0 && c != abi.CallTake {
		carried, _ = i.caller.Memory(a[at], a[at+1])
	}
	i.observer.Call(c, slices.Clone(a), carried, result) // a itself stays on the stack of every call
}

// PointerArg returns which argument of a host call is an address in the guest's
// memory, or -1; the next one is how many bytes lie there.
func PointerArg(c abi.Call) int {
	switch c {
	case abi.CallSave:
		return 0
	case abi.CallTake, abi.CallDeliverMem, abi.CallWrite, abi.CallLog:
		return 1
	case abi.CallOpen:
		return 2
	case abi.CallReport:
		return 3
	}
	return -1
}
