package guest

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
)

// Surface is what a transport plugin may import and must export.
func Surface() wasm.ABI {
	s := wasm.ABI{
		Module: abi.Module,
		Exports: []wasm.Export{
			{Name: abi.ExportEvent, Params: 4, HasResult: true},
			{Name: abi.ExportInitialize, Optional: true},
		},
		MarkerPrefix: abi.ExportMarkerPrefix,
		Marker:       abi.ExportMarker,
	}
	for _, c := range abi.Calls() {
		s.Imports = append(s.Imports, wasm.HostFunc{
			Name: c.String(), Params: c.Params(), HasResult: c.HasResult(),
			Price: prices[c], Func: answer(c),
		})
	}
	return s
}

// prices are in fuel: what a call costs the host beside the bytes it moves,
// which are charged as they are moved.
var prices = [...]int64{
	abi.CallTake:       100,
	abi.CallScan:       100,
	abi.CallDeliver:    200,
	abi.CallDeliverMem: 200,
	abi.CallForward:    100,
	abi.CallWrite:      100,
	abi.CallOpen:       20_000,
	abi.CallClose:      5_000,
	abi.CallTimer:      1_000,
	abi.CallReport:     1_000,
	abi.CallSave:       2_000,
	abi.CallLog:        10_000,
}

// Price is what a host call costs beside the bytes it moves.
func Price(c abi.Call) int64 { return prices[c] }

// decodePrice is for each byte of a block that becomes fields of its own.
const decodePrice = 8

// args are the arguments of a host call, as the guest passed them.
type args [5]uint32

// answer returns the host side of a call.
func answer(c abi.Call) func(*wasm.Instance, []uint64) {
	n, hasResult, call := c.Params(), c.HasResult(), calls[c]
	return func(in *wasm.Instance, stack []uint64) {
		i := in.Owner().(*Instance)
		if i.caller == nil { // it is called in _initialize, before New has it
			i.caller = in
		}
		var a args
		for k := range n {
			a[k] = uint32(stack[k])
		}
		result := call(i, a)
		if hasResult {
			stack[0] = uint64(uint32(result))
		}
		if i.tracer != nil || i.observer != nil {
			i.observeCall(c, a[:n], result)
		}
	}
}

var calls = [...]func(*Instance, args) int32{
	abi.CallTake:       (*Instance).callTake,
	abi.CallScan:       (*Instance).callScan,
	abi.CallDeliver:    (*Instance).callDeliver,
	abi.CallDeliverMem: (*Instance).callDeliverMem,
	abi.CallForward:    (*Instance).callForward,
	abi.CallWrite:      (*Instance).callWrite,
	abi.CallOpen:       (*Instance).callOpen,
	abi.CallClose:      (*Instance).callClose,
	abi.CallTimer:      (*Instance).callTimer,
	abi.CallReport:     (*Instance).callReport,
	abi.CallSave:       (*Instance).callSave,
	abi.CallLog:        (*Instance).callLog,
}

// window returns n bytes of the current payload from off on; a range outside
// it ends the guest.
func (i *Instance) window(off, n uint32) []byte {
	p := i.current.payload
	if uint64(off)+uint64(n) > uint64(len(p)) {
		i.caller.Trap(fmt.Errorf("bytes %d to %d of a payload of %d", off, uint64(off)+uint64(n), len(p)))
	}
	i.caller.Charge(int64(n))
	return p[off : off+n : off+n]
}

// memory returns a view of the guest's memory; a range outside it ends the guest.
func (i *Instance) memory(ptr, n uint32) []byte { return Bytes(i.caller, ptr, n) }

// open handles only exist after OPEN; a call before it ends the guest.
func (i *Instance) needOpen() {
	if i.host == nil {
		i.caller.Trap(errBeforeOpen)
	}
}

var errBeforeOpen = errors.New("a host call other than report, log and take before OPEN")

func (i *Instance) callTake(a args) int32 { // off, ptr, len
	if i.current.sealed() {
		return int32(abi.Denied)
	}
	return Payload(i.current.payload).Take(i.caller, a[0], a[1], a[2])
}

func (i *Instance) callScan(a args) int32 { // off, needles
	if i.current.sealed() {
		return -1
	}
	return Payload(i.current.payload).Scan(i.caller, a[0], a[1])
}

// scanStep is how far one needle is looked for before the others are: what is
// paid for is the way to the first of them that is there.
const scanStep = 4 << 10

// scan returns where the first of the packed needles is in p, or -1, and how
// many bytes of p it has looked at.
func scan(p []byte, needles uint32) (at, looked int) {
	c := [4]byte{byte(needles), byte(needles >> 8), byte(needles >> 16), byte(needles >> 24)}
	if c[1] == c[0] && c[2] == c[0] && c[3] == c[0] {
		if at = bytes.IndexByte(p, c[0]); at < 0 {
			return -1, len(p)
		}
		return at, at
	}
	for ; looked < len(p); looked += scanStep {
		step := p[looked:min(looked+scanStep, len(p))]
		if at = scanShort(step, c); at >= 0 {
			return looked + at, looked + len(step)
		}
	}
	return -1, len(p)
}

// scanShort returns where the first of the needles is in p, or -1.
func scanShort(p []byte, needles [4]byte) int {
	at := -1
	for n, c := range needles {
		if n > 0 && c == needles[n-1] {
			continue
		}
		if k := bytes.IndexByte(p, c); k >= 0 {
			p, at = p[:k], k
		}
	}
	return at
}

func (i *Instance) callDeliver(a args) int32 { // exchange, off, len, flags
	i.needOpen()
	if i.current.sealed() {
		return int32(abi.Denied)
	}
	return int32(i.deliver(a[0], i.window(a[1], a[2]), a[3]))
}

func (i *Instance) callDeliverMem(a args) int32 { // exchange, ptr, len, flags
	i.needOpen()
	return int32(i.deliver(a[0], i.memory(a[1], a[2]), a[3]))
}

func (i *Instance) callForward(a args) int32 { // handle, off, len, flags
	p := i.window(a[1], a[2])
	h := i.lookup(a[0])
	if h == nil {
		return int32(abi.Closed)
	}
	end := a[3]&abi.End != 0
	if i.current.sealed() {
		return int32(i.forwardSealed(a[0], h, p, end))
	}
	if i.current.msg == nil {
		i.write(h, i.stash(p), end)
		return int32(abi.OK)
	}
	i.chargeCaller(h, len(p))
	if len(p) < borrowSize || !i.borrow(h, p, end) {
		i.write(h, p, end)
	}
	return int32(abi.OK)
}

func (i *Instance) callWrite(a args) int32 { // handle, ptr, len, flags
	p := i.memory(a[1], a[2])
	h := i.lookup(a[0])
	if h == nil {
		return int32(abi.Closed)
	}
	i.write(h, i.stash(p), a[3]&abi.End != 0)
	return int32(abi.OK)
}

func (i *Instance) callOpen(a args) int32 { // kind, exchange, ptr, len
	i.needOpen()
	block := i.memory(a[2], a[3])
	i.caller.Charge(decodePrice * int64(len(block)))
	if err := i.request.Decode(block); err != nil {
		i.caller.Trap(err)
	}
	return i.open(abi.OpenKind(a[0]), a[1], &i.request)
}

func (i *Instance) callClose(a args) int32 { // handle
	h := i.lookup(a[0])
	if h == nil {
		return int32(abi.Closed)
	}
	i.release(h)
	return int32(abi.OK)
}

func (i *Instance) callTimer(a args) int32 { // id, ms
	i.needOpen()
	return int32(i.timers.Set(a[0], time.Duration(a[1])*time.Millisecond))
}

func (i *Instance) callReport(a args) int32 { // what, exchange, code, ptr, len
	text := i.memory(a[3], a[4])
	what := abi.What(a[0])
	if what != abi.ReportManifest {
		i.needOpen()
	}
	switch what {
	case abi.ReportManifest:
		return i.reportManifest(text)
	case abi.ReportUp:
		i.mu.Lock()
		i.up = true
		i.mu.Unlock()
	case abi.ReportDone:
		i.inbound.forget(a[1])
		i.receiver.Done(a[1])
	case abi.ReportFailed:
		return i.reportFailed(a[1], abi.Status(int32(a[2])), cleantext.Line(string(text), maxWords))
	case abi.ReportExpired:
		i.receiver.Expired(a[1])
	case abi.ReportEnded:
		i.reportEnded()
	default:
		return int32(abi.Unavailable)
	}
	return int32(abi.OK)
}

func (i *Instance) reportManifest(block []byte) int32 {
	if i.current.kind != abi.EventDescribe {
		return int32(abi.Unavailable)
	}
	i.caller.Charge(decodePrice * int64(len(block)))
	m, err := abi.DecodeManifest(block)
	if err != nil {
		i.caller.Trap(err)
	}
	i.manifest = m
	return int32(abi.OK)
}

// reportEnded ends the connection in peace, if CLOSE asked for that.
func (i *Instance) reportEnded() {
	if i.closeHeard {
		i.fail(ErrClosed)
	} else {
		i.fail(i.pluginError("report", errEnded))
	}
}

// reportFailed ends an exchange; the failure of exchange 0 is the failure of
// the connection.
func (i *Instance) reportFailed(exchange uint32, status abi.Status, text string) int32 {
	cause := i.current.cause
	if cause == nil {
		cause = &StatusError{Status: status, HTTP: i.Status(exchange), Text: text}
	}
	if exchange == 0 {
		i.fail(i.connectError(cause, status, text))
		return int32(abi.OK)
	}
	i.inbound.forget(exchange)
	i.receiver.Failed(exchange, cause)
	return int32(abi.OK)
}

// Status returns the status of the HTTP response to an exchange, or 0. Only the
// receiver may call it, while it is called itself.
func (i *Instance) Status(exchange uint32) int {
	for n := range i.handles {
		if h := &i.handles[n]; h.stream != nil && h.exchange == exchange && h.status != 0 {
			return h.status
		}
	}
	return 0
}

func (i *Instance) callSave(a args) int32 { // ptr, len
	i.needOpen()
	p := i.memory(a[0], a[1])
	if len(p) > abi.MaxSavedState {
		return int32(abi.TooLarge)
	}
	if i.save != nil {
		i.save(p)
	}
	return int32(abi.OK)
}

func (i *Instance) callLog(a args) int32 { // level, ptr, len
	p := i.memory(a[1], a[2])
	if i.log != nil {
		i.log(abi.Level(a[0]), cleantext.Line(string(p), maxWords))
	}
	return 0
}
