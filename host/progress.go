package host

import (
	"context"

	"github.com/wharf-mcp/wharf/host/internal/session"
)

// RequestOptions are what a caller asks for with its requests, see [WithOptions].
//
// Its fields:
//
//	Meta     json.RawMessage // members of _meta, an object; those of the protocol are Wharf's
//	Timeout  time.Duration   // of each request, in place of the server's; below 0 is none
//	Level    mcp.Level       // from which a modern server logs about the requests
//	Label    string          // the Label of events that tell the progress of a call
//	Caller   uint64          // tells for whom it is, where one session serves several: see [CallerOf]
//	KeepTask bool            // the end of the context does not cancel the task of a call
//
//	// Unattended forbids to ask the person for anything: a call that needs them to sign in
//	// fails with [ErrAuthRequired], and one that needs their approval with [ErrDenied].
//	Unattended bool
//
//	// Progress hears the notifications of the progress of calls. The server is asked for
//	// them if Progress is not nil. Each one begins the timeout of the request anew, up to
//	// [Config.MaxTimeout] in all. Progress is called for one after the other, on a goroutine
//	// of its own, and may use the session. If it is slower than the server it misses some,
//	// but not the last. A call returns only after Progress has returned for all
//	// notifications that came before the answer, so Progress must not wait for the call.
//	// After the caller has left, it is not called again.
//	Progress func(mcp.Progress)
type RequestOptions = session.RequestOptions

// WithOptions returns a context whose requests have these options and no earlier ones.
func WithOptions(ctx context.Context, o RequestOptions) context.Context {
	return session.WithOptions(ctx, o)
}

// CallerOf returns the [RequestOptions].Caller of the call for which a server asks something. ctx
// is the context that a callback of a [Client] was given. A modern server asks in the result of a
// call, and a legacy one over HTTP on the stream of a call: then caller is that of this call. A
// server on a channel that all calls share does not say which call it means. Then caller is that of
// any call that the server may still be working on, including those that were cancelled and not
// answered since; sure is false if these calls have several callers. caller is 0 if no such call
// has one.
func CallerOf(ctx context.Context) (caller uint64, sure bool) { return session.CallerOf(ctx) }
