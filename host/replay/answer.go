package replay

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/guest"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
)

// surface returns the host calls for a replay. They cost a guest what they cost in a host, and the
// player answers them from the recording.
func surface() wasm.ABI {
	s := guest.ABI()
	for i, op := range abi.Calls() {
		s.Imports[i].Func = func(in *wasm.Instance, stack []uint64) {
			in.Owner().(*player).answer(in, op, stack)
		}
	}
	return s
}

// answer handles a host call. As in a host, a call that reaches beyond the memory or the
// payload, or that does not decode, ends the guest.
func (p *player) answer(in *wasm.Instance, op abi.Call, stack []uint64) {
	p.mod = in // also for calls before the start has returned
	var a [5]uint32
	for i := range op.Params() {
		a[i] = uint32(stack[i])
	}
	var carried []byte
	if at := guest.PointerArg(op); at >= 0 && op != abi.CallTake {
		carried = guest.Bytes(p.mod, a[at], a[at+1])
	}
	p.check(op, a, carried)
	got := call{op: op, args: a, content: content{bytes: carried, size: len(carried)}}
	if at := guest.PointerArg(op); at >= 0 {
		got.args[at] = 0
	}
	switch {
	case op == abi.CallTake:
		got.result = int32(abi.Denied)
		if p.step == nil || !p.step.sealed() {
			got.result = guest.Payload(p.payload()).Take(p.mod, a[0], a[1], a[2])
		}
	case op == abi.CallScan:
		got.result = -1
		if p.step == nil || !p.step.sealed() {
			got.result = guest.Payload(p.payload()).Scan(p.mod, a[0], a[1])
		}
	}
	p.match(&got)
	if op.HasResult() {
		stack[0] = uint64(uint32(got.result))
	}
	p.note(got.line())
}

// check ends the guest if the arguments are not valid.
func (p *player) check(op abi.Call, a [5]uint32, carried []byte) {
	switch op {
	case abi.CallDeliver, abi.CallForward:
		if uint64(a[1])+uint64(a[2]) > uint64(len(p.payload())) {
			p.mod.Trap(fmt.Errorf("bytes %d to %d of a payload of %d", a[1], uint64(a[1])+uint64(a[2]), len(p.payload())))
		}
		p.mod.Charge(int64(a[2]))
	case abi.CallOpen:
		p.mod.Charge(guest.DecodePrice * int64(len(carried)))
		if _, err := abi.DecodeOpenRequest(carried); err != nil {
			p.mod.Trap(err)
		}
	case abi.CallReport:
		if abi.What(a[0]) == abi.ReportManifest {
			p.mod.Charge(guest.DecodePrice * int64(len(carried)))
			p.manifest = bytes.Clone(carried)
		}
	}
}

func (p *player) payload() []byte {
	if p.step == nil {
		return nil
	}
	return p.step.bytes
}

// errStopped stops a guest at the call in which the recorded guest was stopped.
var errStopped = errors.New("it was stopped here when it was recorded")

// lookAhead bounds how many recorded calls are searched for a call of the guest.
const lookAhead = 64

// match compares a call with the recording, and sets its result. If the recording has the same
// call, now or further on, the result is that of this call. Otherwise, if the next recorded call
// has the same function, the result is that of the next call: only the arguments differ. Any other
// call gets a likely result.
func (p *player) match(got *call) {
	if p.step == nil || !p.compares(got.op) {
		p.makeUp(got)
		return
	}
	left := p.want[p.next:]
	at := slices.IndexFunc(left[:min(len(left), lookAhead)], func(c call) bool { return c.same(got) })
	switch {
	case at >= 0:
		for i := range left[:at] {
			p.differs(Missing, &left[i], nil)
		}
		p.next += at + 1
		got.adopt(&left[at])
	case len(left) == 0 && p.step.lied:
		p.halted = true
		p.mod.Trap(errStopped)
	case len(left) > 0 && left[0].op == got.op:
		p.next++
		got.adopt(&left[0])
		p.differs(Changed, &left[0], got)
	default:
		p.makeUp(got)
		p.differs(Extra, nil, got)
	}
}

// adopt sets the recorded result. A call that reads the payload keeps its result, since it read the
// payload of this replay.
func (c *call) adopt(from *call) {
	if !reads(c.op) {
		c.result = from.result
	}
}

// makeUp gives a call that the recording lacks a likely result: a message completes a request,
// and nothing can be opened.
func (p *player) makeUp(got *call) {
	switch got.op {
	case abi.CallDeliver, abi.CallDeliverMem:
		if flags := got.args[3]; flags&abi.End != 0 && flags&abi.Abort == 0 {
			got.result = int32(abi.VerdictAnswer)
		}
	case abi.CallOpen:
		got.result = int32(abi.Unavailable)
	}
}
