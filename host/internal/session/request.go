package session

import (
	"fmt"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// request is one request of a caller. It belongs to one call, and changes with the answers of the
// server.
type request struct {
	method string
	name   string       // see subject
	given  any          // a value that marshals to the params, or nil
	tool   bool         // given holds only the arguments of the tool called name
	page   paramsWriter // writes the params, if given is nil

	needs *capability   // the capability without which the request is not sent; nil needs none
	limit time.Duration // instead of the session's timeout; 0 keeps that

	over        *Conn        // the connection that it was last sent on
	listing     uint64       // the number of the list of tools that its headers were made from
	toolSchemas *toolSchemas // that its arguments were checked against; nil is none
	solicited   bool         // the server's last answer asks for it
	rounds      int          // how often the server has asked for more
	extra       []byte       // members that the last round adds to the params
	task        bool         // the server is asked to run the tool as a task, see task.go

	relay *Relay // what the caller passes on; nil for a request of the session's own

	begun bool          // the caller wants the task, and not its result
	ttl   time.Duration // how long the task shall be kept; 0 leaves it to the server
}

// ours reports whether the session itself answers the server's questions for this request.
func (q *request) ours() bool { return q.relay == nil || q.relay.Fulfil }

// paramsWriter appends the params of a request. meta, a whole member, becomes one of them.
type paramsWriter func(dst, meta []byte) ([]byte, error)

// params returns the writer of the params in dialect d with a _meta member, or nil for a message without params.
func (q *request) params(d *dialect, meta []byte) rpc.Appender {
	if q.given == nil && !q.tool && q.page == nil && meta == nil {
		return nil
	}
	return func(dst []byte) ([]byte, error) { return q.append(dst, d, meta) }
}

func (q *request) append(dst []byte, d *dialect, meta []byte) (out []byte, err error) {
	start := len(dst)
	switch {
	case q.page != nil:
		out, err = q.page(dst, meta)
	case q.tool:
		out, err = appendCall(dst, q.name, q.given, meta)
	case q.relay != nil:
		out, err = appendParams(dst, q.given, meta, d.others)
	default:
		out, err = appendParams(dst, q.given, meta, nil)
	}
	switch {
	case err != nil:
		return out, err
	case q.task && member(out[start:], "task") == nil:
		wish := `,"task":{}`
		if q.ttl > 0 {
			wish = fmt.Sprintf(`,"task":{"ttl":%d}`, q.ttl.Milliseconds())
		}
		return closeObject(append(out[:len(out)-1], wish...), nil), nil
	case q.extra == nil:
		return out, nil
	}
	for _, name := range []string{memberResponses, memberState} {
		if member(out[start:], name) != nil {
			return out, fmt.Errorf("params: %s: the server asks for it anew, so it must not be given", name)
		}
	}
	return closeObject(out[:len(out)-1], q.extra), nil
}

// arguments returns the arguments of a call of a tool as JSON, nil for none.
func (q *request) arguments() []byte {
	if !q.tool {
		return member(asText(q.given), "arguments")
	}
	text, err := appendObject(nil, q.given)
	if err != nil {
		return nil // encoding the message reports why
	}
	return text
}

// subject returns the name of what a request is about: a tool, a prompt or a resource. Over HTTP a
// modern request repeats it in a header
// (2026-07-28/basic/transports/streamable-http#standard-request-headers).
func subject(method string, params any) string {
	key := "name"
	switch {
	case !named(method):
		return ""
	case method == mcp.MethodReadResource:
		key = "uri"
	}
	return memberText(asText(params), key)
}

// asText returns params as JSON, or nil if they cannot be encoded: encoding the message reports
// why. It does not check a [json.RawMessage].
func asText(params any) []byte {
	if raw, written := rawOf(params); written {
		return raw
	}
	text, err := appendObject(nil, params)
	if err != nil {
		return nil
	}
	return text
}

// named reports whether requests of a method have a subject. For the same methods, a result may ask
// for more input.
func named(method string) bool {
	switch method {
	case mcp.MethodCallTool, mcp.MethodGetPrompt, mcp.MethodReadResource:
		return true
	}
	return false
}
