package host

import (
	"context"
	"errors"

	"github.com/wharf-mcp/wharf/host/internal/session"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/observe"
	"github.com/wharf-mcp/wharf/host/policy"
)

// observe tells the observer of a request. Its context carries what the observer adds to _meta. The caller
// calls end with the outcome.
func (s *Session) observe(ctx context.Context, q *query) (_ context.Context, end func(result any, err error)) {
	r := &observe.Request{Server: q.entry.Name, Method: q.method}
	name := q.about.name
	if n, found := named[q.method]; found && q.raw {
		name = textIn(q.params, n.member)
	}
	switch {
	case q.about.task:
	case q.about.target == policy.Tool:
		r.Tool = name
	case q.about.target == policy.Prompt:
		r.Prompt = name
	case q.about.target == policy.Resource:
		r.URI = name
	}
	ctx, meta, ended := s.host.config.Observer.Send(ctx, r)
	if meta != nil {
		ctx = session.WithMeta(ctx, meta)
	}
	return ctx, func(result any, err error) { ended(outcome(ctx, result, err)) }
}

// outcome says how a request ended, for an observer.
func outcome(ctx context.Context, result any, err error) observe.Outcome {
	var no *RPCError
	var wrong *ArgumentError
	switch {
	case err == nil && saysError(result):
		return observe.ToolError
	case err == nil:
		return observe.OK
	case ctx.Err() != nil:
		return observe.Cancelled
	case errors.Is(err, ErrDenied):
		return observe.Denied
	case errors.As(err, &wrong):
		return observe.Invalid
	case errors.As(err, &no):
		switch no.Code {
		case mcp.CodeInvalidRequest, mcp.CodeMethodNotFound, mcp.CodeInvalidParams:
			return observe.Invalid
		}
		return observe.ServerError
	case errors.Is(err, ErrTimeout):
		return observe.Timeout
	}
	return observe.Failed
}
