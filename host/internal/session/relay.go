package session

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/wharf-mcp/wharf/host/internal/strictjson"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// Relay is a request that the program forwards for one of its clients, see [Session.Relay].
type Relay struct {
	Method string

	// Params is an object, or nil for none. It is sent byte for byte, without line breaks
	// between its values. The session replaces some members of _meta by its own: the revision,
	// client, capabilities, progress token, and the level if the session or the options of the
	// context set one.
	Params json.RawMessage

	// ClientInfo and ClientCapabilities are JSON objects that describe the client to a
	// modern server. With nil the session describes itself. A legacy server learns of the
	// client only in the handshake of the session.
	ClientInfo, ClientCapabilities json.RawMessage

	// Fulfil makes Relay call the session's callbacks if a result asks for input, and wait
	// for the end of a task, as [Session.Call] does. If it is false, Relay returns a
	// result that asks for input or has a task as it is.
	Fulfil bool

	// Progress gets the params of each progress notification as the server wrote them.
	// They include the token, which the session has chosen. nil asks the server for no
	// progress. Otherwise Progress is called as [RequestOptions.Progress] is, and replaces
	// it.
	Progress func(params json.RawMessage)

	// Placed, if not nil, is called when the request has its place among the messages to the
	// server: messages that are sent later come after it. Each time that the request is sent,
	// Placed is called once. It must not wait.
	Placed func()

	// Header returns the text of a header of the client's HTTP request, named in lower case, and
	// whether it was there. Relay compares an argument with the header that must repeat it. If
	// they differ, Relay refuses the request as a server would, even if the server itself gets
	// no headers. If Header is nil, nothing is compared.
	Header func(name string) (text string, there bool)
}

// Relay sends a request of any method and returns its result as the server wrote it. Before it
// returns, it waits until Notify of the session has returned from the notifications that came
// before the result, so Notify must not wait for Relay. It checks nothing against schemas. An error
// of the server is an [*rpc.Error] whose Raw has the server's text.
func (s *Session) Relay(ctx context.Context, r *Relay) (json.RawMessage, error) {
	q := request{method: r.Method, relay: r}
	if r.Params != nil {
		q.given = &r.Params // which allocates nothing
		q.name = subject(r.Method, q.given)
	}
	text, err := s.relayed(ctx, &q)
	if err != nil {
		return nil, s.about(r.Method, q.name, err)
	}
	return text, nil
}

func (s *Session) relayed(ctx context.Context, q *request) ([]byte, error) {
	ctx, over := s.track(ctx, nil, q.relay.Progress)
	defer over()
	text, d, err := s.do(ctx, q)
	if err == nil && q.relay.Fulfil {
		text, err = s.followResult(ctx, q, d, text)
	}
	if q.over != nil {
		q.over.Peer.AwaitHeard(ctx)
	}
	return text, err
}

// meta returns the _meta member for requests of a dialect, with the client of r.
func (r *Relay) meta(d *dialect) ([]byte, error) {
	if d.era == mcp.Legacy || r.ClientInfo == nil && r.ClientCapabilities == nil {
		return d.meta, nil
	}
	own := d.meta[len(`"_meta":`):]
	meta := withMember(nil, mcp.MetaProtocolVersion, member(own, mcp.MetaProtocolVersion))
	for _, m := range []struct {
		name  string
		given json.RawMessage
	}{{mcp.MetaClientInfo, r.ClientInfo}, {mcp.MetaClientCapabilities, r.ClientCapabilities}} {
		if m.given == nil {
			m.given = member(own, m.name)
		}
		text, err := strictjson.AppendLine(nil, m.given)
		if err != nil || text[0] != '{' {
			return nil, fmt.Errorf("%s: want an object, got %s", m.name, clipText(m.given))
		}
		meta = withMember(meta, m.name, text)
	}
	return meta, nil
}
