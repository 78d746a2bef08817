package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/internal/strictjson"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// ackTimeout bounds how long a server may take to acknowledge a stream, or a legacy server to agree
// to a subscription, if requests have no timeout of their own.
const ackTimeout = 30 * time.Second

// errTornDown is the cause of a stream's end when the server ended the stream.
var errTornDown = errors.New("the server ended the stream")

// errMoving is the cause of a stream's end when its connection makes room for another.
var errMoving = errors.New("the server is being connected anew")

// holdModern opens a stream and returns when it ends. A session opens its streams one at a time:
// the id that tells their notifications apart comes with the acknowledgement.
func (u *Subscription) holdModern(l *agreedConn, opened func()) error {
	ctx, cancel := context.WithCancelCause(u.ctx)
	defer cancel(nil)
	defer context.AfterFunc(l.retired, func() { cancel(errMoving) })()
	a := &u.session.subscribers
	if err := a.turn.Lock(ctx); err != nil {
		return err
	}
	acknowledged, ended := make(chan struct{}), make(chan error, 1)
	u.listen(binding{inbox: l.inbox, after: l.Peer.Last(), opening: acknowledged, shut: cancel})
	go func() {
		given := map[string]any{"notifications": u.filter}
		_, _, err := u.session.try(ctx, l, &request{method: mcp.MethodListen, given: given, limit: -1})
		ended <- err
	}()
	late := time.AfterFunc(l.replyTimeout(), func() {
		cancel(fmt.Errorf("%w: the server did not acknowledge the stream", rpc.ErrTimeout))
	})
	select {
	case <-acknowledged:
	case err := <-ended:
		u.listen(binding{}) // else it would take the acknowledgement of the next stream
		ended <- err
	}
	late.Stop()
	a.turn.Unlock()
	select {
	case <-acknowledged:
		opened()
	default:
	}
	// The graceful end is an empty result. Some servers cancel the request instead; the
	// specification has both (2026-07-28/basic/patterns/cancellation).
	err := <-ended
	switch {
	case err == nil:
		return errTornDown
	case ctx.Err() != nil && !answered(err):
		return context.Cause(ctx)
	}
	return err
}

// replyTimeout returns how long a server may take to acknowledge a request.
func (l *agreedConn) replyTimeout() time.Duration {
	if l.timeout > 0 {
		return l.timeout
	}
	return ackTimeout
}

// acknowledge takes the first notification of a stream, if u waits for it. An error ends the
// stream.
//
// id is that of the request that opened the stream. A smaller number belongs to an earlier request,
// whose stream was given up while the server was about to acknowledge it. An id that is not a
// number is the server's own choice, and is accepted.
func (u *Subscription) acknowledge(in *inbox, id string, honoured mcp.Filter, err error) bool {
	n, exact := strictjson.Int([]byte(id))
	u.mu.Lock()
	e := u.binding
	if e.inbox != in || e.opening == nil || exact && n >= 0 && uint64(n) <= e.after {
		u.mu.Unlock()
		return false
	}
	if err == nil && honoured.Empty() {
		err = &unsupportedError{want: "any of the changes asked for"}
	}
	if err != nil {
		u.mu.Unlock()
		e.shut(err)
		return true
	}
	u.binding.id, u.binding.opening = id, nil
	u.mu.Unlock()
	if u.agree(honoured) {
		u.miss()
	}
	close(e.opening)
	return true
}

// readAcknowledged reads the params of the first notification of a stream. It returns an error if
// they name more resources than it reads.
func readAcknowledged(params []byte) (id string, f mcp.Filter, err error) {
	id = subscriptionID(params)
	r := strictjson.Read(member(params, "notifications"))
	for key := range r.Object() {
		switch string(key) {
		case "toolsListChanged":
			f.Tools = r.Bool()
		case "promptsListChanged":
			f.Prompts = r.Bool()
		case "resourcesListChanged":
			f.Resources = r.Bool()
		case "resourceSubscriptions":
			f.URIs = texts(r)
		case "taskIds":
			f.Tasks = texts(r)
		}
	}
	if many := (*strictjson.TooManyError)(nil); errors.As(r.Err(), &many) {
		return id, f, fmt.Errorf("what the server acknowledges: %w", invalid(many))
	}
	return id, f, nil
}

// texts reads an array of strings, or null.
func texts(r *strictjson.Reader) (all []string) {
	if r.Null() {
		return nil
	}
	for range r.Array() {
		all = append(all, r.String())
	}
	return all
}

// subscriptionID returns the subscription id in the params of a notification as it is written, or
// "".
func subscriptionID(params []byte) string {
	return string(member(member(params, "_meta"), mcp.MetaSubscriptionID))
}
