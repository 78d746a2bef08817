package host

import (
	"context"

	"github.com/wharf-mcp/wharf/host/internal/session"
)

// RequestOptions are the wishes of a caller about its requests, see [WithOptions].
//
// Its fields:
//
//	Meta     json.RawMessage // members of _meta, an object; those of the protocol are Wharf's
//	Timeout  time.Duration   // of each request, in place of the server's; below zero is none
//	Level    mcp.Level       // from which a modern server logs about the requests
//	Label    string          // the Label of events that tell the progress of a call
//	KeepTask bool            // the end of the context does not cancel the task of a call
//
//	// Unattended has the person asked for nothing: a call that needs them to sign in fails
//	// with [ErrAuthRequired], and one that needs their approval with [ErrDenied].
//	Unattended bool
//
//	// Progress has the server asked for notifications of the progress of calls, and hears
//	// them. Each one begins the timeout of the request anew, up to [Config.MaxTimeout] in
//	// all. It is called for one after the other, on a goroutine of its own, and may use the
//	// session. If it is slower than the server it misses some, but not the last. A call
//	// returns only when it has returned for what came before the answer, so it must not wait
//	// for the call. After the caller has left, it is not called again.
//	Progress func(mcp.Progress)
type RequestOptions = session.RequestOptions

// WithOptions returns a context whose requests have options, in place of those that it has.
func WithOptions(ctx context.Context, o RequestOptions) context.Context {
	return session.WithOptions(ctx, o)
}
