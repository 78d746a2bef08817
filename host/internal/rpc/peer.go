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
	// Send queues m and takes it over. It may wait while there is no room, until
	// ctx is done, but not for an urgent message. An error means that m was
	// certainly not sent. ctx must not be kept.
	Send(ctx context.Context, m *Message) error

	// Cancel says that no caller waits for the exchange any more. It reports
	// whether its message had certainly not left yet and is gone now. It does
	// not wait.
	Cancel(exchange uint32) (unsent bool)
}

// Config is what a peer is made of. Link is required.
type Config struct {
	Link    Link
	Handler Handler       // what the server asks and tells; nil = none is heard
	Timeout time.Duration // of a call, and of how long a notification waits for room; 0 = none
	After   uint64        // the number of the last message so far, in a session that goes on: no id may be used twice in it

	// Trace sees every message, whole: those about to be sent, and those that arrive, before
	// they are looked at. Dropped sees the inbound ones that are dropped, and why. Both are
	// called on the goroutine that has the message, must not wait, and may be nil.
	Trace   func(sent bool, msg []byte)
	Dropped func(why error, msg []byte)

	// Status returns the status of the HTTP response of an exchange, 0 for none. The peer
	// calls it within Deliver, when the exchange is answered with an error; nil is for links
	// that know nothing of HTTP.
	Status func(exchange uint32) int

	// ReadFor has a caller that waits alone read its answer itself, see
	// [hostio.AnswerReader]; nil is for links that have nothing to read.
	ReadFor func(w hostio.Waiter)

	// Broken is called once, on a goroutine of its own, when the other side has
	// proved that it does not speak the protocol. It should close the connection;
	// the peer itself cannot.
	Broken func(err error)
}

// Terms are what a handshake settles. Before it, the zero value holds.
type Terms struct {
	Version      string // the negotiated protocol version
	Epoch        uint32 // counts handshakes
	AllowBatch   bool   // the server may send arrays of messages
	StreamCancel bool   // cancelling is the transport's business, not a message
	NoReplies    bool   // the server must not ask, and a client must not answer
}

// Peer is one end of a JSON-RPC connection. All methods may be called from any
// goroutine, but Deliver, TooBig, Done, Failed, Expired and OfferInline only by the link, and
// those never call back into it.
type Peer struct {
	config        Config
	epochs        epochs
	flight        inflight
	calls         sync.Pool // of *call; per peer, because channels belong to their test bubble
	notifications notificationQueue
	serving       serving
	sender        asyncSender

	streak atomic.Int32 // malformed messages in a row
	broken atomic.Bool  // config.Broken was called
	born   time.Time
	heard  atomic.Int64 // when the last message came: nanoseconds after born
	tally  tally
}

// NewPeer makes a peer. It starts nothing; once Close was called, nothing of it
// is left but handlers that have not returned.
func NewPeer(c Config) *Peer {
	p := &Peer{config: c, born: time.Now()}
	p.flight.terms.Store(&Terms{})
	p.flight.pending, p.flight.lastID = make(map[uint32]*pendingCall), c.After
	p.calls.New = newPendingCall
	p.sender.transmit = p.transmit
	p.notifications.hear = func(*Incoming) {}
	if c.Handler != nil {
		p.notifications.hear = c.Handler.Notify
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	p.serving.ctx, p.serving.cancel, p.sender.ctx = ctx, cancel, ctx
	return p
}

// Agree sets what a handshake has settled, for messages from now on. A message has the terms
// that held when it got its number, so that a number tells the epoch; see [Peer.Expired].
func (p *Peer) Agree(t Terms) {
	p.flight.mu.Lock()
	defer p.flight.mu.Unlock()
	if t.Epoch != p.flight.terms.Load().Epoch {
		p.epochs.first = p.flight.lastID
	}
	p.flight.terms.Store(&t)
}

// Version returns the protocol version that a handshake has settled, "" before
// one has.
func (p *Peer) Version() string { return p.flight.terms.Load().Version }

// Last returns the number of the last message so far, 0 for none. A peer that goes on with
// the session gets it as [Config.After].
func (p *Peer) Last() uint64 {
	p.flight.mu.Lock()
	defer p.flight.mu.Unlock()
	return p.flight.lastID
}

// Close ends every pending call with err, cancels what handlers are doing and
// refuses whatever comes later. Notifications that have arrived are still
// heard. Only the first Close does anything; none waits, so that it may be
// called from anywhere, handlers included.
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

// AwaitHeard waits until the handler has heard every notification that has arrived, or until
// ctx ends. A handler must not call it: it would wait for itself.
func (p *Peer) AwaitHeard(ctx context.Context) { p.notifications.awaitHeard(ctx) }

// Drain waits until no call is pending except those in background, or until ctx ends. From
// the moment in which none is pending, no other begins: a call that comes too late gets the
// error that the connection is closed, and was certainly not sent. Other messages are sent
// until Close.
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

// Quiet reports whether no call is pending. One that has ended may not have returned
// yet.
func (p *Peer) Quiet() bool {
	p.flight.mu.Lock()
	defer p.flight.mu.Unlock()
	return len(p.flight.pending) == 0
}

// Alone reports whether one call is pending.
func (p *Peer) Alone() bool {
	p.flight.mu.Lock()
	defer p.flight.mu.Unlock()
	return len(p.flight.pending) == 1
}

// Heard returns the time of the last message that came. While a call that is not in
// background waits for its answer, it returns the present time: many a server does one thing
// at a time.
func (p *Peer) Heard() time.Time {
	p.flight.mu.Lock()
	busy := len(p.flight.pending) > p.flight.inBackground
	p.flight.mu.Unlock()
	if busy {
		return time.Now()
	}
	return p.born.Add(time.Duration(p.heard.Load()))
}

// Flush waits until the link has taken every message queued before it that no caller waits
// for, such as the cancellation of a call, or until ctx ends. What is sent after that
// follows them.
func (p *Peer) Flush(ctx context.Context) error { return p.sender.flush(ctx) }

// Done is the transport's word that an exchange is over. If a call still waits
// for its answer, there will be none.
func (p *Peer) Done(exchange uint32) {
	p.flight.mu.Lock()
	waits := p.flight.pending[exchange] != nil
	p.flight.mu.Unlock()
	if waits { // in the usual case no error is made: Done comes after each answer
		p.flight.end(exchange, &NoResponseError{exchange, p.status(exchange)}, MaybeSent)
	}
}

// Failed is the transport's word that an exchange has failed. If err is an ErrNotSent, or a
// broker refused the message, the message never reached the server.
func (p *Peer) Failed(exchange uint32, err error) {
	sent := MaybeSent
	if errors.Is(err, ErrNotSent) || turnedAway(err) {
		sent = NotSent
	}
	if !p.flight.end(exchange, err, sent) {
		p.tally.failures.Add(1)
		p.dropped(err, nil)
	}
}

// TooBig says that a message over the cap was dropped. head is its beginning, and tail its
// end: if they show which call it answers, that call ends. On an exchange of its own, the
// call ends already if the message may have been an answer.
func (p *Peer) TooBig(exchange uint32, head, tail []byte) {
	p.tally.tooBig.Add(1)
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
}

func (p *Peer) dropped(why error, msg []byte) {
	if p.config.Dropped != nil {
		p.config.Dropped(why, msg)
	}
}
