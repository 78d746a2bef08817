package guest

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/hostio"
)

// spareHandles are kept free of messages: a guest may need a handle for itself,
// to listen, to resume, to say goodbye.
const spareHandles = 8

// eventDrained is not an event of the ABI. It tells the owner that a handle can take
// more again.
const eventDrained abi.Kind = 1 << 30

// handle is one open handle of a guest. The guest knows it by a number, which names no
// other handle after this one was closed: see [abi.MakeHandle].
type handle struct {
	stream        hostio.Stream
	kind          abi.OpenKind
	generation    uint32
	exchange      uint32
	queued        int   // bytes written that the system has not taken, as of the last flush and after
	callerBytes   int   // of them, those that callers answer for
	status        int   // of the HTTP response, once there is one
	length        int64 // what its body is said to be long
	essential     bool  // its end is the end of the connection
	backpressured bool  // more is queued than the high-water mark
	unsent        bool  // written to since the last flush
}

// lookup returns the open handle of that number, or nil.
func (i *Instance) lookup(number uint32) *handle {
	index, generation := abi.SplitHandle(number)
	if index == 0 || int(index) > len(i.handles) {
		return nil
	}
	h := &i.handles[index-1]
	if h.stream == nil || h.generation != generation {
		return nil
	}
	return h
}

// open opens something for the guest.
func (i *Instance) open(kind abi.OpenKind, exchange uint32, r *abi.OpenRequest) int32 {
	for n := range i.handles {
		if i.handles[n].stream == nil {
			return i.openSlot(n, kind, exchange, r)
		}
	}
	if len(i.handles) == abi.MaxHandles {
		return int32(abi.LimitReached)
	}
	i.handles = append(i.handles, handle{})
	return i.openSlot(len(i.handles)-1, kind, exchange, r)
}

func (i *Instance) openSlot(n int, kind abi.OpenKind, exchange uint32, r *abi.OpenRequest) int32 {
	h := &i.handles[n]
	number := abi.MakeHandle(uint8(n+1), h.generation)
	stream, status, err := i.host.Open(kind, r, &sink{inst: i, handle: number})
	if status < 0 {
		i.refused(kind, r, status, err)
		return int32(status)
	}
	*h = handle{
		stream: stream, kind: kind, exchange: exchange, generation: h.generation,
		essential: r.Flags&abi.Essential != 0,
	}
	i.countOpen(1)
	return int32(number)
}

// countOpen keeps the number of open handles, which holds messages back when it
// comes near to what a guest may have.
func (i *Instance) countOpen(change int) {
	i.mu.Lock()
	i.opened += change
	i.mu.Unlock()
}

// refused keeps the reason of a refusal for the user. A connection without
// what is essential to it cannot go on.
func (i *Instance) refused(kind abi.OpenKind, r *abi.OpenRequest, status abi.Status, err error) {
	if err == nil {
		err = fmt.Errorf("open %s %q: %v", kind, r.Grant, status)
	}
	if r.Flags&abi.Essential != 0 {
		i.fail(i.pluginError("open", err))
	}
	i.current.cause = err // what the guest is about to report
}

// release closes a handle; its number means nothing from now on.
func (i *Instance) release(h *handle) {
	i.flushHandle(h)
	h.stream.Close()
	i.setBackpressured(h, false)
	i.countOpen(-1)
	i.queued -= h.queued
	i.callerBytes -= h.callerBytes
	*h = handle{generation: (h.generation + 1) & abi.MaxGeneration}
}

// write queues bytes to a handle. They must stay as they are until the next
// flush: those of a message do, others go through stash.
func (i *Instance) write(h *handle, p []byte, end bool) {
	h.stream.Write(p, end)
	i.wrote(h, len(p))
}

// borrowSize is the length from which a copy costs more than to keep count.
const borrowSize = 64 << 10

// borrow is write for bytes of the message that runs, without a copy if the
// stream knows how to do without.
func (i *Instance) borrow(h *handle, p []byte, end bool) bool {
	to, ok := h.stream.(hostio.Borrower)
	if ok {
		i.current.msg.Hold()
		to.Borrow(p, end, i.current.msg)
		i.wrote(h, len(p))
	}
	return ok
}

// chargeCaller counts n bytes of the current message, which are about to be queued to h,
// for the caller that sent it: each byte of a message once. What a guest queues more
// than once counts for the guest.
func (i *Instance) chargeCaller(h *handle, n int) {
	n = min(n, len(i.current.payload)-i.forwarded)
	i.forwarded += n
	h.callerBytes += n
	i.callerBytes += n
}

// wrote counts n bytes that were written to h.
func (i *Instance) wrote(h *handle, n int) {
	h.unsent, i.unsent = true, true
	h.queued += n
	i.queued += n
	if i.space() < 0 {
		i.caller.Trap(fmt.Errorf("messages under way hold more than %d bytes: %d are queued that the other side does not take, and %d are parts of messages that have not ended",
			i.limits.Quota, i.queued-i.callerBytes, i.inbound.total))
	}
}

// space is how many more bytes the messages under way may hold, in both directions:
// what the guest collects, and what it has queued that is no message of a caller. It
// is below zero when they hold too many.
func (i *Instance) space() int { return i.limits.Quota - i.inbound.total - (i.queued - i.callerBytes) }

// recountQueued asks how much of what was written to h is still here. What a caller
// answers for is taken to leave last.
func (i *Instance) recountQueued(h *handle) {
	i.queued -= h.queued
	i.callerBytes -= h.callerBytes
	h.queued = h.stream.Queued()
	h.callerBytes = min(h.callerBytes, h.queued)
	i.queued += h.queued
	i.callerBytes += h.callerBytes
}

// keepStash is how much of a stash waits for another use, in bytes.
const keepStash = 256 << 10

// stash copies bytes to a place where they stay until the next flush. What does not
// fit there gets another place: what was copied before is not moved, since the streams
// have it, and would hold each place that it has been in.
func (i *Instance) stash(p []byte) []byte {
	if len(p) > cap(i.stashed)-len(i.stashed) {
		if len(p) > keepStash/4 {
			return bytes.Clone(p)
		}
		i.stashed = make([]byte, 0, min(max(2*cap(i.stashed), 2*len(p), 4<<10), keepStash))
	}
	from := len(i.stashed)
	i.stashed = append(i.stashed, p...)
	return i.stashed[from:]
}

func (i *Instance) flushHandle(h *handle) {
	if h.stream == nil || !h.unsent {
		return
	}
	h.unsent = false
	h.stream.Flush()
	if i.recountQueued(h); h.queued > i.limits.HighWater {
		i.setBackpressured(h, true)
	}
}

// setBackpressured holds messages back while a handle cannot take more.
func (i *Instance) setBackpressured(h *handle, choked bool) {
	if h.backpressured == choked {
		return
	}
	h.backpressured = choked
	i.mu.Lock()
	if choked {
		i.backpressured++
	} else {
		i.backpressured--
	}
	i.mu.Unlock()
}

// markEnding notes what the event that is about to run ends. A handle that takes
// nothing any more holds no messages back; an essential one ends the connection with
// it, also if the guest closes it during the event. A process is
// over when it has exited, anything else when its data are.
func (i *Instance) markEnding(h *handle, it *item) {
	over := it.kind == abi.EventExit || it.kind == abi.EventError
	last := it.kind == abi.EventEnd ||
		it.kind == abi.EventData && it.arg&abi.Last != 0 ||
		it.kind == abi.EventHead && it.arg&abi.HeadLast != 0
	if over || last && h.kind == abi.OpenHTTP {
		i.setBackpressured(h, false)
	}
	it.essential = h.essential && (over || last && h.kind != abi.OpenProcess)
}

// closeExchange closes what was opened for an exchange that was cancelled.
func (i *Instance) closeExchange(exchange uint32) {
	if exchange == 0 {
		return
	}
	for n := range i.handles {
		if h := &i.handles[n]; h.stream != nil && h.exchange == exchange {
			i.release(h)
		}
	}
}

// sink posts what happens to one handle.
type sink struct {
	inst   *Instance
	handle uint32
	seen   chan struct{} // nil until another goroutine runs an event of this handle
}

func (s *sink) Opened() { s.inst.post(item{kind: abi.EventOpened, handle: s.handle}) }

// OfferInline implements [hostio.InlineSink]. It is called within a flush, so by the
// owner.
func (s *sink) OfferInline(x hostio.InlineIO) bool {
	h := s.inst.lookup(s.handle)
	return h != nil && s.inst.receiver.OfferInline(h.exchange, x)
}

// Head returns when the guest is done with body, or is gone. The last one does
// not wait even for that: it may come from a caller who has better to do. length
// is that of the whole body, or below zero.
func (s *sink) Head(status int, headers []abi.Pair, length int64, body []byte, last bool) {
	b := heads.Get().(*[]byte)
	*b = append(abi.AppendHead((*b)[:0], &abi.Head{Headers: headers}), body...)
	it := item{kind: abi.EventHead, handle: s.handle, arg: uint32(status) & 0xffff, payload: *b, length: length}
	if last {
		it.arg |= abi.HeadLast
		it.buffer = b
		s.inst.runOrPost(it)
		return
	}
	s.inst.runAndWait(it, &s.seen)
	freeHead(b)
}

// heads are buffers for a head and the body that comes with it.
var heads = sync.Pool{New: func() any { return new([]byte) }}

func freeHead(b *[]byte) {
	if cap(*b) > keepStash {
		*b = nil
	}
	heads.Put(b)
}

// pieceSize is how much of a chunk a guest gets at a time: it bounds how long
// one event may take, since the budget of an event grows with its payload.
const pieceSize = 16 << 10

// Data returns when the guest is done with p, or is gone.
func (s *sink) Data(p []byte, last bool) {
	for ; len(p) > pieceSize; p = p[pieceSize:] {
		s.data(p[:pieceSize], false)
	}
	s.data(p, last)
}

func (s *sink) data(p []byte, last bool) {
	it := item{kind: abi.EventData, handle: s.handle, payload: p}
	if last {
		it.arg = abi.Last
	}
	s.inst.runAndWait(it, &s.seen)
}

func (s *sink) End() { s.inst.post(item{kind: abi.EventEnd, handle: s.handle}) }

func (s *sink) Exit(code int, detail string) {
	it := item{kind: abi.EventExit, handle: s.handle, arg: uint32(int32(code)), cause: &ExitError{Code: code, Detail: detail}}
	if k, ok := s.inst.host.(hostio.StderrKeeper); ok {
		said := k.Stderr()
		it.payload = said[max(0, len(said)-abi.LastWords):]
	}
	s.inst.post(it)
}

func (s *sink) Error(status abi.Status, err error) {
	s.inst.post(item{kind: abi.EventError, handle: s.handle, arg: uint32(int32(status)), payload: []byte(status.String()), cause: err})
}

func (s *sink) Drained() { s.inst.post(item{kind: eventDrained, handle: s.handle}) }
