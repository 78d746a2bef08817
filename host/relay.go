package host

import (
	"context"
	"encoding/json"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/session"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/policy"
)

// Relay is a request that the program forwards for one of its clients, see [Session.Relay].
//
// Its fields:
//
//	Method string
//
//	// Params is an object, or nil for none. It is sent byte for byte, without line breaks
//	// between its values. The session replaces some members of _meta by its own:
//	// protocolVersion, clientInfo, clientCapabilities, progressToken, and logLevel if the
//	// session or [RequestOptions] set one.
//	Params json.RawMessage
//
//	// ClientInfo and ClientCapabilities are JSON objects that describe the client to a
//	// modern server. With nil, the [Client] of the session is described. A legacy server
//	// learns of the client only in the handshake of the session.
//	ClientInfo, ClientCapabilities json.RawMessage
//
//	// Fulfil makes Relay call the callbacks of the session's Client if a result asks for
//	// input, and wait for the end of a task, as [Session.Call] does. If it is false, Relay
//	// returns a result that asks for input or has a task as it is.
//	Fulfil bool
//
//	// Progress gets the params of each progress notification as the server wrote them, with
//	// the token that the session has chosen. nil asks the server for no progress. Otherwise
//	// Progress is called as [RequestOptions].Progress is, and replaces it.
//	Progress func(params json.RawMessage)
//
//	// Placed, if not nil, is called when the request has its place among the messages to the
//	// server: messages that are sent later come after it. Each time that the request is sent,
//	// Placed is called once. It must not wait.
//	Placed func()
//
//	// Header returns the text of a header of the client's HTTP request, named in lower case,
//	// and whether it was there. Relay compares an argument with the header that must repeat
//	// it. If they differ, Relay refuses the request as a server over HTTP would, even if the
//	// server itself gets no headers. If Header is nil, nothing is compared.
//	Header func(name string) (text string, there bool)
type Relay = session.Relay

// Relay sends a request of any method for a client and returns the result as the server wrote
// it. An error of the server is an [*RPCError] whose Raw is the error as the server wrote it.
// Arguments and results are not compared with schemas. What the entry does not permit or
// [Config.Deciders] do not allow is neither listed nor called. A list is kept in
// [Config.CatalogueDir]. The options of [WithOptions] count as for [Session.Call], and a lost
// connection has the same outcome. Before Relay returns, it waits until Event has returned from
// the notifications that came before the answer, so Event must not wait for Relay.
func (s *Session) Relay(ctx context.Context, r Relay) (json.RawMessage, error) {
	var q query
	s.ask(ctx, &q, r.Method, "")
	q.raw, q.params = true, r.Params
	asked := time.Now()
	result, err := answer(ctx, s, &q, func(ctx context.Context) (json.RawMessage, error) { return s.inner.Relay(ctx, &r) })
	s.usage.answered(result)
	if err != nil {
		return result, err
	}
	s.noteRelayed(q.entry, &r, result, asked)
	if r.Method == mcp.MethodCallTool && q.scope != policy.Everything {
		q.began(taskBegun(result))
	}
	return q.shownResult(ctx, r.Method, result), nil
}
