package rpc

import (
	"context"
	"errors"
	"strconv"
	"sync"

	"github.com/wharf-mcp/wharf/host/internal/strictjson"
)

// Handler answers the server's requests and receives its notifications. Request and Notify run on
// other goroutines than those that read, and may call every method of the peer, also Close.
type Handler interface {
	// Request answers one request; several may run at once. The appender writes the result. It is
	// called once, on the same goroutine, after Request has returned. An [*Error] goes to the
	// server as it is; any other error becomes an "internal error" without details. ctx ends when
	// the server cancels its request or the connection ends.
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

// Incoming is a request or a notification of the server.
type Incoming struct {
	Method string
	Params []byte // raw JSON, an object or an array; nil = none

	id []byte // the id of a request, as it was written; nil for a notification
}

// size returns how many bytes of the message are kept while the request is served.
func (in *Incoming) size() int { return len(in.id) + len(in.Method) + len(in.Params) }

// Bounds of the requests that are served at once. The bytes of the requests are kept meanwhile and
// so have a bound too. A single request is always admitted.
const (
	maxServing      = 64
	maxServingBytes = 32 << 20 // of ids, methods and params: two messages of the cap
)

// The errors with which the peer itself refuses a request.
var (
	internalError = &Error{Code: codeInternal, Message: "internal error"}
	noSuchMethod  = &Error{Code: codeMethodNotFound, Message: "method not found"}
	busy          = &Error{Code: codeInternal, Message: "busy: " + strconv.Itoa(maxServing) + " requests are being answered"}
	busyBytes     = &Error{Code: codeInternal, Message: "busy: more than " + strconv.Itoa(maxServingBytes>>20) + " MiB of requests would be answered at once"}
	idInUse       = &Error{Code: codeInvalidRequest, Message: "a request with this id is being answered"}
)

// serving is the set of requests that a handler works on.
type serving struct {
	ctx    context.Context // ends with the connection
	cancel context.CancelCauseFunc

	mu     sync.Mutex
	active map[string]*served // by raw id token
	bytes  int                // of the active requests
}

// served is a request that a handler works on.
type served struct {
	cancel    context.CancelCauseFunc
	cancelled bool // the server cancelled it and wants no reply; guarded by serving.mu
}

var errTakenBack = errors.New("the server cancelled its request")

// admit starts a goroutine that serves a request. The goroutine ends when the handler has returned
// and the link has the reply. If admit returns a refusal, it has started none.
func (p *Peer) admit(in *Incoming) (refusal *Error) {
	if p.config.Handler == nil {
		return noSuchMethod
	}
	s := &p.serving
	s.mu.Lock()
	defer s.mu.Unlock()
	switch id := string(in.id); {
	case len(s.active) >= maxServing:
		return busy
	case len(s.active) > 0 && s.bytes+in.size() > maxServingBytes:
		return busyBytes
	case s.active[id] != nil:
		return idInUse
	default:
		if s.active == nil {
			s.active = make(map[string]*served)
		}
		ctx, cancel := context.WithCancelCause(s.ctx)
		one := &served{cancel: cancel}
		s.active[id] = one
		s.bytes += in.size()
		go p.serve(ctx, in, one)
	}
	return nil
}

func (p *Peer) serve(ctx context.Context, in *Incoming, one *served) {
	result, err := p.config.Handler.Request(ctx, in)
	var fault *Error
	if err != nil && !errors.As(err, &fault) {
		fault = internalError
	}
	m := p.reply(in, result, fault)
	s := &p.serving
	s.mu.Lock()
	delete(s.active, string(in.id))
	s.bytes -= in.size()
	wanted := !one.cancelled
	s.mu.Unlock()
	one.cancel(nil)
	if m == nil {
		return
	}
	if !wanted || p.flight.terms.Load().NoReplies {
		m.Free()
		return
	}
	if p.transmit(p.serving.ctx, m) != nil {
		p.tally.failures.Add(1)
	}
}

// cancelled ends the context of the request that the params of a cancellation name.
func (s *serving) cancelled(params []byte) {
	r := strictjson.Read(params)
	for key := range r.Object() {
		if string(key) != "requestId" {
			continue
		}
		s.mu.Lock()
		one := s.active[string(r.Raw())]
		if one != nil {
			one.cancelled = true
		}
		s.mu.Unlock()
		if one != nil {
			one.cancel(errTakenBack)
		}
	}
}

// reply encodes the answer to a request. It returns nil if the connection is closed.
func (p *Peer) reply(in *Incoming, result Appender, fault *Error) *Message {
	exchange, terms, err := p.flight.number()
	if err != nil {
		return nil
	}
	f := terms.facts("")
	return newReply(exchange, in.id, &f, result, fault)
}
