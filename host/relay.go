package host

import (
	"context"
	"encoding/json"

	"github.com/wharf-mcp/wharf/host/internal/session"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// Relay is a request that the program passes on for one of its clients, see [Session.Relay].
//
// Its fields:
//
//	Method string
//
//	// Params is an object, or nil for none. It goes out byte for byte, without line breaks
//	// between its values. The members of _meta that are the protocol's own are replaced by
//	// those of the session: protocolVersion, clientInfo, clientCapabilities, progressToken,
//	// and logLevel where the session or [RequestOptions] set one.
//	Params json.RawMessage
//
//	// ClientInfo and ClientCapabilities are JSON objects that tell a modern server of the
//	// client; nil is what the [Client] of the session says. A legacy server is told of the
//	// client once, by the session.
//	ClientInfo, ClientCapabilities json.RawMessage
//
//	// Fulfil has the callbacks of the session's Client answer what the server asks for
//	// before it goes on, and waits for the end of a task, as [Session.Call] does. Without it
//	// the result that asks, or that has a task, is what Relay returns.
//	Fulfil bool
//
//	// Progress hears the params of the notifications of progress as the server wrote them,
//	// with a token that is Wharf's own. nil asks for none. The rules are those of
//	// [RequestOptions].Progress, whose place it takes.
//	Progress func(params json.RawMessage)
//
//	// Placed, if not nil, is called when the request has its place among the messages to the
//	// server: what is sent from then on comes behind it. It is called again if the request is
//	// sent again, and not at all if it never is. It must not wait.
//	Placed func()
//
//	// Header returns the text of a header, named in lower case, with which a client sent the
//	// request over HTTP, and whether it was there. The arguments that the server wants
//	// repeated in headers are compared with it, whether it gets headers itself or not; if they
//	// differ, the request is refused as a server over HTTP refuses it. nil compares nothing.
//	Header func(name string) (text string, there bool)
type Relay = session.Relay

// Relay sends a request of any method for a client and returns the result as the server
// wrote it. An error of the server is an [*RPCError] whose Raw is the error as the server wrote
// it. Arguments and results are not compared with schemas. Tools that the entry does not
// permit are neither listed nor called. [WithOptions] has its say as for [Session.Call], and a
// lost connection has the same outcome. Relay returns after Event has returned from the
// notifications that came before the answer, so Event must not wait for it.
func (s *Session) Relay(ctx context.Context, r Relay) (json.RawMessage, error) {
	entry := s.entry.Load()
	if err := permitsText(entry, r.Method, r.Params); err != nil {
		return nil, err
	}
	result, err := answer(ctx, s, r.Method, func(ctx context.Context) (json.RawMessage, error) { return s.inner.Relay(ctx, &r) })
	s.usage.answered(result)
	if err == nil && r.Method == mcp.MethodListTools && filters(entry) {
		result = permittedResult(entry, result)
	}
	return result, err
}
