package rpc

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/ctxcond"
	"github.com/wharf-mcp/wharf/host/internal/strictjson"
)

// Handler answers the server's requests and receives its notifications. Request and Notify run on
// other goroutines than those that read, and may call the peer, also its Close.
type Handler interface {
	// Request answers one request; several may run at once. The appender writes the result. It is
	// called once, on the same goroutine, after Request has returned. An [*Error] goes to the other
	// side as it is, its Raw byte for byte if it has one; any other error becomes an "internal
	// error" without details. ctx ends when the other side cancels its request or the connection
	// ends.
	Request(ctx context.Context, in *Incoming) (Appender, error)

	// Notify receives one notification. Calls of Notify come one at a time, in the order of the
	// notifications. in is valid during the call only. While Notify runs, later notifications wait,
	// up to a bound (see notifications.go), but answers do not. A notification without a method
	// stands for earlier ones that were dropped for want of room.
	Notify(in *Incoming)

	// Preempt receives each notification on arrival, before any answer behind it, even if it is
	// dropped for want of room or Notify gets it much later. It is for work that must not wait
	// until Notify has received earlier notifications. Preempt is called on the goroutine that
	// delivers: it must not wait, call the peer or keep params.
	Preempt(method string, params []byte)
}

// Admitter is a [Handler] that sees requests in the order in which they arrive, and when they are over.
type Admitter interface {
	// Admit sees a request before Request gets it, and before any message behind it is looked at.
	// The same rules hold as for [Handler.Preempt], except that in may be kept.
	Admit(in *Incoming)

	// Over sees a request once the link has its reply, and then answered is true, or once it is
	// certain that the request gets none. A message that is sent from then on comes behind the
	// reply. Over must not wait.
	Over(in *Incoming, answered bool)
}

// Incoming is a request or a notification of the other side.
type Incoming struct {
	Method string
	Params []byte // raw JSON, an object or an array; nil = none

	id       []byte // the id of a request, as it was written; nil for a notification
	arrival  uint64
	exchange uint32 // of a request
	caller   uint64
	sure     bool
}

// Caller returns the [Call.Caller] of the calls that the message may belong to. If it came on the
// exchange of a call, that is the caller of this call. If it came over the shared channel, that is
// the caller of all calls that the other side may be working on; sure is false if these have
// several callers. caller is 0 if there are no such calls.
func (in *Incoming) Caller() (caller uint64, sure bool) { return in.caller, in.sure }

// ID returns the id of a request as it was written, or nil for a notification. The caller must not
// change it.
func (in *Incoming) ID() []byte { return in.id }

// Arrival returns the number of a request or notification in the order of arrival, from 1.
func (in *Incoming) Arrival() uint64 { return in.arrival }

// Exchange returns the exchange on which a request arrived, see [Peer.Deliver].
func (in *Incoming) Exchange() uint32 { return in.exchange }

// size returns how many bytes of the message are kept while the request is served.
func (in *Incoming) size() int { return len(in.id) + len(in.Method) + len(in.Params) }

// Bounds of the requests that are served at once. The bytes of the requests are kept meanwhile and
// so have a bound too. A single request is always admitted.
const (
	maxServing      = 64       // of a server
	maxServed       = 256      // of a client, those whose reply waits for room included
	maxServingBytes = 32 << 20 // of ids, methods and params: two messages of the cap
)

// The errors with which the peer itself refuses a request.
var (
	internalError = &Error{Code: codeInternal, Message: "internal error"}
	noSuchMethod  = &Error{Code: codeMethodNotFound, Message: "method not found"}
	busyBytes     = &Error{Code: codeInternal, Message: "busy: more than " + strconv.Itoa(maxServingBytes>>20) + " MiB of requests would be answered at once"}
	idInUse       = &Error{Code: codeInvalidRequest, Message: "a request with this id is being answered"}
)

// busy is the refusal of a request while most others are served.
func busy(most int) *Error {
	return &Error{Code: codeInternal, Message: "busy: " + strconv.Itoa(most) + " requests are being answered"}
}

// serving is the set of requests that a handler works on, or whose reply the link has not taken.
type serving struct {
	ctx    context.Context // ends with the connection
	cancel context.CancelCauseFunc
	most   int      // requests at once
	order  Admitter // the handler, if it is an Admitter; nil otherwise

	next    chan *served // takes a request to a goroutine that waits for one
	waiting atomic.Int32 // goroutines that wait for a request

	mu     sync.Mutex
	active map[string]*served // by raw id token
	count  int                // of the requests; more than are active if an id is in use again
	bytes  int                // of the requests
	idle   ctxcond.Cond       // count is 0
}

// served is a request that a handler works on.
type served struct {
	in     *Incoming
	ctx    context.Context
	cancel context.CancelCauseFunc

	// Guarded by serving.mu:
	cancelled bool // the other side cancelled it and wants no reply
	answering bool // its reply is on the way, so its id may be used again
}

// TakenBack is the cause with which the context of a request ends that the other side cancelled.
type TakenBack struct {
	Reason []byte // as the other side wrote it, a JSON string; nil if it gave none
}

func (*TakenBack) Error() string { return "the other side cancelled its request" }

// isTakenBack reports whether the other side cancelled the request that ctx is of.
func isTakenBack(ctx context.Context) bool {
	_, yes := context.Cause(ctx).(*TakenBack)
	return yes
}

// maxReason is the longest reason of a cancellation that is kept, in bytes as written. The context of the
// request holds it, and so does the cancellation of each call that is made for the request.
const maxReason = 1024

// admit has a goroutine serve a request, until the handler has returned and the link has the reply.
// After a refusal no goroutine does.
func (p *Peer) admit(in *Incoming) (refusal *Error) {
	if p.config.Handler == nil {
		return noSuchMethod
	}
	s := &p.serving
	s.mu.Lock()
	defer s.mu.Unlock()
	id := string(in.id)
	before := s.active[id]
	switch {
	case before != nil && !before.answering:
		return idInUse
	case s.count >= s.most:
		return busy(s.most)
	case s.count > 0 && s.bytes+in.size() > maxServingBytes:
		return busyBytes
	default:
		if s.active == nil {
			s.active = make(map[string]*served)
		}
		ctx, cancel := context.WithCancelCause(s.ctx)
		one := &served{in: in, ctx: ctx, cancel: cancel}
		s.active[id] = one
		s.count++
		s.bytes += in.size()
		if s.order != nil {
			s.order.Admit(in)
		}
		select {
		case s.next <- one:
		default:
			go p.serveRequests(one)
		}
	}
	return nil
}

// maxWaiting is how many goroutines of a connection wait for its next request.
const maxWaiting = 4

// serveRequests serves a request, and then others. A goroutine that has served one has a stack that
// is large enough for the next: to grow it takes a fifth of the time of a small request.
func (p *Peer) serveRequests(one *served) {
	s := &p.serving
	for {
		p.serve(one)
		if s.waiting.Add(1) > maxWaiting {
			s.waiting.Add(-1)
			return
		}
		select {
		case one = <-s.next:
			s.waiting.Add(-1)
		case <-s.ctx.Done():
			return
		}
	}
}

func (p *Peer) serve(one *served) {
	result, err := p.config.Handler.Request(one.ctx, one.in)
	var fault *Error
	if err != nil && !errors.As(err, &fault) {
		fault = internalError
	}
	answered := false
	defer func() { p.serving.remove(one, answered) }()
	m := p.reply(one.in, result, fault)
	if m == nil {
		return
	}
	// It comes after the progress that was sent before it.
	m.urgent = m.urgent && !wantsProgress(one.in.Params)
	if !p.serving.answer(one) || p.flight.terms.Load().NoReplies {
		m.Free()
		return
	}
	ctx := one.ctx
	if p.config.Cancel.Answered || ctx.Err() != nil && !isTakenBack(ctx) {
		ctx = p.serving.ctx // the end of one.ctx must not keep the answer back
	}
	answered = p.transmit(ctx, m) == nil
	if !answered && !isTakenBack(one.ctx) {
		p.counters.failures.Add(1)
	}
}

// wantsProgress reports whether a request with these params asks for notifications of its progress.
func wantsProgress(params []byte) (wants bool) {
	r := strictjson.Read(params)
	for name := range r.Object() {
		if string(name) != "_meta" {
			continue
		}
		for name := range r.Object() {
			wants = wants || string(name) == memberProgress
		}
	}
	return wants
}

// answer says that the reply to a request is about to be sent. It returns false if no reply is
// wanted any more. If a cancellation comes later, a reply that waits for room is not sent.
func (s *serving) answer(one *served) (wanted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one.answering = true
	return !one.cancelled
}

// remove forgets a request that has its reply, or gets none.
func (s *serving) remove(one *served, answered bool) {
	one.cancel(nil)
	if s.order != nil {
		s.order.Over(one.in, answered)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if id := string(one.in.id); s.active[id] == one {
		delete(s.active, id)
	}
	s.bytes -= one.in.size()
	if s.count--; s.count == 0 {
		s.idle.Broadcast()
	}
}

// awaitIdle waits until no request is served, or until ctx ends.
func (s *serving) awaitIdle(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.count > 0 {
		if err := s.idle.Await(ctx, &s.mu); err != nil {
			return err
		}
	}
	return nil
}

// cancelled ends the context of the request that the params of a cancellation name. An initialize
// cannot be cancelled.
func (s *serving) cancelled(params []byte, how *Cancellation) {
	var id string
	why := &TakenBack{}
	r := strictjson.Read(params)
	for key := range r.Object() {
		text := r.Kind() == '"'
		switch value := r.Raw(); {
		case string(key) == how.ID:
			id = string(value)
		case string(key) == "reason" && text && len(value) <= maxReason:
			why.Reason = slices.Clone(value)
		}
	}
	s.mu.Lock()
	one := s.active[id]
	if one == nil || one.in.Method == methodInitialize {
		s.mu.Unlock()
		return
	}
	one.cancelled = !how.Answered
	s.mu.Unlock()
	one.cancel(why)
}

// EndRequests ends the contexts of the requests that are being served, with why as the cause. Their answers
// are sent all the same. It does not wait.
func (p *Peer) EndRequests(why error) {
	s := &p.serving
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.active {
		one.cancel(why)
	}
}

// reply encodes the answer to a request. It returns nil if the connection is closed.
func (p *Peer) reply(to *Incoming, result Appender, fault *Error) *Message {
	exchange, terms, err := p.flight.number()
	if err != nil {
		return nil
	}
	var f abi.Facts
	terms.facts(&f, "")
	m := newReply(exchange, to.id, &f, result, fault)
	m.about = to.exchange
	m.urgent = !p.config.Serving
	return m
}

// refuse answers a request that no handler gets, without waiting.
func (p *Peer) refuse(in *Incoming, why *Error) {
	p.counters.refused.Add(1)
	if m := p.reply(in, nil, why); m != nil {
		p.sender.post(m)
	}
}
