package host

import (
	"context"

	"github.com/wharf-mcp/wharf/host/internal/session"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// WithProgress returns a context whose calls ask the server how far they are, and
// hear it with f. Each word of progress begins the timeout of the request anew,
// up to [Config.MaxTimeout] in all.
//
// f hears one word after the other, on a goroutine of its own, and may use the
// session. If it is slower than the server it misses some, but not the last. A
// call returns only when f has heard what came before the answer, so f must not
// wait for it; when the caller leaves, f hears nothing more.
func WithProgress(ctx context.Context, f func(mcp.Progress)) context.Context {
	return session.WithProgress(ctx, f)
}
