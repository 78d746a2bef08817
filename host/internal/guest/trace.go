package guest

import "github.com/wharf-mcp/wharf/abi"

// Tracer gets the lines of the call trace, in the form of package abi, and
// beside a line the bytes it speaks of, where there are any. Both are valid
// during the call only. The owner calls it.
type Tracer func(line, payload []byte)

func (i *Instance) traceEvent(it *item) {
	if i.tracer == nil {
		return
	}
	payload := it.payload
	if it.sealed() {
		payload = nil
	}
	i.tracer(abi.AppendEvent(nil, it.kind, it.handle, it.arg, uint32(len(it.payload))), payload)
}

func (i *Instance) traceReturn(result int32, err error) {
	switch {
	case i.tracer == nil:
	case err != nil:
		i.tracer(abi.AppendTrap(nil, err.Error()), nil)
	default:
		i.tracer(abi.AppendReturn(nil, result), nil)
	}
}

// traceCall writes the line of a host call after it was answered. Bytes that
// a guest passed are still where they were.
func (i *Instance) traceCall(c abi.Call, a []uint32, result int32) {
	bytesOf := func(ptr, n uint32) []byte {
		b, _ := i.caller.Memory(ptr, n)
		return b
	}
	var payload []byte
	switch c {
	case abi.CallOpen:
		if r, err := abi.DecodeOpenRequest(bytesOf(a[2], a[3])); err == nil {
			i.tracer(abi.AppendOpen(nil, abi.OpenKind(a[0]), a[1], &r, result), nil)
			return
		}
	case abi.CallWrite, abi.CallDeliverMem:
		payload = bytesOf(a[1], a[2])
	case abi.CallReport:
		payload = bytesOf(a[3], a[4])
	case abi.CallSave:
		payload = bytesOf(a[0], a[1])
	case abi.CallLog:
		payload = bytesOf(a[1], a[2])
	}
	i.tracer(abi.AppendCall(nil, c, a, result), payload)
}
