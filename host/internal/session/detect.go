package session

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// handshake opens the session on one connection.
//
// One request, server/discover, finds the era of the server. It is sent before anything else. Over
// HTTP its answer decides, see probe.go. Everywhere else the rule is that of stdio
// (2026-07-28/basic/transports/stdio, "Backward Compatibility"):
//
//   - a modern server answers it;
//   - a legacy server refuses it, with whatever error its library has for a
//     request before initialize; initialize follows on the same connection;
//   - a legacy server may also say nothing. After a while initialize is sent as
//     well. That while may be short, because it decides nothing for a server of one
//     era: a modern one that is slow to start finds both requests and refuses the
//     second. One of both eras accepts it, and is a legacy server from then on;
//   - a legacy server may also end the connection. Then the caller dials again and begins
//     with initialize.
//
// Nothing else reaches a legacy server before initialize. In particular, no request is cancelled:
// the protocol forbids it for initialize, and a legacy server never began server/discover.
type handshake struct {
	session *Session
	options *ConnectOptions
	conn    *Dialed
	epoch   uint32 // the epoch of the messages after the handshake
	asked   bool   // the probe may have reached the server
}

// reply is how a request of the handshake ended.
type reply struct {
	result []byte
	err    error
}

// peerGoneError says that the connection ended after the probe was sent, and before the server said
// anything that shows its era.
type peerGoneError struct{ cause error }

func (e *peerGoneError) Error() string { return e.cause.Error() }
func (e *peerGoneError) Unwrap() error { return e.cause }

// open opens the session in the given era, or in the era that it detects.
func (h *handshake) open(ctx context.Context, era mcp.Era) (*agreedConn, error) {
	switch {
	case era == mcp.Legacy:
		return h.greet(ctx)
	case era == "" && h.conn.http():
		return h.probe(ctx)
	case era == "":
		return h.detect(ctx)
	}
	got, err := h.wait(ctx, h.discover(ctx, modernVersions[0]))
	if err != nil {
		return nil, err
	}
	l, err := h.modern(ctx, got)
	if l == nil && err == nil {
		return nil, fmt.Errorf("the server does not speak %s: %w", strings.Join(modernVersions, ", "), discoverError(got))
	}
	return l, err
}

// detect applies the rule that [handshake] describes.
func (h *handshake) detect(ctx context.Context) (*agreedConn, error) {
	probe := h.discover(ctx, modernVersions[0])
	silence := time.NewTimer(probeTimeout)
	defer silence.Stop()
	select {
	case got := <-probe:
		if l, err := h.heard(ctx, got); l != nil || err != nil {
			return l, err
		}
		return h.greet(ctx)
	case <-silence.C:
		return h.race(ctx, probe, h.initialize(ctx))
	case <-h.conn.Done():
		return h.leftWith(ctx, probe)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// heard returns the connection to a modern server if got, the reply to the probe, comes from one,
// and nil for a legacy server. It returns an error if the reply shows no era:
//
//   - no server was reached: one that starts a moment later must not be taken for a
//     legacy one;
//   - the stream ended before the probe was sent: another request on it would not be
//     sent either;
//   - the stream ended after it: that may be how a legacy server answers, but nothing
//     more can be asked on it.
func (h *handshake) heard(ctx context.Context, got reply) (*agreedConn, error) {
	if refused(got.err) {
		return nil, got.err
	}
	if errors.Is(got.err, rpc.ErrClosed) && !errors.Is(got.err, rpc.ErrNotSent) {
		return nil, h.left(ctx, got.err)
	}
	if errors.Is(got.err, rpc.ErrNotSent) && !errors.Is(got.err, rpc.ErrTimeout) && !h.conn.http() {
		select {
		case <-h.conn.Done(): // after that, the reason is known
			return nil, h.left(ctx, got.err)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	h.asked = !errors.Is(got.err, rpc.ErrNotSent)
	return h.modern(ctx, got)
}

// race waits for the probe and initialize at once. A server that accepts initialize speaks the legacy era
// from then on, even if it has answered the probe before: one on the official SDK in TypeScript then answers
// as a legacy server for as long as the connection lasts. A modern server refuses initialize. An answer that
// is missing is waited for as long as the probe had alone.
func (h *handshake) race(ctx context.Context, probe, hello <-chan reply) (*agreedConn, error) {
	var found, held reply // the answers to the probe and to initialize
	var patience <-chan time.Time
	for {
		select {
		case found = <-probe:
			probe = nil
			if found.err == nil && hello != nil {
				patience = time.After(probeTimeout)
				continue
			}
			if l, err := h.heard(ctx, found); l != nil || err != nil {
				return l, err
			}
			if hello == nil {
				return h.legacy(ctx, held)
			}
		case held = <-hello:
			hello = nil
			if held.err == nil {
				return h.legacy(ctx, held)
			}
			if probe != nil {
				patience = time.After(probeTimeout)
				continue
			}
			if l, err := h.heard(ctx, found); l != nil || err != nil {
				return l, err
			}
			return h.legacy(ctx, held)
		case <-patience:
			if hello == nil {
				return h.legacy(ctx, held)
			}
			if l, err := h.heard(ctx, found); l != nil || err != nil {
				return l, err
			}
		case <-h.conn.Done():
			if l := h.discovered(found); l != nil {
				return l, nil
			}
			return h.leftWith(ctx, probe)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// ask sends a request of the handshake. When ask returns, the request is pending or has ended. The
// request stays pending until it is answered or the connection ends, even if no caller waits for it
// any more: its cancellation would be a message to the server. Over HTTP the end of ctx ends the
// request and its stream, and sends no message.
func (h *handshake) ask(ctx context.Context, call rpc.Call, params rpc.Appender) <-chan reply {
	if !h.conn.http() {
		ctx = context.WithoutCancel(ctx)
	}
	begun := make(chan struct{})
	call.Background, call.Begun = true, func() { close(begun) }
	replies := make(chan reply, 1)
	go func() {
		result, err := h.conn.Peer.Call(ctx, &call, params)
		replies <- reply{result, err}
	}()
	select {
	case <-begun:
	case got := <-replies:
		replies <- got
	}
	return replies
}

// wait waits for one reply. An error means that the connection is of no use. A refusal by the
// server is a reply, not an error.
func (h *handshake) wait(ctx context.Context, replies <-chan reply) (reply, error) {
	got, err := h.receive(ctx, replies)
	if err == nil && got.err != nil && !answered(got.err) {
		err = h.left(ctx, got.err)
	}
	return got, err
}

// receive waits for one reply, which may be an error of the request.
func (h *handshake) receive(ctx context.Context, replies <-chan reply) (reply, error) {
	select {
	case got := <-replies:
		return got, nil
	case <-h.conn.Done():
		return reply{}, h.left(ctx, nil)
	case <-ctx.Done():
		return reply{}, context.Cause(ctx)
	}
}

// left returns why the connection ended. err is the error of a request on it, or nil. If the
// transport has ended, its reason replaces err. Over HTTP a request may fail while the connection
// lasts; then left returns err. The result is a [peerGoneError] if the server may have left because
// of a request. That is so if a request may have reached it, and another connection need not fail
// in the same way.
func (h *handshake) left(ctx context.Context, err error) error {
	unasked := errors.Is(err, rpc.ErrNotSent) && !h.asked
	if errors.Is(err, rpc.ErrClosed) {
		select {
		case <-h.conn.Done():
		case <-ctx.Done():
		}
	}
	if h.conn.http() && !h.conn.ended() {
		return err
	}
	if h.conn.ended() {
		if why := h.conn.Err(); why != nil {
			err = why
		}
	}
	if err == nil {
		err = errors.New("the connection ended")
	}
	if unasked || final(err) {
		return err
	}
	return &peerGoneError{err}
}

// final reports whether err says that another connection would fail as well.
func final(err error) bool {
	var said interface{ Final() bool }
	return errors.As(err, &said) && said.Final()
}

// leftWith does what left does, for a connection that ended during the probe. probe is nil if the
// server has answered it. Otherwise leftWith waits for the reply: the server may have answered
// before it left, and that answer shows the era.
func (h *handshake) leftWith(ctx context.Context, probe <-chan reply) (*agreedConn, error) {
	if probe == nil {
		return nil, h.left(ctx, nil)
	}
	select {
	case got := <-probe:
		if l := h.discovered(got); l != nil {
			return l, nil
		}
		return nil, h.left(ctx, got.err)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
