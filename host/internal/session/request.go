package session

import (
	"fmt"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// request is what a caller asks for. It belongs to one call and changes with
// what the server says to it.
type request struct {
	method string
	name   string       // see subject
	given  any          // what marshals to the params, or nil
	tool   bool         // given is only the arguments, of the tool of that name
	page   paramsWriter // the params, where nothing is given

	needs *capability   // a server without it is not sent the request; nil needs none
	limit time.Duration // instead of the session's timeout; 0 keeps that

	over        *Conn        // on which it went out last
	listing     uint64       // the list of tools by which its headers were made
	toolSchemas *toolSchemas // that its arguments were checked by; nil is none
	solicited   bool         // the server's last answer asks for it
	rounds      int          // in which the server asked for more
	extra       []byte       // members that the last of them adds to the params
	task        bool         // the server is asked to run the tool as a task, see task.go

	begun bool          // the caller wants a task, and not its result
	ttl   time.Duration // how long the task shall be kept; 0 leaves it to the server
}

// paramsWriter appends the params of a request, with meta, a whole member, among them.
type paramsWriter func(dst, meta []byte) ([]byte, error)

// params returns the writer of the params in a dialect, or nil for a message without params.
func (q *request) params(d dialect) rpc.Appender {
	if q.given == nil && !q.tool && q.page == nil && d.meta == nil {
		return nil
	}
	return func(dst []byte) ([]byte, error) { return q.append(dst, d.meta) }
}

func (q *request) append(dst, meta []byte) (out []byte, err error) {
	start := len(dst)
	switch {
	case q.page != nil:
		out, err = q.page(dst, meta)
	case q.tool:
		out, err = appendCall(dst, q.name, q.given, meta)
	default:
		out, err = appendParams(dst, q.given, meta)
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
	text, err := appendObject(nil, q.given)
	if err != nil {
		return nil // encoding the message reports why
	}
	if !q.tool {
		return member(text, "arguments")
	}
	return text
}

// subject returns what a request is about: a tool, a prompt or a resource. Over HTTP a
// modern request has it in a header too
// (2026-07-28/basic/transports/streamable-http#standard-request-headers).
func subject(method string, params any) string {
	key := "name"
	switch {
	case !named(method):
		return ""
	case method == mcp.MethodReadResource:
		key = "uri"
	}
	text, err := appendObject(nil, params)
	if err != nil {
		return "" // encoding the message reports why
	}
	return memberText(text, key)
}

// named reports whether requests of a method are about something that has a
// name. They are also the ones whose results may ask for more.
func named(method string) bool {
	switch method {
	case mcp.MethodCallTool, mcp.MethodGetPrompt, mcp.MethodReadResource:
		return true
	}
	return false
}
