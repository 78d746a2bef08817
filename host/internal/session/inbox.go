package session

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// inbox is the [rpc.Handler] of one connection: it takes what the server begins.
type inbox struct {
	session  *Session
	outdated context.Context // ends when two connections have come after it, and with the session
	outdate  context.CancelFunc
	echoed   atomic.Bool              // a request of ours came back
	peer     atomic.Pointer[rpc.Peer] // of the connection, once there is one
}

// newInbox returns the inbox of the next connection. Notifications that wait in the inbox
// before it are still passed on. Those that wait in older inboxes are dropped: else
// connections that come and go would pile up behind a callback that does not return.
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

// AwaitHeard waits until Notify has heard the notifications that have arrived, or until ctx ends.
// Notify must not call it. After Close there is nothing to wait for.
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

// Request answers a server's request. What was not advertised is refused. A modern server
// must not ask at all: once the handshake has found that the server is modern, the peer
// passes no requests on.
func (b *inbox) Request(ctx context.Context, in *rpc.Incoming) (rpc.Appender, error) {
	if in.Method == mcp.MethodInitialize || in.Method == mcp.MethodDiscover { // which no server sends
		b.echoed.Store(true)
	}
	if in.Method == mcp.MethodPing {
		return written([]byte("{}")), nil
	}
	defer b.session.trackers.hold()()
	answer, err := b.session.cfg.respond(ctx, in.Method, in.Params)
	var fault *rpc.Error
	switch {
	case err == nil:
		return answer, nil
	case errors.Is(err, errNoHandler):
		return nil, &rpc.Error{Code: mcp.CodeMethodNotFound, Message: "method not found"}
	case errors.As(err, &fault):
		return nil, fault
	}
	// The words of an error may be about this machine: the server learns them only where
	// the callback chose to tell, with an error of the protocol.
	return nil, &rpc.Error{Code: mcp.CodeInternalError, Message: "the client could not answer"}
}

// aliases are other names that some servers use for methods of the protocol. Older
// descriptions of the protocol spelled them so.
var aliases = map[string]string{"notifications/logging/message": mcp.NotificationMessage}

// Preempt handles a notification as far as it concerns the session itself. It does so as soon
// as the notification arrives, because a callback that holds up Notify may be waiting for
// that.
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

// Notify passes a notification on, one at a time over all connections, while the session is
// open. What still waits behind a slow callback when it closes is dropped. The callback may
// keep its params.
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
	b.session.cfg.Notify(method, bytes.Clone(in.Params))
}
