package rpc

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/strictjson"
)

// maxStreak is how many malformed messages in a row prove that the other side does not speak the
// protocol. Fewer may be a banner, or a debug print on stdout.
const maxStreak = 100

// Deliver takes one complete inbound message. Exchange 0 is the shared channel. msg is valid during
// the call only; if owned is true, the peer may keep it. Deliver does not wait and does not call
// the link.
//
// In the serving role the link gives an exchange to each message that a client sends apart from the
// others, as in an HTTP request. The replies to the message name that exchange ([Message.About]).
// If the message cannot be read, the link refuses it and the peer does not. An answer of the client
// may come on any exchange.
//
// The verdict of an array is the best of its elements' verdicts. On the shared channel, every
// response that matches no call is VerdictLate.
func (p *Peer) Deliver(exchange uint32, msg []byte, owned bool) abi.Verdict {
	if !p.notifications.waiting.Load() { // see Heard: to read the clock takes 3 % of a flood
		p.heard.Store(int64(time.Since(p.born)))
	}
	if p.config.Trace != nil {
		p.config.Trace(false, msg)
	}
	if exchange != 0 { // a body, from which HTTP clients drop the mark as they decode it
		msg = bytes.TrimPrefix(msg, byteOrderMark)
	}
	switch start := strictjson.Start(msg); {
	case start == len(msg):
		p.counters.blank.Add(1)
		return abi.VerdictBlank
	case msg[start] == '[':
		return p.array(exchange, msg)
	}
	return p.message(exchange, msg, owned)
}

func (p *Peer) message(exchange uint32, msg []byte, owned bool) abi.Verdict {
	var e envelope
	if err := e.parse(msg); err != nil {
		return p.malformed(exchange, msg, err)
	}
	if p.streak.Load() != 0 {
		p.streak.Store(0)
	}
	switch {
	case e.method == nil:
		return p.onResponse(exchange, msg, &e, owned)
	case e.id == nil:
		return p.onNotification(exchange, &e)
	default:
		p.onRequest(exchange, msg, &e, owned)
		return abi.VerdictRequest
	}
}

// malformed ends the call that the message would have answered, if that can be told. On the shared
// channel, many malformed messages in a row mean that the other side does not speak the protocol.
// On an exchange of its own, each is the failure of one request, unless an answer follows.
func (p *Peer) malformed(exchange uint32, msg []byte, why error) abi.Verdict {
	p.counters.malformed.Add(1)
	p.dropped(why, msg)
	p.failMatching(exchange, msg, why)
	if exchange != 0 {
		if !p.config.Serving {
			p.flight.spoil(exchange, p.unusable(exchange, why))
		}
		return abi.VerdictMalformed
	}
	n := p.streak.Add(1)
	if p.config.Serving && n <= maxStreak {
		p.refuseMalformed(msg, why)
	}
	if n == maxStreak && p.config.Broken != nil && p.broken.CompareAndSwap(false, true) {
		go p.config.Broken(fmt.Errorf("%w, %d times in a row", why, n))
	}
	return abi.VerdictMalformed
}

// unusable says why the call of an exchange has no answer if a malformed message is all that comes.
func (p *Peer) unusable(exchange uint32, why error) error {
	if status, _ := p.status(exchange); status != 0 {
		return fmt.Errorf("%w, and the body of HTTP %d has no other answer", why, status)
	}
	return fmt.Errorf("%w, and no other answer came", why)
}

// failMatching ends the call that a broken message would have answered, if its id can be read.
func (p *Peer) failMatching(exchange uint32, msg []byte, why error) {
	if p.config.Serving {
		exchange = 0
	}
	if id, answer := scanBroken(msg); answer && id != 0 {
		p.flight.endID(exchange, id, why)
	}
}

// onResponse hands an answer to the call that waits for it.
func (p *Peer) onResponse(exchange uint32, msg []byte, e *envelope, owned bool) abi.Verdict {
	if p.config.Serving {
		exchange = 0
	}
	c, match := p.flight.resolve(exchange, e)
	switch match {
	case unmatched:
		p.dropped(errUnmatched, msg)
		return abi.VerdictLate
	case neverAsked:
		p.dropped(&OtherIDError{string(e.id[:min(len(e.id), 40)])}, msg)
		return abi.VerdictLate
	case wrongID:
		why := ErrWrongID
		if id, ok := looseID(e.id); ok && id == c.id {
			why = ErrChangedID
		}
		c.err, c.sent = fmt.Errorf("%w: got %.40s for %d", why, e.id, c.id), Answered
		p.dropped(c.err, msg)
		c.settle()
		return abi.VerdictWrongID
	}
	if e.result != nil {
		c.result = ownPart(e.result, msg, owned)
	} else {
		c.err, c.sent = p.fault(exchange, e.fault), Answered
	}
	c.settle()
	return abi.VerdictAnswer
}

// errUnmatched is the reason for which a response is dropped. The counters tell its cause.
var errUnmatched = errors.New("no call waits for this response")

// ownPart returns a result, or params, that outlive their message. If the peer may keep the message,
// they stay there, unless they would hold far more memory than their own size.
func ownPart(part, msg []byte, owned bool) []byte {
	if owned && cap(msg) <= 2*len(part) {
		return part
	}
	kept := make([]byte, len(part)) // the compiler sees that copy fills it, and does not clear it first
	copy(kept, part)
	return kept
}

// fault returns the error that a server answered, with the HTTP status of the response.
func (p *Peer) fault(exchange uint32, raw []byte) error {
	fault, err := parseError(raw)
	if err != nil {
		return err
	}
	fault.HTTP, fault.Wait = p.status(exchange)
	return fault
}

// status returns the status of the HTTP response of an exchange, or 0 if there is none, and how long
// the response asks to wait.
func (p *Peer) status(exchange uint32) (status int, wait time.Duration) {
	if p.config.Status == nil || exchange == 0 {
		return 0, 0
	}
	return p.config.Status(exchange)
}

// array takes a message that is an array. If the protocol allows arrays, it takes the elements one
// by one, so that a bad element does not spoil the others. Otherwise it accepts no element, and
// ends the calls that the elements would have answered.
func (p *Peer) array(exchange uint32, msg []byte) abi.Verdict {
	if !p.flight.terms.Load().AllowBatch {
		p.counters.arrays.Add(1)
		why := fmt.Errorf("%w: %w", ErrMalformed, ErrBatch)
		p.failAllMatching(exchange, msg, why)
		return p.malformed(exchange, msg, why)
	}
	const none = abi.VerdictTooBig // worse than the verdict of any element
	best := none
	var w strictjson.Walk
	w.Open(msg, strictjson.DefaultDepth+1)
	n := 0
	for _, element := range w.Parts() {
		if n++; n > maxBatch && p.config.Serving {
			return betterVerdict(best, p.malformed(exchange, msg, errBatchTooLong))
		}
		best = betterVerdict(best, p.message(exchange, element, false))
	}
	if err := w.Err(); err != nil {
		why := fmt.Errorf("%w: array: %w", ErrMalformed, err)
		p.failAllMatching(exchange, msg, why)
		return betterVerdict(best, p.malformed(exchange, msg, why))
	}
	if best == none {
		return p.malformed(exchange, msg, malformed("empty array"))
	}
	return best
}

// betterVerdict returns the better of two verdicts. VerdictAnswer is best, because an exchange waits
// for an answer. A message that was understood comes next, and a fault is worst.
func betterVerdict(a, b abi.Verdict) abi.Verdict {
	if a == abi.VerdictAnswer || b == abi.VerdictAnswer {
		return abi.VerdictAnswer
	}
	return max(a, b)
}

// failAllMatching calls failMatching for every element of an array.
func (p *Peer) failAllMatching(exchange uint32, msg []byte, why error) {
	r := strictjson.Read(msg[strictjson.Start(msg):]).Unbounded()
	for range r.Array() {
		p.failMatching(exchange, r.Raw(), why)
	}
}

// onRequest passes a request of the server to the handler. If there is no handler or it is busy,
// the server gets a refusal. If no replies may be sent, it drops the request.
func (p *Peer) onRequest(exchange uint32, msg []byte, e *envelope, owned bool) {
	p.counters.requests.Add(1)
	if p.flight.terms.Load().NoReplies {
		p.counters.refused.Add(1)
		p.dropped(errNotAsked, msg)
		return
	}
	in := &Incoming{
		Method: string(strictjson.Unquote(e.method)),
		id:     bytes.Clone(e.id),

		arrival:  p.arrivals.Add(1),
		exchange: exchange,
	}
	if e.params != nil {
		in.Params = ownPart(e.params, msg, owned)
	}
	in.caller, in.sure = p.flight.callerOf(exchange)
	if refusal := p.admit(in); refusal != nil {
		p.refuse(in, refusal)
	}
}

// errNotAsked says why a request is dropped when the server must not send requests.
var errNotAsked = errors.New("in this protocol revision a server must not send requests")

// onNotification queues a notification of the server for the handler.
func (p *Peer) onNotification(exchange uint32, e *envelope) abi.Verdict {
	method := known(strictjson.Unquote(e.method))
	if method == p.config.Cancel.Method {
		p.serving.cancelled(e.params, &p.config.Cancel)
	}
	if p.config.Handler != nil {
		p.config.Handler.Preempt(method, e.params)
	}
	caller, _ := p.flight.callerOf(exchange)
	p.notifications.add(method, e.params, caller, p.arrivals.Add(1))
	return abi.VerdictNote
}
