package host

import (
	"context"

	"github.com/wharf-mcp/wharf/host/internal/session"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// WithProgress returns a context whose calls ask the server how far they are, and
// hear it with f. Each word of progress begins the timeout of the request anew,
// for up to an hour in all.
//
// f hears one word after the other, and may use the session. A call returns only
// when f has, so f must not wait for it.
func WithProgress(ctx context.Context, f func(mcp.Progress)) context.Context {
	return session.WithProgress(ctx, f)
}
