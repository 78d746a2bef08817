package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/policy"
	"github.com/wharf-mcp/wharf/host/signin"
	"github.com/wharf-mcp/wharf/host/status"
)

// upstream is the use of a server by one client: its tenant in a session, which other clients may
// share, and its own subscriptions and events.
type upstream struct {
	origin
	gateway      *Gateway
	client       counterpart
	server       host.Server
	caller       *policy.Caller  // the client; nil if it does not matter who calls
	info         json.RawMessage // of the client, as it sent them
	capabilities json.RawMessage // as a server is told them
	ctx          context.Context // ends when the client leaves
	cancel       context.CancelCauseFunc
	subscribed   subscriptionSet
	events       *eventQueue // nil if the client alone uses the session, and gets its events at once

	moving sync.WaitGroup // waits for former tenants to leave

	mu     sync.Mutex
	closed bool
	tenant *tenant     // the present one
	known  status.Info // what the server said to the former tenant
}

// counterpart is the client of an upstream: it gets the messages of the server.
type counterpart interface {
	era() mcp.Era

	// onRequest answers a request of the server.
	onRequest(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)

	// onNotification takes a notification of the server. Calls come one after the other.
	onNotification(u *upstream, e host.Event)
}

// connect returns an upstream for a client, in a session that it may share or in one of its own.
// info and capabilities are JSON objects as the client sent them. connect does not start the server.
func (g *Gateway) connect(c counterpart, o origin, server host.Server, info, capabilities json.RawMessage) (*upstream, error) {
	if g.config.SameEra && server.Protocol == "" {
		server.Protocol = map[mcp.Era]string{mcp.Legacy: string(mcp.Legacy), mcp.Modern: mcp.LatestModern}[c.era()]
	}
	u := &upstream{gateway: g, client: c, server: server, origin: o, info: info, capabilities: withoutTasksExtension(capabilities), caller: g.caller(&o, c.era(), info)}
	u.ctx, u.cancel = context.WithCancelCause(context.Background())
	var err error
	if u.tenant, err = g.copies.join(u); err != nil {
		u.cancel(nil)
		return nil, err
	}
	return u, nil
}

// present returns the client's tenant for the next request. If its copy was divided, present first
// moves the client to a copy of its own: calls under way end in the old copy, and subscriptions begin
// anew.
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

// isPresent reports whether t is still the client's tenant.
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

// serverInfo returns what the server has said of itself in this run. It is empty before the server
// has been connected.
func (u *upstream) serverInfo() status.Info {
	u.mu.Lock()
	defer u.mu.Unlock()
	if info := u.tenant.copy.session.Info(); info.Era != "" {
		return info
	}
	return u.known
}

// era returns the era of the server. If it is not known, era starts the server and waits for it.
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

// about returns what the server says of itself, and starts the server. It waits for the server
// only if nothing is known from an earlier run.
func (u *upstream) about(ctx context.Context) (status.Info, error) {
	session := u.session()
	if s := session.Snapshot(); s != nil && s.Info.Raw != nil {
		session.Start()
		return s.Info, nil
	}
	_, err := u.era(ctx)
	return u.serverInfo(), err
}

// relay sends a request to the server when its turn has come, and returns the result. Before it
// returns, it waits until the client has got the notifications that came before the result.
func (u *upstream) relay(ctx context.Context, r *request, out host.Relay) (result json.RawMessage, err error) {
	if err := r.turn.await(ctx); err != nil {
		return nil, err
	}
	t, ctx, stop, err := u.begin(as(ctx, r.caller))
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
		return result, err
	}
	if u.kept != nil && namesTask(result) {
		t.copy.tasks.Store(true)
	}
	if u.gateway.config.TaskTime > 0 {
		t.copy.held.note(out.Method, out.Params, result)
	}
	return result, nil
}

// begin admits a call of the client's present tenant, see [tenant.begin]. Without a caller in ctx it is a
// call of the client.
func (u *upstream) begin(ctx context.Context) (t *tenant, bounded context.Context, stop func(), err error) {
	ctx = as(ctx, u.caller)
	if t, err = u.present(); err != nil {
		return nil, nil, nil, err
	}
	if bounded, stop, err = t.begin(ctx); err == nil {
		t.restoreLevel(bounded)
	}
	return t, bounded, stop, err
}

// awaitHeard waits until the client has got all notifications that have come, or until ctx ends.
func (u *upstream) awaitHeard(ctx context.Context) {
	if u.events != nil {
		u.events.awaitHeard(ctx)
	}
}

// call calls do with the client's session. The ctx of do has the client's options, and ends when
// the client leaves.
func (u *upstream) call(ctx context.Context, do func(context.Context, *host.Session) error) error {
	t, ctx, stop, err := u.begin(ctx)
	if err != nil {
		return err
	}
	defer t.end()
	defer stop()
	return do(host.WithOptions(ctx, t.options()), t.copy.session)
}

// setLevel sets the least severe level of the log messages that the client hears. It starts the
// server if its era is not known.
func (u *upstream) setLevel(ctx context.Context, level mcp.Level) error {
	if _, err := u.era(ctx); err != nil {
		return err
	}
	t, err := u.present()
	if err != nil {
		return err
	}
	return t.setLevel(as(ctx, u.caller), level)
}

// notify sends a notification to the server. If that fails, the notification is lost without an
// error.
func (u *upstream) notify(ctx context.Context, method string, params json.RawMessage) {
	t, err := u.present()
	if err != nil || !t.mayNotify(method, params) {
		return
	}
	var given any
	if params != nil {
		given = params
	}
	t.copy.session.Notify(host.WithOptions(as(ctx, u.caller), t.options()), method, given)
}

// close ends the client's calls and subscriptions at the server, and closes the session if no
// other client uses it. It returns when all of them have ended.
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

// progress returns a function that sends a notification of progress to a client, with the
// client's own token. It returns nil if token is nil.
func progress(ctx context.Context, to clientChannel, token json.RawMessage) func(json.RawMessage) {
	if token == nil {
		return nil
	}
	return func(params json.RawMessage) { to.notify(ctx, mcp.NotificationProgress, withToken(params, token)) }
}

func withToken(params, token json.RawMessage) json.RawMessage {
	return edit(params, change{"progressToken", token}, change{"token", nil})
}

// errorData is the data of an error that a client gets for one that no server answered. A command of
// Wharf that uses the servers of a daemon ends by it as if it had its own.
type errorData struct {
	Kind      string `json:"kind"` // see [host.ErrorKind]
	Hint      string `json:"hint,omitempty"`
	MaybeSent bool   `json:"maybeSent,omitempty"`
	Answered  bool   `json:"answered,omitempty"` // [host.Sent] is "yes"
	Ending    bool   `json:"ending,omitempty"`   // the gateway is: the error is [ErrClosed]
	Own       bool   `json:"own,omitempty"`      // see ownError

	// Refusal is what the server wrote, for an error that a first sign-in mends; nil for any other.
	Refusal *string `json:"refusal,omitempty"`
}

// ownError returns an error for a command of Wharf that uses the servers of a daemon. If the error has data of the gateway,
// the data says so: a server that is a gateway itself answers with the same.
func ownError(err error) error {
	var no *rpc.Error
	if !errors.As(err, &no) || no.Raw != nil || no.Code != mcp.CodeInternalError || no.Data == nil {
		return err
	}
	own := *no
	own.Data = edit(no.Data, change{"own", json.RawMessage("true")})
	return &own
}

// clientError returns the error that a client gets for err. An error of the server stays as it is.
// Any other becomes an internal error whose text says whether the server may have acted. What fails because
// the gateway is closed says that.
func (g *Gateway) clientError(err error) error {
	var no *rpc.Error
	if errors.As(err, &no) {
		return no
	}
	text, why := err.Error(), errorData{Kind: host.ErrorKind(err), Hint: g.host.Redact(host.Hint(err)), MaybeSent: host.MaybeSent(err), Answered: host.Sent(err) == "yes"}
	if g.config.Hint != nil {
		why.Hint = g.config.Hint(why.Hint)
	}
	if errors.Is(err, host.ErrLogin) && !errors.Is(err, signin.ErrSavedRefused) && !errors.As(err, new(*signin.RightsError)) {
		said := g.host.Redact(host.RefusalText(err))
		why.Refusal = &said
	}
	if g.ctx.Err() != nil || errors.Is(err, ErrClosed) { // whatever ended with it
		text, why.Kind, why.Hint, why.Ending = ErrClosed.Error(), host.ErrorKind(ErrClosed), "", true
	} else if errors.Is(err, errEndedSide) {
		text = errEndedSide.Error()
	}
	text, said, quotes := strings.Cut(g.host.Redact(text), cleantext.Stderr) // our own words stand before the server's
	if why.MaybeSent {
		text += "; the server may have acted on the request"
	}
	if why.Hint != "" {
		text += ". Hint: " + why.Hint
	}
	if quotes {
		text += cleantext.Stderr + said
	}
	var data json.RawMessage
	if why.Kind != "internal" { // which says nothing
		data, _ = json.Marshal(why) // of texts, which always succeeds
	}
	return &rpc.Error{Code: mcp.CodeInternalError, Message: text, Data: data}
}

// checkOffered returns an error if a client with these capabilities has not offered to answer a
// server's request. It allows all methods that the protocol does not define.
func checkOffered(capabilities json.RawMessage, method string, params json.RawMessage) error {
	name := mcp.CapabilityFor(method)
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
