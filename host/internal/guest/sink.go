package guest

import (
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/hostio"
)

// sink posts the events of one handle.
type sink struct {
	inst   *Instance
	handle uint32
	seen   chan struct{} // nil until another goroutine runs an event of this handle
}

func (s *sink) Opened() { s.inst.post(&item{kind: abi.EventOpened, handle: s.handle}) }

// Sealed implements [hostio.Sink].
func (s *sink) Sealed(blob []byte) {
	s.inst.post(&item{kind: abi.EventOpened, handle: s.handle, arg: abi.Sealed, payload: blob})
}

// OfferInline implements [hostio.InlineSink]. It is called within a flush, and so by the owner.
func (s *sink) OfferInline(x hostio.InlineIO) bool {
	h := s.inst.lookup(s.handle)
	return h != nil && s.inst.receiver.OfferInline(h.exchange, x)
}

// Head returns when the guest has handled body, or has ended. If last is true, it returns at once,
// because it may run on the goroutine of a caller, who must not be held up. length is that of the
// whole body, or below zero if unknown.
func (s *sink) Head(status int, headers []abi.Pair, length int64, body []byte, last bool) {
	b := heads.Get().(*[]byte)
	*b = append(abi.AppendHead((*b)[:0], &abi.Head{Headers: headers}), body...)
	it := item{kind: abi.EventHead, handle: s.handle, arg: uint32(status) & 0xffff, payload: *b, length: length, wait: hostio.RetryAfter(status, headers, time.Now)}
	if last {
		it.arg |= abi.HeadLast
		it.buffer = b
		s.inst.handleOrPost(it, nil)
		return
	}
	s.inst.handleOrPost(it, &s.seen)
	freeHead(b)
}

// Data returns when the guest has handled p, or has ended.
func (s *sink) Data(p []byte, last bool) {
	for first := true; first || len(p) > 0; first = false {
		it := item{kind: abi.EventData, handle: s.handle, payload: p[:min(len(p), pieceSize)]}
		if p = p[len(it.payload):]; last && len(p) == 0 {
			it.arg = abi.Last
		}
		s.inst.handleOrPost(it, &s.seen)
	}
}

func (s *sink) End() { s.inst.post(&item{kind: abi.EventEnd, handle: s.handle}) }

func (s *sink) Exit(code int, detail string, unread bool) {
	it := item{kind: abi.EventExit, handle: s.handle, arg: uint32(int32(code)), cause: &ExitError{Code: code, Detail: detail, Unread: unread}}
	if k, ok := s.inst.host.(hostio.StderrKeeper); ok {
		said := k.Stderr()
		it.payload = said[max(0, len(said)-abi.LastWords):]
	}
	s.inst.post(&it)
}

func (s *sink) Error(status abi.Status, err error) {
	s.inst.post(&item{kind: abi.EventError, handle: s.handle, arg: uint32(int32(status)), payload: []byte(status.String()), cause: err})
}

func (s *sink) Drained() { s.inst.post(&item{kind: eventDrained, handle: s.handle}) }
