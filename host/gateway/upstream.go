package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/status"
)

// upstream is what one client has of a server: its place in a session, which it may share with other
// clients, and what stays its own there.
type upstream struct {
	gateway      *Gateway
	client       counterpart
	server       host.Server
	principal    string
	info         json.RawMessage // of the client, in its words
	capabilities json.RawMessage
	ctx          context.Context // ends when the client leaves
	cancel       context.CancelCauseFunc
	subscribed   subscriptionSet
	events       *eventQueue // nil where the client alone uses the session, and hears its events at once

	moving sync.WaitGroup // of tenants before the present one

	mu     sync.Mutex
	closed bool
	tenant *tenant     // the present one
	known  status.Info // of the server, from the tenant before
}

// counterpart is the client of an upstream, as the server sees it.
type counterpart interface {
	// onRequest answers a request of the server.
	onRequest(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)

	// onNotification takes a notification of the server. It is called for one after the other.
	onNotification(u *upstream, e host.Event)
}

// connect gives a client a session with a server: one that it may share, or one of its own. info and
// capabilities are JSON objects in the words of the client. Nothing is started.
func (g *Gateway) connect(c counterpart, principal string, server host.Server, info, capabilities json.RawMessage) (*upstream, error) {
	u := &upstream{gateway: g, client: c, server: server, principal: principal, info: info, capabilities: capabilities}
	u.ctx, u.cancel = context.WithCancelCause(context.Background())
	var err error
	if u.tenant, err = g.copies.join(u); err != nil {
		u.cancel(nil)
		return nil, err
	}
	return u, nil
}

// present returns the client's tenant for what comes next. Where its copy was divided, that is one of
// a copy of its own from now on: calls under way end where they began, and subscriptions begin anew.
func (u *upstream) present() (*tenant, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	old := u.tenant
	old.copy.checkTasks()
	switch {
	case u.closed:
		return nil, host.ErrClosed
	case !old.copy.isDivided():
		return old, nil
	}
	next, err := u.gateway.copies.join(u)
	if err != nil {
		return nil, err
	}
	next.inherit(old)
	u.tenant, u.known = next, old.copy.session.Info()
	u.moving.Go(old.leave)
	u.subscribed.restart()
	return next, nil
}

// isPresent reports whether the client still uses that tenant.
func (u *upstream) isPresent(t *tenant) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.tenant == t
}

// session returns the session that the client has at present.
func (u *upstream) session() *host.Session {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.tenant.copy.session
}

// serverInfo returns what the server says of itself, as far as it is known in this run.
func (u *upstream) serverInfo() status.Info {
	u.mu.Lock()
	defer u.mu.Unlock()
	if info := u.tenant.copy.session.Info(); info.Era != "" {
		return info
	}
	return u.known
}

// era returns the era of the server. It starts the server if that is not known.
func (u *upstream) era(ctx context.Context) (mcp.Era, error) {
	t, err := u.present()
	if err != nil {
		return "", err
	}
	if era := t.copy.session.Info().Era; era != "" {
		return era, nil
	}
	err = t.copy.session.Ready(host.WithOptions(ctx, t.options()))
	return t.copy.session.Info().Era, err
}

// about returns what the server says of itself. It starts the server, and waits for it only if
// nothing is known from an earlier run.
func (u *upstream) about(ctx context.Context) (status.Info, error) {
	session := u.session()
	if s := session.Snapshot(); s != nil && s.Info.Raw != nil {
		session.Start()
		return s.Info, nil
	}
	_, err := u.era(ctx)
	return u.serverInfo(), err
}

// relay passes a request on, when its turn has come. It returns after the client has heard what the
// server said before.
func (u *upstream) relay(ctx context.Context, r *request, out host.Relay) (result json.RawMessage, err error) {
	if err := r.turn.await(ctx); err != nil {
		return nil, err
	}
	t, ctx, stop, err := u.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer t.end()
	defer stop()
	out.Method, out.Header, out.Placed = r.method, r.header, r.turn.pass
	result, err = t.copy.session.Relay(host.WithOptions(ctx, t.options()), out)
	u.awaitHeard(ctx)
	if err != nil {
		t.copy.remember(t, err)
	}
	return result, err
}

// begin lets in a call, see [tenant.begin].
func (u *upstream) begin(ctx context.Context) (t *tenant, bounded context.Context, stop func(), err error) {
	if t, err = u.present(); err != nil {
		return nil, nil, nil, err
	}
	if bounded, stop, err = t.begin(ctx); err == nil {
		t.restoreLevel(bounded)
	}
	return t, bounded, stop, err
}

// awaitHeard waits until the client has heard what the server has said, or until ctx ends.
func (u *upstream) awaitHeard(ctx context.Context) {
	if u.events != nil {
		u.events.awaitHeard(ctx)
	}
}

// call has do use the session for the client. ctx of do has its options, and ends when the client
// leaves.
func (u *upstream) call(ctx context.Context, do func(context.Context, *host.Session) error) error {
	t, ctx, stop, err := u.begin(ctx)
	if err != nil {
		return err
	}
	defer t.end()
	defer stop()
	return do(host.WithOptions(ctx, t.options()), t.copy.session)
}

// setLevel has the client hear the log messages of the server from a level up.
func (u *upstream) setLevel(ctx context.Context, level mcp.Level) error {
	if _, err := u.era(ctx); err != nil {
		return err
	}
	t, err := u.present()
	if err != nil {
		return err
	}
	return t.setLevel(ctx, level)
}

// notify passes a notification on. One that cannot be delivered is lost, as on any connection.
func (u *upstream) notify(ctx context.Context, method string, params json.RawMessage) {
	t, err := u.present()
	if err != nil || !t.mayNotify(method, params) {
		return
	}
	var given any
	if params != nil {
		given = params
	}
	t.copy.session.Notify(host.WithOptions(ctx, t.options()), method, given)
}

// close ends what the client has of the server: its calls and subscriptions, and the session if it
// was the last that used it. Nothing of them is left when close returns.
func (u *upstream) close() {
	u.mu.Lock()
	u.closed = true
	t := u.tenant
	u.mu.Unlock()
	u.cancel(host.ErrClosed)
	u.subscribed.close()
	t.leave()
	u.moving.Wait()
	if u.events != nil {
		u.events.close()
	}
}

// progress returns what passes the notifications of progress to a client, with the token that the
// client has chosen. It is nil for a request without a token.
func progress(ctx context.Context, to clientChannel, token json.RawMessage) func(json.RawMessage) {
	if token == nil {
		return nil
	}
	return func(params json.RawMessage) { to.notify(ctx, mcp.NotificationProgress, withToken(params, token)) }
}

func withToken(params, token json.RawMessage) json.RawMessage {
	return edit(params, change{"progressToken", token}, change{"token", nil})
}

// clientError returns the error that a client gets for err: the server's own, or why there is none.
func (g *Gateway) clientError(err error) error {
	var no *rpc.Error
	if errors.As(err, &no) {
		return no
	}
	text := err.Error()
	if host.MaybeSent(err) {
		text += "; the server may have acted on the request"
	}
	if hint := host.Hint(err); hint != "" {
		text += ". Hint: " + hint
	}
	return &rpc.Error{Code: mcp.CodeInternalError, Message: g.host.Redact(text)}
}

// checkOffered reports whether a client with these capabilities answers a request of a server, and if
// not, with which error it is refused. It leaves methods that are not the protocol's own to the
// client.
func checkOffered(capabilities json.RawMessage, method string, params json.RawMessage) error {
	name := map[string]string{
		mcp.MethodListRoots: "roots", mcp.MethodCreateMessage: "sampling", mcp.MethodElicit: "elicitation",
	}[method]
	if name == "" {
		return nil
	}
	offered := member(capabilities, name)
	if offered == nil {
		return &rpc.Error{Code: mcp.CodeMethodNotFound, Message: "Method not found: the client does not offer " + name}
	}
	if method != mcp.MethodElicit {
		return nil
	}
	forms, pages := member(offered, mcp.ElicitForm) != nil, member(offered, mcp.ElicitURL) != nil
	switch mode := text(params, "mode"); {
	case mode == mcp.ElicitURL && !pages, mode != mcp.ElicitURL && pages && !forms:
		return invalidParams("the client does not offer elicitation in this mode")
	}
	return nil
}
