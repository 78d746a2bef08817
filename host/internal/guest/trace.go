package guest

import (
	"slices"

	"github.com/wharf-mcp/wharf/abi"
)

// observeEvent passes an event to the trace and the observer.
func (i *Instance) observeEvent(e Event) {
	if i.config.Trace != nil {
		i.config.Trace(abi.AppendEvent(nil, e.Kind, e.Handle, e.Arg, e.Size), e.Payload)
	}
	if i.config.Observer != nil {
		i.config.Observer.Event(e.Kind, e.Handle, e.Arg, e.Size, e.Payload)
	}
}

func (i *Instance) observeReturn(result int32, err error) {
	switch {
	case i.config.Trace == nil:
	case err != nil:
		i.config.Trace(abi.AppendTrap(nil, err.Error()), nil)
	default:
		i.config.Trace(abi.AppendReturn(nil, result), nil)
	}
	if i.config.Observer != nil {
		i.config.Observer.Return(result, err)
	}
}

// observeCall passes an answered host call to the trace and the observer. The bytes in the guest's
// memory that the arguments point to have not changed yet.
func (i *Instance) observeCall(c abi.Call, a []uint32, result int32) {
	if i.config.Trace == nil && i.config.Observer == nil {
		return
	}
	var carried []byte
	if at := PointerArg(c); at >= 0 && c != abi.CallTake {
		carried, _ = i.caller.Memory(a[at], a[at+1])
	}
	if i.config.Trace != nil {
		line, payload := abi.AppendCall(nil, c, a, result), carried
		if c == abi.CallOpen {
			payload = nil
			if r, err := abi.DecodeOpenRequest(carried); err == nil {
				line = abi.AppendOpen(nil, abi.OpenKind(a[0]), a[1], &r, result)
			}
		}
		i.config.Trace(line, payload)
	}
	if i.config.Observer != nil {
		i.config.Observer.Call(c, slices.Clone(a), carried, result) // a copy, so that a itself stays on the stack in every call
	}
}

// PointerArg returns the index of the argument that is an address in the guest's memory, or -1. The
// argument after it is the number of bytes there.
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
