package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/internal/session"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/status"
)

// MaybeSent reports whether the server may have received a request and acted on it, although no
// answer came. An error of a call that is neither this nor [ErrNotSent] says that the request
// was answered, or never made. An HTTP status by which a server refuses a request, such as 401, 403
// or 429, is an answer; one that says that the server failed, such as 500, is not.
func MaybeSent(err error) bool {
	var call *rpc.CallError
	var status *rpc.StatusError
	return errors.As(err, &call) && call.Sent == rpc.MaybeSent && !errors.Is(err, ErrNotSent) && !(errors.As(err, &status) && status.Refused)
}

// Sent says in a word for programs whether the request of a call was sent that failed with err: "no" for an [ErrNotSent],
// "maybe" as [MaybeSent] says, or "yes" if the server has answered something that is no message of the protocol, such as
// HTTP 429, or that cannot be used. It returns "" for an [RPCError], and for an error that is not of a call. A call may
// safely be made again after "no", and after nothing else.
func Sent(err error) string {
	switch {
	case errors.Is(err, ErrNotSent):
		return "no"
	case MaybeSent(err):
		return "maybe"
	case errors.As(err, new(*rpc.CallError)):
		return "yes"
	}
	return ""
}

// reads are the methods that change nothing, however often they are called.
var reads = map[string]bool{
	mcp.MethodDiscover:      true,
	mcp.MethodPing:          true,
	mcp.MethodListTools:     true,
	mcp.MethodListPrompts:   true,
	mcp.MethodGetPrompt:     true,
	mcp.MethodListResources: true,
	mcp.MethodListTemplates: true,
	mcp.MethodReadResource:  true,
	mcp.MethodComplete:      true,
	mcp.MethodListTasks:     true,
	mcp.MethodGetTask:       true,
}

// mend handles a request that failed with err: it lets the person sign in, or makes the request
// once more where that is safe, see answer. If the second attempt was not sent, the error is still that of the
// first, which may have reached the server.
func mend[T any](ctx context.Context, s *Session, q *query, request func(context.Context) (T, error), err error) (result T, _ error) {
	err = s.signingIn(ctx, q.method, func() error {
		failed := err
		if err = nil; failed == nil {
			result, failed = request(ctx)
		}
		if failed == nil || !lostInFlight(ctx, failed) || !reads[q.method] && !s.mayRepeat(ctx, q) {
			return explain(s.Name(), failed)
		}
		var second error
		result, second = request(ctx)
		if errors.Is(second, ErrNotSent) {
			second = fmt.Errorf("%w; and when it was sent again: %v", failed, second)
		}
		return explain(s.Name(), second)
	})
	return result, err
}

// lostInFlight reports whether the connection was lost between a request and its answer. It is
// false if a time limit was reached or the caller left.
func lostInFlight(ctx context.Context, err error) bool {
	var status *rpc.StatusError
	if errors.As(err, &status) && status.HTTP != 0 || errors.Is(err, rpc.ErrTimeout) {
		return false
	}
	return MaybeSent(err) && ctx.Err() == nil && !errors.Is(err, session.ErrClosed)
}

// harmlessTools are the tools that a list of tools marks as read-only or idempotent.
type harmlessTools struct {
	of    *Server // the session's entry when it asked for the list
	names map[string]bool
}

// mayRepeat reports whether a call that was lost may be made again: it calls a tool, the user allows that in
// the entry, which is still the one that the call was sent to, and the newest list of this entry's server
// marks the tool as harmless. It asks for the list where the session has none.
func (s *Session) mayRepeat(ctx context.Context, q *query) bool {
	entry := s.entry.Load()
	if q.method != mcp.MethodCallTool || q.once || !entry.Resend || entry != q.sentTo {
		return false
	}
	var call struct{ Task json.RawMessage } // no caller would know the ID of the first of two tasks
	about := []subject{q.about}
	if q.raw {
		var err error
		if about, err = q.subjects(q.method, q.params); err != nil || json.Unmarshal(q.params, &call) != nil || call.Task != nil {
			return false
		}
	}
	known := s.harmless.Load()
	if known == nil || known.of != entry {
		tools, err := s.inner.ListTools(WithOptions(ctx, RequestOptions{}))
		if err != nil {
			return false
		}
		s.learn(entry, tools)
		known = s.harmless.Load()
	}
	return known != nil && known.of == entry && s.entry.Load() == entry && known.names[about[0].name]
}

// learn takes in a list of tools. of is the entry that the session had when it asked for the
// list; learn ignores a list that an earlier entry's server gave.
func (s *Session) learn(of *Server, tools []mcp.Tool) {
	if s.entry.Load() != of {
		return
	}
	s.driver.Report(func(st *status.Status) { st.Tools, st.Stale = len(tools), false })
	if !s.entry.Load().Resend {
		return
	}
	names := make(map[string]bool)
	for _, tool := range tools {
		if a := tool.Annotations; a != nil && (isSet(a.ReadOnlyHint) || isSet(a.IdempotentHint)) {
			names[tool.Name] = true
		}
	}
	s.harmless.Store(&harmlessTools{of, names})
}

func isSet(hint *bool) bool { return hint != nil && *hint }
