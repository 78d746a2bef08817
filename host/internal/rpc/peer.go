package rpc

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/hostio"
	"github.com/wharf-mcp/wharf/host/internal/strictjson"
)

// DefaultTimeout is how long a request may take unless the configuration says otherwise.
const DefaultTimeout = 30 * time.Second

// Link is a transport as a peer sees it.
type Link interface {
	// Send queues m and takes ownership of it. While there is no room it may wait until ctx is
	// done, except for an urgent message. An error means that m was certainly not sent. Send must
	// not keep ctx.
	Send(ctx context.Context, m *Message) error

	// Cancel says that no caller waits for the exchange any more. It returns true if the message
	// had certainly not left and is dropped now. It does not wait.
	Cancel(exchange uint32) (unsent bool)
}

// Config configures a peer. Link is required.
type Config struct {
	Link    Link
	Handler Handler                             // gets the server's requests and notifications; nil = refuses the first, drops the others
	Timeout time.Duration                       // how long a call may take and a notification may wait for room; 0 = no bound
	Aside   func(since time.Time) time.Duration // how long since a time the caller was busy, which counts against no Timeout; may be nil
	Serving bool                                // the other side is a client, see the package
	Cancel  Cancellation                        // how requests of either side are cancelled; zero = as MCP does it
	After   uint64                              // the last number of the previous peer, in a session that goes on: no id may be used twice in it

	// Trace sees each whole message: before it is sent, or on arrival, before it is parsed. Dropped
	// sees each inbound message that is dropped, and why. Both are called on the goroutine that has
	// the message, must not wait, and may be nil.
	Trace   func(sent bool, msg []byte)
	Dropped func(why error, msg []byte)

	// Status returns the status of the HTTP response of an exchange, or 0 if there is none, and how
	// long the response asks to wait. The peer calls it within Deliver, when the server answers with
	// an error. nil is for links without HTTP.
	Status func(exchange uint32) (status int, wait time.Duration)

	// ReadFor makes a caller that waits alone read its answer itself, see [hostio.AnswerReader].
	// nil is for links that have nothing to read.
	ReadFor func(w hostio.Waiter)

	// Broken is called once, on a goroutine of its own, when the other side has proved not to speak
	// the protocol. It should close the connection, which the peer cannot.
	Broken func(err error)
}

// Terms are the outcome of a handshake. Before the first, they are zero.
type Terms struct {
	Version      string // the negotiated protocol version
	Epoch        uint32 // counts handshakes
	AllowBatch   bool   // the server may send arrays of messages
	StreamCancel bool   // the transport cancels calls, so the peer sends no message for that
	NoReplies    bool   // the server must not send requests, and the client must not answer any
}

// Cancellation is how one side says that it wants the answer to its request no more.
type Cancellation struct {
	Method   string // of the notification
	ID       string // the member of its params that has the id of the request
	Answered bool   // a cancelled request is answered all the same
}

// Peer is one end of a JSON-RPC connection. Its methods may be called from any goroutine. Only the
// link may call Deliver, TooBig, Done, Failed, Expired and OfferInline, and these never call the
// link.
type Peer struct {
	config        Config
	epochs        epochs
	flight        inflight
	calls         sync.Pool // of *pendingCall; per peer, because channels belong to their test bubble
	notifications notificationQueue
	serving       serving
	sender        asyncSender

	streak   atomic.Int32  // malformed messages in a row
	arrivals atomic.Uint64 // requests and notifications that have arrived
	broken   atomic.Bool   // config.Broken was called
	born     time.Time
	heard    atomic.Int64 // see Heard, in nanoseconds after born
	counters atomicCounters
}

// NewPeer makes a peer. It starts nothing. After Close, nothing of the peer is left except handlers
// that have not returned.
func NewPeer(c Config) *Peer {
	if c.Cancel.Method == "" {
		c.Cancel = Cancellation{Method: methodCancelled, ID: "requestId"}
	}
	p := &Peer{config: c, born: time.Now()}
	p.flight.terms.Store(&Terms{})
	p.flight.aside = c.Aside
	p.flight.pending, p.flight.lastID = make(map[uint32]*pendingCall), c.After
	p.calls.New = newPendingCall
	p.sender.transmit = p.transmit
	p.notifications.hear = func(*Incoming) {}
	if c.Handler != nil {
		p.notifications.hear = c.Handler.Notify
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	p.serving.ctx, p.serving.cancel, p.sender.ctx = ctx, cancel, ctx
	p.serving.most, p.serving.next = maxServing, make(chan *served)
	p.serving.order, _ = c.Handler.(Admitter)
	if c.Serving {
		p.serving.most, p.sender.keepAll = maxServed, true
	}
	return p
}

// Agree sets the terms of the messages from now on. A message keeps the terms that held when it got
// its number, so that its number tells its epoch; see [Peer.Expired].
func (p *Peer) Agree(t Terms) {
	p.flight.mu.Lock()
	defer p.flight.mu.Unlock()
	if t.Epoch != p.flight.terms.Load().Epoch {
		p.epochs.first = p.flight.lastID
	}
	p.flight.terms.Store(&t)
}

// Version returns the protocol version that a handshake has settled, or "" before the first.
func (p *Peer) Version() string { return p.flight.terms.Load().Version }

// Last returns the number of the newest message, or 0 if there is none. A later peer of the same
// session gets it as [Config.After].
func (p *Peer) Last() uint64 {
	p.flight.mu.Lock()
	defer p.flight.mu.Unlock()
	return p.flight.lastID
}

// Close ends every pending call with err, cancels the contexts of handlers and refuses everything
// that comes later. The handler still gets the notifications that have arrived. Only the first
// Close has an effect. Close never waits, so any goroutine may call it, handlers included.
func (p *Peer) Close(err error) {
	if err == nil {
		err = ErrClosed
	} else if !errors.Is(err, ErrClosed) {
		err = fmt.Errorf("%w: %w", ErrClosed, err)
	}
	if p.flight.close(err) {
		p.serving.cancel(err)
		p.sender.close()
		p.notifications.close()
	}
}

// AwaitHeardBefore waits until the handler has returned from every notification that arrived before
// the message with this number (see [Incoming.Arrival]), or until ctx ends. A handler of a
// notification must not call it.
func (p *Peer) AwaitHeardBefore(ctx context.Context, arrival uint64) {
	p.notifications.awaitHeardBefore(ctx, arrival)
}

// AwaitHeard waits until the handler has returned from every notification that has arrived, or
// until ctx ends. A handler must not call it: it would wait for itself.
func (p *Peer) AwaitHeard(ctx context.Context) { p.notifications.awaitHeard(ctx) }

// Drain waits until no call is pending except those in background, or until ctx ends. From the
// first moment without such a call, every new call fails: its error says that the connection is
// closed and that the call was certainly not sent. Other messages can be sent until Close.
func (p *Peer) Drain(ctx context.Context) error {
	drained := p.flight.drain()
	if drained == nil {
		return nil
	}
	select {
	case <-drained:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Quiet reports whether no call is pending. A call that has ended may not have returned yet.
func (p *Peer) Quiet() bool {
	p.flight.mu.Lock()
	defer p.flight.mu.Unlock()
	return len(p.flight.pending) == 0
}

// Alone reports whether exactly one call is pending.
func (p *Peer) Alone() bool {
	p.flight.mu.Lock()
	defer p.flight.mu.Unlock()
	return len(p.flight.pending) == 1
}

// Heard returns the time of the last inbound message. While notifications queue for the handler, it
// is the time when the first of these came. While a call that is not in background is pending, it
// returns the present time, because many servers do one thing at a time.
func (p *Peer) Heard() time.Time {
	p.flight.mu.Lock()
	busy := len(p.flight.pending) > p.flight.inBackground
	p.flight.mu.Unlock()
	if busy {
		return time.Now()
	}
	return p.born.Add(time.Duration(p.heard.Load()))
}

// Flush waits until the link has taken every message that was queued before and that no caller
// waits for, such as a cancellation. It returns early when ctx ends. A message sent after Flush
// follows the queued ones.
func (p *Peer) Flush(ctx context.Context) error { return p.sender.flush(ctx) }

// Done says that an exchange is over. If its call is still pending, the call ends with what was
// wrong with a malformed message on the exchange or, if there was none, with a [*NoResponseError].
func (p *Peer) Done(exchange uint32) {
	p.flight.mu.Lock()
	var spoilt error
	c := p.flight.pending[exchange]
	if c != nil {
		spoilt = c.spoilt
	}
	p.flight.mu.Unlock()
	switch {
	case c == nil: // as usual, because Done follows an answer; no error is made
	case spoilt != nil:
		p.flight.end(exchange, spoilt, Answered)
	default:
		status, _ := p.status(exchange)
		p.flight.end(exchange, &NoResponseError{exchange, status}, MaybeSent)
	}
}

// Failed says that an exchange has failed. Its call ends as NotSent if err is an ErrNotSent or says
// that a broker refused the message, and as MaybeSent otherwise.
func (p *Peer) Failed(exchange uint32, err error) {
	sent := MaybeSent
	if errors.Is(err, ErrNotSent) || refusedByBroker(err) {
		sent = NotSent
	}
	if !p.flight.end(exchange, err, sent) {
		p.counters.failures.Add(1)
		p.dropped(err, nil)
	}
}

// TooBig says that a message over the cap was dropped. head is its beginning and tail its end. If
// they show the id of a pending call, that call ends. On an exchange of its own, the call also ends
// if the message may have been an answer.
func (p *Peer) TooBig(exchange uint32, head, tail []byte) {
	p.counters.tooBig.Add(1)
	p.dropped(ErrTooBig, head)
	id, answer := scanBroken(head)
	if last, exact := exactID(strictjson.LastID(tail)); id == 0 && exact {
		id = last
	}
	switch {
	case answer && id != 0:
		p.flight.endID(exchange, id, ErrTooBig)
	case answer && exchange != 0:
		p.flight.end(exchange, ErrTooBig, Answered)
	}
	if p.config.Serving {
		p.refuseTooBig(head, tail)
	}
}

func (p *Peer) dropped(why error, msg []byte) {
	if p.config.Dropped != nil {
		p.config.Dropped(why, msg)
	}
}
