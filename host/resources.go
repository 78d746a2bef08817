package host

import (
	"context"

	"github.com/wharf-mcp/wharf/host/internal/session"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// ErrUnsupported: the server does not declare the capability that a request needs, which
// was not sent. [Session.Call] sends any request.
var ErrUnsupported = session.ErrUnsupported

// ListResources returns all resources that the server lists, each with the whole
// of what the server wrote about it. A list that the server said is still fresh,
// and has not changed, is not asked for again.
func (s *Session) ListResources(ctx context.Context) ([]mcp.Resource, error) {
	return answer(ctx, s, mcp.MethodListResources, s.inner.ListResources)
}

// ListResourceTemplates returns the templates of the server's other resources.
func (s *Session) ListResourceTemplates(ctx context.Context) ([]mcp.ResourceTemplate, error) {
	return answer(ctx, s, mcp.MethodListTemplates, s.inner.ListResourceTemplates)
}

// ReadResource returns what a resource holds. What the server said is still
// fresh is not asked for again, unless it says that something changed.
func (s *Session) ReadResource(ctx context.Context, uri string) (*mcp.ReadResourceResult, error) {
	return answer(ctx, s, mcp.MethodReadResource, func(ctx context.Context) (*mcp.ReadResourceResult, error) {
		return s.inner.ReadResource(ctx, uri)
	})
}
