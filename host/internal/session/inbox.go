package session

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// inbox is the [rpc.Handler] of one connection: it receives the server's requests and
// notifications.
type inbox struct {
	session  *Session
	outdated context.Context // ends when two newer connections have been made, and with the session
	outdate  context.CancelFunc
	echoed   atomic.Bool              // the server sent back a request of ours
	peer     atomic.Pointer[rpc.Peer] // of the connection; nil before there is one

	toldRoots atomic.Bool // the server has asked for the roots
}

// newInbox returns the inbox of the next connection. The notifications that wait in the previous
// inbox are still passed on. Those in older inboxes are dropped, because a callback that does not
// return would otherwise hold up an unlimited number of inboxes.
func (s *Session) newInbox() *inbox {
	b := &inbox{session: s}
	b.outdated, b.outdate = context.WithCancel(s.ctx)
	if old := s.inboxes[0]; old != nil {
		old.outdate()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inboxes = [2]*inbox{s.inboxes[1], b}
	return b
}

// AwaitHeard waits until Notify has returned from all notifications that have arrived, or until ctx
// ends. Notify must not call it. After Close there is nothing to wait for.
func (s *Session) AwaitHeard(ctx context.Context) {
	s.mu.Lock()
	inboxes := s.inboxes
	s.mu.Unlock()
	for _, b := range inboxes {
		if b == nil {
			continue
		}
		if peer := b.peer.Load(); peer != nil {
			peer.AwaitHeard(ctx)
		}
	}
}

// Request answers a server's request. It refuses what the client did not advertise. A modern server
// must not send requests: once the handshake has found one, the peer passes none on.
func (b *inbox) Request(ctx context.Context, in *rpc.Incoming) (rpc.Appender, error) {
	if in.Method == mcp.MethodInitialize || in.Method == mcp.MethodDiscover { // no server sends these
		b.echoed.Store(true)
	}
	if in.Method == mcp.MethodPing {
		return written([]byte("{}")), nil
	}
	if in.Method == mcp.MethodListRoots {
		b.toldRoots.Store(true)
	}
	defer b.session.trackers.hold()()
	id, sure := in.Caller()
	ctx = context.WithValue(ctx, callerKey{}, caller{id, sure})
	answer, err := b.session.represents.Load().respond(ctx, in.Method, in.Params)
	var fault *rpc.Error
	switch {
	case err == nil:
		return answer, nil
	case errors.Is(err, errNoHandler):
		return nil, &rpc.Error{Code: mcp.CodeMethodNotFound, Message: "method not found"}
	case errors.As(err, &fault):
		return nil, fault
	}
	// The text of an error may reveal something about this machine. The server gets it only if the
	// callback chose so, with an error of the protocol.
	return nil, &rpc.Error{Code: mcp.CodeInternalError, Message: "the client could not answer"}
}

// aliases are other names that some servers use for methods of the protocol. Older
// descriptions of the protocol spelled them so.
var aliases = map[string]string{"notifications/logging/message": mcp.NotificationMessage}

// Preempt handles the part of a notification that concerns the session itself. It does so on
// arrival, because a callback that holds up Notify may be waiting for its effect.
func (b *inbox) Preempt(method string, params []byte) {
	s := b.session
	switch method {
	case mcp.NotificationProgress:
		s.trackers.hear(params)
	case mcp.NotificationElicitationComplete:
		s.pages.finish(params)
	case mcp.NotificationTaskStatus, mcp.NotificationTasks:
		id := memberText(params, "taskId")
		s.taskWaits.wake(id)
		s.subscribers.hear(b, params, mcp.Change{Kind: mcp.TaskChanged, Task: id})
	case mcp.NotificationAcknowledged, mcp.NotificationCancelled:
		s.subscribers.control(b, method, params)
	case mcp.NotificationToolsListChanged:
		s.expireLists(&mcp.Filter{Tools: true})
		s.subscribers.hear(b, params, mcp.Change{Kind: mcp.ToolsChanged})
	case mcp.NotificationPromptsListChanged:
		s.expireLists(&mcp.Filter{Prompts: true})
		s.subscribers.hear(b, params, mcp.Change{Kind: mcp.PromptsChanged})
	case mcp.NotificationResourcesListChanged:
		s.expireLists(&mcp.Filter{Resources: true})
		s.subscribers.hear(b, params, mcp.Change{Kind: mcp.ResourcesChanged})
	case mcp.NotificationResourceUpdated:
		s.reads.change()
		s.subscribers.hear(b, params, mcp.Change{Kind: mcp.ResourceUpdated, URI: memberText(params, "uri")})
	}
}

// Origin returns the label of the call whose progress a notification tells, and the
// [Subscription.ID] of the subscription on whose stream it came. Each is "" if the
// notification does not say.
func (s *Session) Origin(method string, params []byte) (label, subscription string) {
	switch method {
	case mcp.NotificationProgress:
		label = s.trackers.label(params)
	case mcp.NotificationToolsListChanged, mcp.NotificationPromptsListChanged, mcp.NotificationResourcesListChanged,
		mcp.NotificationResourceUpdated, mcp.NotificationTasks, mcp.NotificationAcknowledged:
		subscription = subscriptionID(params)
	}
	return label, subscription
}

// Notify passes a notification to the callback: one at a time over all connections, and only while
// the session is open. Close drops the notifications that wait behind a slow callback. The callback
// may keep its params.
func (b *inbox) Notify(in *rpc.Incoming) {
	select {
	case b.session.telling <- struct{}{}:
	case <-b.outdated.Done():
		return
	}
	defer func() { <-b.session.telling }()
	if b.outdated.Err() != nil {
		return
	}
	method := in.Method
	if method == "" {
		b.session.cfg.Warn("notifications of the server were dropped: it sends them faster than they are heard")
		return
	}
	if name, ok := aliases[method]; ok {
		method = name
	}
	id, _ := in.Caller()
	b.session.cfg.Notify(method, bytes.Clone(in.Params), id)
}
