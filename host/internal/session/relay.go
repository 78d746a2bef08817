package session

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/wharf-mcp/wharf/host/internal/strictjson"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// Relay is a request that the program passes on for one of its clients, see [Session.Relay].
type Relay struct {
	Method string

	// Params is an object, or nil for none. It goes out byte for byte, without line breaks between
	// its values. The members of _meta that are the protocol's own are replaced by those of the
	// session: the revision, client, capabilities, progress token, and the level where the session
	// or the options of the context set one.
	Params json.RawMessage

	// ClientInfo and ClientCapabilities are JSON objects that tell a modern server of the
	// client; nil is what the session tells it. A legacy server is told of the client once,
	// by the session.
	ClientInfo, ClientCapabilities json.RawMessage

	// Fulfil has the callbacks of the session answer what a server asks for before it goes on,
	// and waits for the end of a task, as [Session.Call] does. Without it the result that
	// asks, or that has a task, is the result of Relay.
	Fulfil bool

	// Progress hears the params of the notifications of progress as the server wrote them,
	// the token of this request included, which the session has chosen. nil asks the server
	// for none. All else is as for [RequestOptions.Progress], whose place it takes.
	Progress func(params json.RawMessage)

	// Placed, if not nil, is called when the request has its place among the messages to the server:
	// what is sent from then on comes behind it. It is called again if the request is sent again, and
	// not at all if it never is. It must not wait.
	Placed func()

	// Header returns the text of a header, named in lower case, with which a client sent the request
	// over HTTP, and whether it was there. An argument that a header has to repeat is compared with
	// it; if they differ, the request is refused as a server refuses it, also if the server itself
	// gets no headers. nil compares nothing.
	Header func(name string) (text string, there bool)
}

// Relay sends a request of any method and returns its result as the server wrote it. It returns
// only after Notify of the session has returned from the notifications that came before the result,
// so Notify must not wait for it. Nothing is compared with schemas. An error of the server is an
// [*rpc.Error] whose Raw is the error as it was written.
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

// meta returns the _meta member that the requests of a dialect have, with the client of r.
func (r *Relay) meta(d dialect) ([]byte, error) {
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
