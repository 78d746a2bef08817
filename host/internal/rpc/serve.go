package rpc

import (
	"context"
	"errors"
	"strconv"
	"sync"

	"github.com/wharf-mcp/wharf/host/internal/strictjson"
)

// Handler answers a server's requests and hears its notifications. Both run off
// the goroutines that read, and may call the peer, Close included.
type Handler interface {
	// Request answers one request; several run at once. The appender writes the
	// result and is called once, afterwards, on the same goroutine. An [*Error]
	// goes to the server as it is; of any other it learns only that there was
	// one. ctx ends when the server takes its request back or the connection ends.
	Request(ctx context.Context, in *Incoming) (Appender, error)

	// Notify hears one notification; they come one at a time and in order. in is
	// valid during the call only. While Notify does not return, later ones wait,
	// up to a bound (see notifications.go), and answers are not held up. A notification
	// without a method stands for those before it that there was no room for.
	Notify(in *Incoming)

	// Preempt sees each notification when it arrives, before any answer behind it, even if
	// there is no room for it and however late Notify hears of it. It is for work that must
	// not wait until other notifications are heard. Preempt is called on the goroutine that
	// delivers, so it must neither wait nor call the peer, and it must not keep params.
	Preempt(method string, params []byte)
}

// Incoming is a request or a notification of the server.
type Incoming struct {
	Method string
	Params []byte // raw JSON, an object or an array; nil = none

	id []byte // raw token of a request
}

// size is how much of a message is kept while a request is worked on.
func (in *Incoming) size() int { return len(in.id) + len(in.Method) + len(in.Params) }

// Bounds of the requests of a server that are worked on at once. They hold what the
// server sent, so there is a bound for the bytes too; one request always fits.
const (
	maxServing      = 64
	maxServingBytes = 32 << 20 // of ids, methods and params: two messages of the cap
)

// What a server is told by the peer itself.
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
	bytes  int                // of the active ones
}

// served is one of these requests.
type served struct {
	cancel    context.CancelCauseFunc
	cancelled bool // by the server, which then wants no reply; guarded by serving.mu
}

var errTakenBack = errors.New("the server cancelled its request")

// admit starts to serve a request on a goroutine of its own, which ends when the handler has
// returned and the reply is handed over. If it returns a refusal, no goroutine was started.
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

// cancelled ends the context of the request that a server takes back.
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

// reply encodes the answer to a request, or returns nil on a closed connection.
func (p *Peer) reply(in *Incoming, result Appender, fault *Error) *Message {
	exchange, terms, err := p.flight.number()
	if err != nil {
		return nil
	}
	f := terms.facts("")
	return newReply(exchange, in.id, &f, result, fault)
}
