package rpc

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/strictjson"
)

// Call is one request to the server, without its params.
type Call struct {
	Method     string
	Name       string        // params.name or params.uri, for transports that copy it into a header
	Headers    []abi.Pair    // further headers for such transports
	Version    string        // overrides the version of the peer's terms
	Timeout    time.Duration // overrides the peer's; below zero = none
	Background bool          // Drain does not wait for it
	About      uint32        // the exchange of the client's request that the call belongs to, see [Message.About]
	Caller     uint64        // for whom it is made, where the connection serves several; 0 = no caller

	// Solicited says that an answer of the server asks for this call, as for the next page of a
	// list. The server decides how many such calls there are.
	Solicited bool

	// Begun, if not nil, is called when the call is pending and before its message is sent.
	Begun func()

	// Placed, if not nil, is called when the link has decided the place of the message: what is sent
	// from then on comes behind it. It is not called for a message that the link refuses. It must not
	// wait or call the peer.
	Placed func()
}

// methodCancelled cancels a request of either side, see [Cancellation]. A client must not cancel methodInitialize
// (2025-11-25/basic/utilities/cancellation). A request of initialize carries no protocol version,
// because its answer settles the version.
const (
	methodCancelled  = "notifications/cancelled"
	methodInitialize = "initialize"
)

// Call sends a request and waits for its answer, until ctx is done or the timeout is over. params may be
// nil. They are no member of r: the message keeps a part of r, so the compiler puts all that r refers to on
// the heap. The result is raw JSON as the server sent it. It has been checked and belongs to the caller. If the
// server answers with an error, Call returns an [*Error]. Every other failure is a [*CallError].
//
// If the caller leaves first, the peer tells the server, unless the message had not left yet. Call
// does not wait for that.
func (p *Peer) Call(ctx context.Context, r *Call, params Appender) ([]byte, error) {
	c := p.newCall(ctx, r)
	defer p.recycle(c)
	if err := contextError(ctx); err != nil {
		return nil, &CallError{c.method, NotSent, err}
	}
	if err := p.flight.open(c); err != nil {
		return nil, &CallError{c.method, NotSent, err}
	}
	if r.Begun != nil {
		r.Begun()
	}
	if err := p.send(c, r, params); err != nil {
		return nil, p.unsent(c, err)
	}
	if p.config.ReadFor != nil && !c.background {
		p.config.ReadFor(c)
	}
	p.await(ctx, c)
	return p.outcome(c)
}

func (p *Peer) newCall(ctx context.Context, r *Call) *pendingCall {
	c := p.calls.Get().(*pendingCall)
	c.flight, c.parent, c.method, c.limit, c.background, c.caller = &p.flight, ctx, r.Method, r.Timeout, r.Background, r.Caller
	if c.limit == 0 {
		c.limit = p.config.Timeout
	}
	return c
}

// recycle keeps the record of a call for another call. Its channels are empty by now.
func (p *Peer) recycle(c *pendingCall) {
	if c.stop != nil {
		c.stop(nil)
	}
	*c = pendingCall{done: c.done, onLeave: c.onLeave, gaveUp: c.gaveUp}
	p.calls.Put(c)
}

func (p *Peer) send(c *pendingCall, r *Call, params Appender) error {
	var f abi.Facts
	c.terms.facts(&f, r.Method)
	f.Name, f.Headers = r.Name, r.Headers
	switch {
	case r.Version != "":
		f.Version = r.Version
	case r.Method == methodInitialize:
		f.Version = "" // initialize opens a new session, in which no version is settled yet
	}
	if err := p.sender.flush((*sendContext)(c)); err != nil { // what a caller said by leaving comes before what the next one asks
		return err
	}
	m, err := newRequest(c.id, &f, params)
	if err != nil {
		return err
	}
	m.solicited, m.about, m.placed = r.Solicited, r.About, r.Placed
	return p.transmit((*sendContext)(c), m)
}

// transmit gives a message to the link, which may wait for room until ctx ends.
func (p *Peer) transmit(ctx context.Context, m *Message) error {
	if p.config.Trace != nil {
		p.config.Trace(true, m.Body())
	}
	return p.config.Link.Send(ctx, m)
}

// unsent ends a call whose message the link refused, and returns why. If the call ended while the
// link waited, unsent returns the reason of that end, because the link refused for that reason.
func (p *Peer) unsent(c *pendingCall, err error) error {
	if p.flight.leave(c, err, NotSent) {
		c.done <- nil
	}
	if c.awaitEnd(); c.err != nil {
		err = c.err
	}
	return &CallError{c.method, NotSent, err}
}

// await returns when c has ended. No caller waits anywhere else. While it waits, the caller runs
// the I/O that it is offered.
func (p *Peer) await(ctx context.Context, c *pendingCall) {
	for {
		select {
		case e := <-c.done:
			if e == nil {
				return
			}
			p.runInline(ctx, c, e)
		case <-ctx.Done():
			if p.flight.leave(c, contextError(ctx), MaybeSent) {
				c.tellTransport = true
				c.done <- nil // never blocks: only this goroutine can write to the channel now
			}
			c.awaitEnd()
			return
		}
	}
}

// outcome returns the results of Call for c, which has ended.
func (p *Peer) outcome(c *pendingCall) ([]byte, error) {
	if c.err == nil {
		return c.result, nil
	}
	var answer *Error
	if errors.As(c.err, &answer) {
		return nil, answer
	}
	if c.tellTransport {
		p.abandon(c)
	}
	return nil, &CallError{c.method, c.sent, c.err}
}

// abandon tells the transport that no caller waits for the answer any more. It also tells the
// server, unless the transport does.
func (p *Peer) abandon(c *pendingCall) {
	if p.config.Link.Cancel(c.exchange()) {
		c.sent = NotSent
		p.flight.neverSent(c.exchange())
		return
	}
	if c.method == methodInitialize || p.flight.terms.Load().StreamCancel {
		return
	}
	id, reason := c.id, reasonOf(c.err)
	m, err := p.notification(p.config.Cancel.Method, func(dst []byte) ([]byte, error) {
		dst = fmt.Appendf(dst, `{%q:%d`, p.config.Cancel.ID, id)
		if reason != nil {
			dst = append(append(dst, `,"reason":`...), reason...)
		}
		return append(dst, '}'), nil
	})
	if err == nil { // else the connection is closed, and the server need not be told
		m.urgent = !p.config.Serving
		p.sender.post(m)
	}
}

// reasonOf returns the reason of a cancellation as a JSON string, for a call that ended with err. A call
// for a request that the other side of another connection cancelled has the reason that it gave, or nil.
func reasonOf(err error) []byte {
	var other *TakenBack
	if errors.As(err, &other) {
		return other.Reason
	}
	return strictjson.AppendString(nil, strings.TrimPrefix(err.Error(), context.Canceled.Error()+": "))
}

// contextError returns nil while ctx is not done. After that it returns Canceled or
// DeadlineExceeded, together with the cause of the context if that is another error.
func contextError(ctx context.Context) error {
	err := ctx.Err()
	if cause := context.Cause(ctx); err != nil && cause != err {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return err
}

// Notify sends a notification. It returns once the link has taken the message. If the transport
// fails to deliver it later, the failure is counted and nothing else happens.
func (p *Peer) Notify(ctx context.Context, method string, params Appender) error {
	return p.NotifyAbout(ctx, 0, method, params)
}

// NotifyAbout is Notify for what belongs to a request of a client, whose exchange it names, see
// [Message.About].
func (p *Peer) NotifyAbout(ctx context.Context, exchange uint32, method string, params Appender) error {
	m, err := p.notification(method, params)
	if err != nil {
		return &CallError{method, NotSent, err}
	}
	m.about = exchange
	if p.config.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, p.config.Timeout, ErrTimeout)
		defer cancel()
	}
	if err := p.transmit(ctx, m); err != nil {
		return &CallError{method, NotSent, err}
	}
	return nil
}

// Announce sends a notification and waits until its exchange is over: the server has taken it, or
// refused it. It is for transports in which each message is an exchange of its own, so that
// messages may overtake each other. The end of ctx does not cancel the notification.
func (p *Peer) Announce(ctx context.Context, method string, params Appender) error {
	c := p.newCall(ctx, &Call{Method: method})
	defer p.recycle(c)
	if err := p.flight.open(c); err != nil {
		return &CallError{c.method, NotSent, err}
	}
	var f abi.Facts
	c.terms.facts(&f, c.method)
	m, err := newNotification(c.exchange(), &f, params)
	if err == nil {
		err = p.transmit((*sendContext)(c), m)
	}
	if err != nil {
		return p.unsent(c, err)
	}
	p.await(ctx, c)
	if c.err == nil || errors.Is(c.err, ErrNoResponse) {
		return nil
	}
	return &CallError{c.method, c.sent, c.err}
}

func (p *Peer) notification(method string, params Appender) (*Message, error) {
	exchange, terms, err := p.flight.number()
	if err != nil {
		return nil, err
	}
	var f abi.Facts
	terms.facts(&f, method)
	return newNotification(exchange, &f, params)
}
