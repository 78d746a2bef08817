package worker

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/internal/guest"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
)

// A frame is the length of its body, a tag, and the body. Integers are little
// endian. The bodies:
//
//	BEGIN     pages u32, flags u32, size u32, name of a folder, module
//	EVENT     budget i64, kind u32, handle u32, arg u32, size u32, payload, or none
//	ANSWER    result i32, charge i64
//	SOURCE    a time i64, or randomness
//	COMPILE   kind u32, fuel i64, sizes u32 and u32, name, name of a folder, module
//
//	CALL      op u32, arguments 5 × u32, fuel left i64, named u32, what they name
//	OBSERVED  op u32, arguments 5 × u32, result i32
//	STDERR    bytes
//	ASK       how much u32; 0 is for the time
//	RETURN    result i32, used i64, pages u32
//	TRAP      kind u32, code u32, used i64, pages u32, text
//	REFUSED   text
//	COMPILED  the manifest of an auth provider or a policy, as JSON
//	FAILED    text
type tag byte

// The tags. The host sends the first four to a worker that runs a plugin, and the worker the next
// seven. COMPILE and its answers belong to another conversation, see job.
const (
	tagBegin tag = 1 + iota
	tagEvent
	tagAnswer
	tagSource

	tagCall
	tagObserved
	tagStderr
	tagAsk
	tagReturn
	tagTrap
	tagRefused

	tagCompile // from the host, in the place of BEGIN
	tagCompiled
	tagFailed
)

// Bounds of one frame of a worker. The bytes that a call carries come on top; they are at
// most the guest's memory.
const (
	headSize    = 5
	callSize    = 4 + 5*4 + 8 + 4
	maxStderr   = 64 << 10
	maxRandom   = 64 << 10
	maxSentText = 2 << 10
)

// bounds holds the longest bodies that the host accepts, by tag, without what a CALL carries.
var bounds = map[tag]uint32{
	tagCall: callSize, tagObserved: 4 + 5*4 + 4, tagStderr: maxStderr, tagAsk: 4,
	tagReturn: 4 + 8 + 4, tagTrap: 4 + 4 + 8 + 4 + maxSentText, tagRefused: maxSentText,
}

// A violation of the protocol is something that an honest worker never does.
type violation struct{ what string }

func (v *violation) Error() string { return v.what }

func violates(format string, a ...any) error { return &violation{fmt.Sprintf(format, a...)} }

// A RefusedError says why a plugin is not run at all.
type RefusedError struct {
	why   string
	Ended bool // because the process that compiled it ended, and not after an inspection
	Late  bool // Ended because it took too long
}

func (r *RefusedError) Error() string { return r.why }

// frames reads frames. A body is valid until the next frame is read.
type frames struct {
	in   *bufio.Reader
	body []byte
	most func(tag) (size uint32, known bool)
}

// keepBody is the largest buffer of a body that is kept for the next one.
const keepBody = 256 << 10

// next returns a frame, or io.EOF if the other side has ended. It does not read a frame that is too
// long.
func (f *frames) next() (tag, []byte, error) {
	var head [headSize]byte
	if _, err := io.ReadFull(f.in, head[:]); err != nil {
		return 0, nil, err
	}
	size, t := le.Uint32(head[:]), tag(head[4])
	if most, known := f.most(t); !known {
		return 0, nil, violates("it sent a frame of an unknown kind, %d", t)
	} else if size > most {
		return 0, nil, violates("it sent a frame of kind %d with %d bytes, where %d are the most", t, size, most)
	}
	if int(size) > cap(f.body) || cap(f.body) > keepBody && size <= keepBody {
		f.body = make([]byte, size)
	}
	f.body = f.body[:size]
	if _, err := io.ReadFull(f.in, f.body); err != nil {
		return 0, nil, errors.Join(io.ErrUnexpectedEOF, err)
	}
	return t, f.body, nil
}

// beginFrame begins a frame in b. The body is appended next; endFrame ends the frame.
func beginFrame(b []byte, t tag) []byte { return append(b[:0], 0, 0, 0, 0, byte(t)) }

// endFrame writes the length of the frame in b. more is the number of body bytes that follow
// outside of b.
func endFrame(b []byte, more int) []byte {
	le.PutUint32(b, uint32(len(b)-headSize+more))
	return b
}

var le = binary.LittleEndian

// appendU32 appends numbers of 32 bits.
func appendU32(b []byte, numbers ...uint32) []byte {
	for _, n := range numbers {
		b = le.AppendUint32(b, n)
	}
	return b
}

// bit returns a bool as a number.
func bit(set bool) uint32 {
	if set {
		return 1
	}
	return 0
}

// fields reads the body of a frame. A missing field reads as 0, and end then returns an error.
type fields struct {
	rest  []byte
	short bool
}

func (f *fields) take(n int) []byte {
	if n > len(f.rest) {
		f.short, f.rest = true, nil
		return make([]byte, n)
	}
	b := f.rest[:n]
	f.rest = f.rest[n:]
	return b
}

func (f *fields) u32() uint32 { return le.Uint32(f.take(4)) }
func (f *fields) i64() int64  { return int64(le.Uint64(f.take(8))) }

// text reads n bytes, or fewer at the end.
func (f *fields) text(n uint32) string { return string(f.take(int(min(n, uint32(len(f.rest)))))) }

// call reads the number and the arguments of a host call.
func (f *fields) call() (op abi.Call, args [5]uint32) {
	op = abi.Call(f.u32())
	for n := range args {
		args[n] = f.u32()
	}
	return op, args
}

// end returns an error if a body is too short. If more is false, it also returns an error if bytes
// are left.
func (f *fields) end(more bool) error {
	if f.short || !more && len(f.rest) > 0 {
		return violates("it sent a frame whose body is not as long as it should be")
	}
	return nil
}

// begin is the frame that starts a worker.
type begin struct {
	pages         uint32
	remoteSources bool // time and randomness come from the host
	observed      bool // the host wants to get OBSERVED for the calls that the worker answers itself
	cache         string
	module        []byte
}

func (m *begin) append(b []byte) []byte {
	b = appendU32(beginFrame(b, tagBegin), m.pages, bit(m.remoteSources)|bit(m.observed)<<1, uint32(len(m.cache)))
	return endFrame(append(b, m.cache...), len(m.module))
}

func (m *begin) decode(body []byte) error {
	f := fields{rest: body}
	m.pages = f.u32()
	flags := f.u32()
	m.remoteSources, m.observed = flags&1 != 0, flags&2 != 0
	m.cache = f.text(f.u32())
	m.module = f.rest
	return f.end(true)
}

// event is an event with its budget. A sealed event has a size and no payload.
type event struct {
	budget int64
	guest.Event
}

func (m *event) append(b []byte) []byte {
	b = le.AppendUint64(beginFrame(b, tagEvent), uint64(m.budget))
	return endFrame(appendU32(b, uint32(m.Kind), m.Handle, m.Arg, m.Size), len(m.Payload))
}

func (m *event) decode(body []byte) error {
	f := fields{rest: body}
	m.budget = f.i64()
	m.Kind, m.Handle, m.Arg, m.Size = abi.Kind(f.u32()), f.u32(), f.u32(), f.u32()
	m.Payload = f.rest
	return f.end(true)
}

// sealed reports whether the guest may not see the payload.
func (m *event) sealed() bool { return uint64(m.Size) != uint64(len(m.Payload)) }

// answer is the frame that answers a host call: the result, and the fuel to charge to the guest.
type answer struct {
	result int32
	charge int64
}

func (m *answer) append(b []byte) []byte {
	b = le.AppendUint32(beginFrame(b, tagAnswer), uint32(m.result))
	return endFrame(le.AppendUint64(b, uint64(m.charge)), 0)
}

func (m *answer) decode(body []byte) error {
	f := fields{rest: body}
	m.result, m.charge = int32(f.u32()), f.i64()
	return f.end(false)
}

// call is a host call of the guest.
type call struct {
	op      abi.Call
	args    [5]uint32
	left    int64
	named   bool   // the arguments point into the guest's memory
	carried []byte // the bytes that they point to
}

func (m *call) append(b []byte) []byte {
	b = appendU32(appendU32(beginFrame(b, tagCall), uint32(m.op)), m.args[:]...)
	return endFrame(appendU32(le.AppendUint64(b, uint64(m.left)), bit(m.named)), len(m.carried))
}

// decode reads a call. It accepts only calls that the host answers, and only if they carry exactly
// the bytes that their arguments point to.
func (m *call) decode(body []byte) error {
	f := fields{rest: body}
	m.op, m.args = f.call()
	m.left, m.named = f.i64(), f.u32() == 1
	m.carried = f.rest
	if err := f.end(true); err != nil {
		return err
	}
	if int(m.op) >= len(abi.Calls()) || isLocal(m.op) {
		return violates("it passed on a host call that it must not, %d", m.op)
	}
	want := uint32(0)
	if at := guest.PointerArg(m.op); at >= 0 && m.named {
		want = m.args[at+1]
	}
	if uint64(want) != uint64(len(m.carried)) {
		return violates("it passed %d bytes with a %v of %d", len(m.carried), m.op, want)
	}
	return nil
}

// isLocal reports whether a call reads the payload, so that the worker answers it.
func isLocal(op abi.Call) bool { return op == abi.CallTake || op == abi.CallScan }

// observed is a host call that the worker has answered.
type observed struct {
	op     abi.Call
	args   [5]uint32
	result int32
}

func (m *observed) append(b []byte) []byte {
	b = appendU32(appendU32(beginFrame(b, tagObserved), uint32(m.op)), m.args[:]...)
	return endFrame(appendU32(b, uint32(m.result)), 0)
}

func (m *observed) decode(body []byte) error {
	f := fields{rest: body}
	m.op, m.args = f.call()
	m.result = int32(f.u32())
	if !isLocal(m.op) {
		return violates("it answered a host call that it must not, %d", m.op)
	}
	return f.end(false)
}

// eventEnd is the outcome of an event, or of the start: a result or a trap.
type eventEnd struct {
	result int32
	trap   *wasm.Trap // nil for none
	used   int64
	pages  uint32
}

func (m *eventEnd) append(b []byte) []byte {
	if m.trap == nil {
		b = le.AppendUint32(beginFrame(b, tagReturn), uint32(m.result))
	} else {
		b = appendU32(beginFrame(b, tagTrap), uint32(m.trap.Kind), m.trap.Code)
	}
	b = le.AppendUint32(le.AppendUint64(b, uint64(m.used)), m.pages)
	if m.trap != nil && m.trap.Err != nil {
		b = append(b, clip(m.trap.Err.Error())...)
	}
	return endFrame(b, 0)
}

func (m *eventEnd) decode(t tag, body []byte) error {
	f := fields{rest: body}
	if t == tagReturn {
		m.result = int32(f.u32())
	} else {
		m.trap = &wasm.Trap{Kind: wasm.TrapKind(min(f.u32(), 1<<8-1)), Code: f.u32()}
	}
	m.used, m.pages = f.i64(), f.u32()
	if m.trap == nil {
		return f.end(false)
	}
	switch kind := m.trap.Kind; {
	case kind > wasm.TrapHost:
		return violates("it named a kind of trap that there is not, %d", kind)
	case kind == wasm.TrapHost || kind == wasm.TrapOther:
		m.trap.Err = errors.New(cleantext.Line(string(f.rest), maxText))
	}
	return f.end(true)
}

// clip shortens a text to the most that is sent.
func clip(text string) string { return text[:min(len(text), maxSentText)] }

// maxText is how many bytes of a worker's text an error quotes.
const maxText = 1 << 10
