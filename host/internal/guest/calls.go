package guest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/internal/hostio"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
)

// ABI returns the imports that a transport plugin may have, and the exports that it must have.
func ABI() wasm.ABI {
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
			Price: calls[c].price, Func: answer(c),
		})
	}
	return s
}

// calls holds the answer of each host call and its price in fuel, see [Price].
var calls = [...]struct {
	price int64
	run   func(*Instance, args) int32
}{
	abi.CallTake:       {100, (*Instance).callTake},
	abi.CallScan:       {100, (*Instance).callScan},
	abi.CallDeliver:    {200, (*Instance).callDeliver},
	abi.CallDeliverMem: {200, (*Instance).callDeliverMem},
	abi.CallForward:    {100, (*Instance).callForward},
	abi.CallWrite:      {100, (*Instance).callWrite},
	abi.CallOpen:       {20_000, (*Instance).callOpen},
	abi.CallClose:      {5_000, (*Instance).callClose},
	abi.CallTimer:      {1_000, (*Instance).callTimer},
	abi.CallReport:     {1_000, (*Instance).callReport},
	abi.CallSave:       {2_000, (*Instance).callSave},
	abi.CallLog:        {10_000, (*Instance).callLog},
}

// Price returns the fuel that a host call costs before any bytes. Bytes are charged as they are moved
// or decoded.
func Price(c abi.Call) int64 { return calls[c].price }

// DecodePrice is the fuel for each byte of a block that the host decodes into fields.
const DecodePrice = 8

// args are the arguments of a host call, as the guest passed them.
type args [5]uint32

// answer returns the function that answers a host call.
func answer(c abi.Call) func(*wasm.Instance, []uint64) {
	n, hasResult, call := c.Params(), c.HasResult(), calls[c].run
	return func(in *wasm.Instance, stack []uint64) {
		i := in.Owner().(*Instance)
		if i.caller == nil { // the guest calls in _initialize, before New has set the caller
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
		i.observeCall(c, a[:n], result)
	}
}

// window returns n bytes of the current payload from offset off. A range outside the payload ends
// the guest.
func (i *Instance) window(off, n uint32) []byte {
	p := i.current.payload
	if uint64(off)+uint64(n) > uint64(len(p)) {
		i.caller.Trap(fmt.Errorf("bytes %d to %d of a payload of %d", off, uint64(off)+uint64(n), len(p)))
	}
	i.caller.Charge(int64(n))
	return p[off : off+n : off+n]
}

// memory returns a view of n bytes of the guest's memory. A range outside the memory ends the
// guest.
func (i *Instance) memory(ptr, n uint32) []byte { return Bytes(i.caller, ptr, n) }

// needOpen ends a guest that calls before OPEN, when it can have no handles yet.
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
	switch {
	case i.current.sealed() && a[0] != i.current.handle:
		return int32(abi.Denied) // only its own handle may get a sealed payload
	case i.current.sealed():
		i.current.forwarded = i.current.forwarded || len(p) > 0
		i.write(h, p, end) // from its place: a copy in the stash would stay there
	case i.current.msg == nil:
		i.write(h, i.stash(p), end)
	default:
		i.chargeCaller(h, len(p))
		if to, ok := h.stream.(hostio.Borrower); ok && len(p) >= borrowSize {
			i.current.msg.Hold()
			to.Borrow(p, end, i.current.msg)
			i.wrote(h, len(p))
		} else {
			i.write(h, p, end)
		}
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
	i.caller.Charge(DecodePrice * int64(len(block)))
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
		i.forget(a[1])
		i.receiver.Done(a[1])
	case abi.ReportFailed:
		return i.reportFailed(a[1], abi.Status(int32(a[2])), cleantext.Line(string(text), maxWords))
	case abi.ReportExpired:
		i.receiver.Expired(a[1])
	case abi.ReportEnded:
		if !i.closeHeard {
			i.fail(i.pluginError("report", errEnded))
		}
		i.fail(ErrClosed) // unless it has failed
	default:
		return int32(abi.Unavailable)
	}
	return int32(abi.OK)
}

func (i *Instance) reportManifest(block []byte) int32 {
	if i.current.kind != abi.EventDescribe {
		return int32(abi.Unavailable)
	}
	i.caller.Charge(DecodePrice * int64(len(block)))
	m, err := abi.DecodeManifest(block)
	if err != nil {
		i.caller.Trap(err)
	}
	i.manifest = m
	return int32(abi.OK)
}

// reportFailed ends an exchange with a failure. For exchange 0 it ends the connection.
func (i *Instance) reportFailed(exchange uint32, status abi.Status, text string) int32 {
	cause := i.current.cause
	if cause == nil {
		code, wait := i.Status(exchange)
		cause = &StatusError{Status: status, HTTP: code, Wait: wait, Text: text}
	}
	if exchange == 0 {
		i.fail(i.connectError(cause, status, text))
		return int32(abi.OK)
	}
	if unsent, ok := cause.(*hostio.UnsentError); ok && i.current.message != exchange {
		cause = unsent.Err // an earlier request may have had the message
	}
	i.forget(exchange)
	i.receiver.Failed(exchange, cause)
	return int32(abi.OK)
}

func (i *Instance) callSave(a args) int32 { // ptr, len
	i.needOpen()
	p := i.memory(a[0], a[1])
	if len(p) > abi.MaxSavedState {
		return int32(abi.TooLarge)
	}
	if i.config.Save != nil {
		i.config.Save(p)
	}
	return int32(abi.OK)
}

func (i *Instance) callLog(a args) int32 { // level, ptr, len
	p := i.memory(a[1], a[2])
	if i.config.Log != nil {
		i.config.Log(abi.Level(a[0]), cleantext.Line(string(p), maxWords))
	}
	return 0
}

// connectError returns the error of a connection that was not made. It blames the other side if
// something came from there, otherwise the plugin. If a process has ended and the plugin says why,
// the plugin's text is used: the plugin may know what the exit code means.
func (i *Instance) connectError(err error, status abi.Status, text string) error {
	switch {
	case i.current.kind == abi.EventExit && text != "":
		return &EndedError{Cause: &StatusError{Status: status, Text: text, Err: err}}
	case i.current.cause != nil:
		return &EndedError{Cause: err}
	}
	op := "connect"
	if i.Up() {
		op = ""
	}
	return i.pluginError(op, err)
}

// open opens a handle for the guest. It keeps a refusal for the user, as the cause of the failure
// that the guest is about to report. If an essential handle is refused, the connection ends.
func (i *Instance) open(kind abi.OpenKind, exchange uint32, r *abi.OpenRequest) int32 {
	n := slices.IndexFunc(i.handles, func(h handle) bool { return h.stream == nil })
	if n < 0 && len(i.handles) == abi.MaxHandles {
		return int32(abi.LimitReached)
	}
	if n < 0 {
		n, i.handles = len(i.handles), append(i.handles, handle{})
	}
	h, essential := &i.handles[n], r.Flags&abi.Essential != 0
	number := abi.MakeHandle(uint8(n+1), h.generation)
	stream, status, err := i.host.Open(kind, r, &sink{inst: i, handle: number})
	if status < 0 {
		if err == nil {
			err = fmt.Errorf("open %s %q: %v", kind, r.Grant, status)
		}
		if essential {
			i.fail(i.pluginError("open", err))
		}
		i.current.cause = err
		return int32(status)
	}
	*h = handle{stream: stream, kind: kind, exchange: exchange, generation: h.generation, essential: essential}
	if i.current.kind == abi.EventMessage && i.current.arg == exchange {
		h.message = exchange
	}
	if kind == abi.OpenProcess {
		if r, ok := stream.(hostio.AnswerReader); ok {
			i.answers.Store(&r)
		}
	}
	i.countOpen(1)
	return int32(number)
}
