package gateway

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/status"
)

// upstream is the session of one client with one server.
type upstream struct {
	gateway *Gateway
	session *host.Session
	options host.RequestOptions
}

// counterpart is the client of an upstream, as the server sees it.
type counterpart interface {
	// onRequest answers a request of the server.
	onRequest(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)

	// onNotification takes a notification of the server. It is called for one after the other.
	onNotification(u *upstream, e host.Event)
}

// connect gives a client a session with a server. info and capabilities are JSON objects in the
// words of the client. Nothing is started.
func (g *Gateway) connect(c counterpart, server host.Server, info, capabilities json.RawMessage) (*upstream, error) {
	u := &upstream{gateway: g}
	if server.Timeout == 0 {
		u.options.Timeout = -1 // the client decides how long it waits
	}
	offer := host.Client{
		Info:         implementation(info),
		Capabilities: members(capabilities),
		Extensions:   members(member(capabilities, "extensions")),
		Other: func(ctx context.Context, _, method string, params json.RawMessage) (json.RawMessage, error) {
			return c.onRequest(ctx, method, params)
		},
		Event: func(e host.Event) { c.onNotification(u, e) },
	}
	delete(offer.Capabilities, "extensions")
	var err error
	if u.session, err = g.host.AddClient(server, offer); err != nil {
		return nil, err
	}
	return u, nil
}

// era returns the era of the server. It starts the server if that is not known.
func (u *upstream) era(ctx context.Context) (mcp.Era, error) {
	if era := u.session.Info().Era; era != "" {
		return era, nil
	}
	err := u.session.Ready(host.WithOptions(ctx, u.options))
	return u.session.Info().Era, err
}

// info returns what the server says of itself. It starts the server, and waits for it only if
// nothing is known from an earlier run.
func (u *upstream) info(ctx context.Context) (status.Info, error) {
	if s := u.session.Snapshot(); s != nil && s.Info.Raw != nil {
		u.session.Start()
		return s.Info, nil
	}
	_, err := u.era(ctx)
	return u.session.Info(), err
}

// relay passes a request on, when its turn has come.
func (u *upstream) relay(ctx context.Context, r *request, out host.Relay) (json.RawMessage, error) {
	if err := r.turn.await(ctx); err != nil {
		return nil, err
	}
	out.Method, out.Header, out.Placed = r.method, r.header, r.turn.pass
	return u.session.Relay(host.WithOptions(ctx, u.options), out)
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

// notify passes a notification on. One that cannot be delivered is lost, as on any connection.
func (u *upstream) notify(ctx context.Context, method string, params json.RawMessage) {
	var given any
	if params != nil {
		given = params
	}
	u.session.Notify(host.WithOptions(ctx, u.options), method, given)
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
