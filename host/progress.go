package host

import (
	"context"

	"github.com/wharf-mcp/wharf/host/internal/session"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// WithProgress returns a context whose calls ask the server for notifications of their
// progress, and pass them to f. Each one begins the timeout of the request anew, up to
// [Config.MaxTimeout] in all.
//
// f is called for one notification after the other, on a goroutine of its own, and may
// use the session. If it is slower than the server it misses some, but not the last. A
// call returns only when f has returned for what came before the answer, so f must not
// wait for the call. After the caller has left, f is not called again.
func WithProgress(ctx context.Context, f func(mcp.Progress)) context.Context {
	return session.WithProgress(ctx, f)
}

// RequestOptions are the wishes of a caller about its requests, see [WithOptions].
//
// Its fields:
//
//	Meta     json.RawMessage // members of _meta, an object; those of the protocol are Wharf's
//	Timeout  time.Duration   // of each request, in place of the server's; below zero is none
//	Level    mcp.Level       // from which a modern server logs about the requests
//	Label    string          // the Label of events that tell the progress of a call
//	KeepTask bool            // the end of the context does not cancel the task of a call
type RequestOptions = session.RequestOptions

// WithOptions returns a context whose requests have options.
func WithOptions(ctx context.Context, o RequestOptions) context.Context {
	return session.WithOptions(ctx, o)
}
