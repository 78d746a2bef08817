//go:build !wasip1

package sdktest

import (
	"bytes"
	"fmt"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
)

// Host is a fake host with one guest. It answers every call like a host whose other side
// takes whatever is written, and keeps what the guest did for the test to look at. It is not
// safe for concurrent use.
type Host struct {
	// Verdict says what a delivered message is; nil means [Classify].
	Verdict func(exchange uint32, message []byte) abi.Verdict

	Delivered []Delivery
	Written   map[uint32][]byte // by handle
	Ended     map[uint32]bool   // handles whose write side is closed
	Opened    []abi.OpenRequest
	Reports   []Report
	Logs      []string
	Saved     []byte
	Timers    map[uint32]uint32 // armed ones, in milliseconds
	Trap      string            // why the last event trapped; empty if it returned

	guest   Guest
	payload []byte            // of the current event
	sealed  bool              // the payload can be forwarded to target and no more
	target  uint32            // the handle of the current event
	entries []Entry           // of the current event
	script  []Call            // of the current event, those not yet made
	partial map[uint32][]byte // messages that are not complete, by exchange
	indexes map[uint8]uint32  // open handles by index
	uses    map[uint8]uint32  // generation of the next handle of an index
}

// Delivery is one message that a guest delivered, and the verdict on it.
type Delivery struct {
	Exchange uint32
	Message  string
	Verdict  abi.Verdict
}

// Report is one call of report, without the manifest.
type Report struct {
	What     abi.What
	Exchange uint32
	Status   abi.Status
	Text     string
}

// Entry is one line of a recorded trace, and the bytes it speaks of.
type Entry struct {
	Line  string
	Bytes []byte
}

// Guest is what a host runs: a transport that was built natively, or a module
// in a sandbox whose imports end in [Host.Call].
type Guest interface {
	Event(k abi.Kind, handle, arg, size uint32) (result int32)
}

// New returns a host that runs t natively.
func New(m abi.Manifest, t sdk.Transport) *Host {
	return NewFor(func(h sdk.Host) Guest { return sdk.NewGuest(m, t, h) })
}

// NewFor returns a host that runs the guest that make makes for it.
func NewFor(make func(sdk.Host) Guest) *Host {
	h := &Host{
		Written: map[uint32][]byte{},
		Ended:   map[uint32]bool{},
		Timers:  map[uint32]uint32{},
		partial: map[uint32][]byte{},
		indexes: map[uint8]uint32{},
		uses:    map[uint8]uint32{},
	}
	h.guest = make(h)
	return h
}

// Event sends one event and returns its result. A guest that does what traps
// it in a sandbox traps here: Trap says why, and the result means nothing.
func (h *Host) Event(k abi.Kind, handle, arg uint32, payload []byte) (result int32) {
	h.show(k, handle, arg, payload)
	defer func() {
		h.payload, h.script = nil, nil
		reason := recover()
		if t, ok := reason.(trap); ok {
			h.Trap = string(t)
			h.record(abi.AppendTrap(nil, h.Trap), nil)
		} else if reason != nil {
			panic(reason)
		}
	}()
	result = h.guest.Event(k, handle, arg, uint32(len(payload)))
	h.record(abi.AppendReturn(nil, result), nil)
	return result
}

// show makes payload that of the current event, and begins its trace. What is
// sealed is not traced.
func (h *Host) show(k abi.Kind, handle, arg uint32, payload []byte) {
	h.entries, h.Trap = h.entries[:0], ""
	h.payload, h.target, h.sealed = payload, handle, isSealed(k, arg)
	line := abi.AppendEvent(nil, k, handle, arg, uint32(len(payload)))
	if h.sealed {
		payload = nil
	}
	h.record(line, payload)
}

// isSealed reports whether an event has a sealed payload.
func isSealed(k abi.Kind, arg uint32) bool { return k == abi.EventOpened && arg&abi.Sealed != 0 }

// Describe sends DESCRIBE and returns the manifest that the guest answers with.
func (h *Host) Describe() (abi.Manifest, error) {
	h.Event(abi.EventDescribe, 0, 0, nil)
	for _, e := range h.entries {
		if m, err := abi.DecodeManifest(e.Bytes); err == nil {
			return m, nil
		}
	}
	return abi.Manifest{}, fmt.Errorf("no answer to DESCRIBE: %s", h.Trap)
}

// Open sends OPEN.
func (h *Host) Open(s *abi.Settings) int32 {
	return h.Event(abi.EventOpen, 0, 0, abi.AppendSettings(nil, s))
}

// Message sends MESSAGE, with the facts before the message.
func (h *Host) Message(exchange uint32, f *abi.Facts, message string) int32 {
	payload := abi.AppendFacts(nil, f)
	return h.Event(abi.EventMessage, uint32(len(payload)), exchange, append(payload, message...))
}

// Sealed sends OPENED of a handle with a sealed payload. What the guest forwards
// of it is in Written like everything else.
func (h *Host) Sealed(handle uint32, blob []byte) int32 {
	return h.Event(abi.EventOpened, handle, abi.Sealed, blob)
}

// Data sends DATA of a handle.
func (h *Host) Data(handle, flags uint32, chunk []byte) int32 {
	return h.Event(abi.EventData, handle, flags, chunk)
}

// Entries returns the trace of the last event.
func (h *Host) Entries() []Entry { return h.entries }

// trap is the value with which a host call panics if it would end a guest in a sandbox.
type trap string

// Call is the guest's side, [sdk.Host].
func (h *Host) Call(op abi.Call, args [4]uint32, data []byte) int32 {
	delivered := len(h.Delivered)
	result := h.scripted(op, calls[op](h, args, data))
	if len(h.Delivered) > delivered {
		h.Delivered[delivered].Verdict = abi.Verdict(result)
	}
	if op == abi.CallOpen && result > 0 {
		h.hold(uint32(result))
	}
	h.recordCall(op, args, data, result)
	return result
}

// scripted returns the result that a script gives to the call. take and scan
// are computed all the same: a script cannot know better.
func (h *Host) scripted(op abi.Call, natural int32) int32 {
	if len(h.script) == 0 {
		return natural
	}
	next := h.script[0]
	h.script = h.script[1:]
	if next.Op != op || op == abi.CallTake || op == abi.CallScan {
		return natural
	}
	return next.Result
}

func (h *Host) recordCall(op abi.Call, args [4]uint32, data []byte, result int32) {
	if op == abi.CallOpen {
		r := h.Opened[len(h.Opened)-1]
		h.record(abi.AppendOpen(nil, abi.OpenKind(args[0]), args[1], &r, result), nil)
		return
	}
	carried := data
	if op == abi.CallTake {
		carried = nil
	}
	h.record(abi.AppendCall(nil, op, withPointer(op, args, len(data)), result), carried)
}

func (h *Host) record(line, data []byte) {
	h.entries = append(h.entries, Entry{Line: string(line), Bytes: bytes.Clone(data)})
}

// withPointer returns the arguments as they stand in the ABI, where a pointer
// (0 here) and a length stand for the data.
func withPointer(op abi.Call, a [4]uint32, size int) []uint32 {
	n := uint32(size)
	switch op {
	case abi.CallTake, abi.CallLog:
		return []uint32{a[0], 0, n}
	case abi.CallDeliverMem, abi.CallWrite:
		return []uint32{a[0], 0, n, a[1]}
	case abi.CallReport:
		return []uint32{a[0], a[1], a[2], 0, n}
	case abi.CallSave:
		return []uint32{0, n}
	}
	return a[:op.Params()]
}

var calls = [...]func(h *Host, a [4]uint32, data []byte) int32{
	abi.CallTake:       (*Host).take,
	abi.CallScan:       (*Host).scan,
	abi.CallDeliver:    (*Host).deliver,
	abi.CallDeliverMem: (*Host).deliverMem,
	abi.CallForward:    (*Host).forward,
	abi.CallWrite:      (*Host).write,
	abi.CallOpen:       (*Host).open,
	abi.CallClose:      (*Host).close,
	abi.CallTimer:      (*Host).timer,
	abi.CallReport:     (*Host).report,
	abi.CallSave:       (*Host).save,
	abi.CallLog:        (*Host).log,
}

// window returns payload bytes that a guest named; outside the payload it traps.
func (h *Host) window(off, size uint32) []byte {
	if uint64(off)+uint64(size) > uint64(len(h.payload)) {
		panic(trap(fmt.Sprintf("bytes %d to %d of a payload of %d", off, uint64(off)+uint64(size), len(h.payload))))
	}
	return h.payload[off : off+size]
}

func (h *Host) take(a [4]uint32, data []byte) int32 {
	if h.sealed {
		return int32(abi.Denied)
	}
	return int32(copy(data, h.payload[min(uint64(a[0]), uint64(len(h.payload))):]))
}

func (h *Host) scan(a [4]uint32, _ []byte) int32 {
	if h.sealed {
		return -1
	}
	off := min(uint64(a[0]), uint64(len(h.payload)))
	needles := abi.Needles(a[1])
	for i, c := range h.payload[off:] {
		if bytes.IndexByte(needles, c) >= 0 {
			return int32(off) + int32(i)
		}
	}
	return -1
}

func (h *Host) deliver(a [4]uint32, _ []byte) int32 {
	if h.sealed {
		return int32(abi.Denied)
	}
	return h.assemble(a[0], h.window(a[1], a[2]), a[3])
}

func (h *Host) deliverMem(a [4]uint32, data []byte) int32 {
	return h.assemble(a[0], data, a[1])
}

// assemble collects a message and asks for the verdict when it is complete.
func (h *Host) assemble(exchange uint32, data []byte, flags uint32) int32 {
	if flags&abi.Abort != 0 {
		delete(h.partial, exchange)
		return int32(abi.VerdictPending)
	}
	message := append(h.partial[exchange], data...)
	if flags&abi.End == 0 {
		h.partial[exchange] = message
		return int32(abi.VerdictPending)
	}
	delete(h.partial, exchange)
	verdict := Classify(message)
	if h.Verdict != nil {
		verdict = h.Verdict(exchange, message)
	}
	h.Delivered = append(h.Delivered, Delivery{exchange, string(message), verdict})
	return int32(verdict)
}

func (h *Host) forward(a [4]uint32, _ []byte) int32 {
	p := h.window(a[1], a[2])
	if h.sealed && a[0] != h.target && h.isOpen(a[0]) {
		return int32(abi.Denied)
	}
	return h.queue(a[0], p, a[3])
}

func (h *Host) write(a [4]uint32, data []byte) int32 { return h.queue(a[0], data, a[1]) }

func (h *Host) queue(handle uint32, data []byte, flags uint32) int32 {
	if !h.isOpen(handle) {
		return int32(abi.Closed)
	}
	h.Written[handle] = append(h.Written[handle], data...)
	h.Ended[handle] = flags&abi.End != 0
	return int32(abi.OK)
}

func (h *Host) hold(handle uint32) {
	index, _ := abi.SplitHandle(handle)
	h.indexes[index] = handle
}

func (h *Host) isOpen(handle uint32) bool {
	index, _ := abi.SplitHandle(handle)
	return index > 0 && h.indexes[index] == handle
}

func (h *Host) open(_ [4]uint32, data []byte) int32 {
	r, err := abi.DecodeOpenRequest(data)
	if err != nil {
		panic(trap(err.Error()))
	}
	h.Opened = append(h.Opened, r)
	for i := uint8(1); i <= abi.MaxHandles; i++ {
		if _, taken := h.indexes[i]; !taken {
			return int32(abi.MakeHandle(i, h.uses[i]))
		}
	}
	return int32(abi.LimitReached)
}

func (h *Host) close(a [4]uint32, _ []byte) int32 {
	if !h.isOpen(a[0]) {
		return int32(abi.Closed)
	}
	index, generation := abi.SplitHandle(a[0])
	delete(h.indexes, index)
	h.uses[index] = generation + 1
	return int32(abi.OK)
}

func (h *Host) timer(a [4]uint32, _ []byte) int32 {
	if h.Timers[a[0]] = a[1]; a[1] == 0 {
		delete(h.Timers, a[0])
	}
	return int32(abi.OK)
}

func (h *Host) report(a [4]uint32, data []byte) int32 {
	if what := abi.What(a[0]); what != abi.ReportManifest {
		h.Reports = append(h.Reports, Report{what, a[1], abi.Status(int32(a[2])), string(data)})
	}
	return int32(abi.OK)
}

func (h *Host) save(_ [4]uint32, data []byte) int32 {
	if len(data) > abi.MaxSavedState {
		return int32(abi.TooLarge)
	}
	h.Saved = bytes.Clone(data)
	return int32(abi.OK)
}

func (h *Host) log(a [4]uint32, data []byte) int32 {
	h.Logs = append(h.Logs, abi.Level(a[0]).String()+" "+string(data))
	return 0
}
