package host

import (
	"context"

	"github.com/wharf-mcp/wharf/host/internal/session"
)

// RequestOptions are the options of a caller for its requests, see [WithOptions].
//
// Its fields:
//
//	Meta     json.RawMessage // members for _meta, an object; Wharf sets those of the protocol
//	Timeout  time.Duration   // of each request, instead of the server's; below 0 is none
//	Level    mcp.Level       // the least severe level that a modern server logs about the requests
//	Label    string          // the Label of events about the progress of a call
//	Caller   uint64          // identifies the caller if several share the session: see [CallerOf]
//	KeepTask bool            // the end of the context does not cancel the task of a call
//
//	// Unattended forbids questions to the person: a call that needs a sign-in fails with
//	// [ErrAuthRequired], and one that needs an approval with [ErrDenied].
//	Unattended bool
//
//	// Progress gets the notifications of the progress of calls. The server is asked for
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
// is the context of a callback of a [Client]. A modern server asks in the result of a call, and a
// legacy server over HTTP asks on the stream of a call: then caller is the caller of that call. On
// a channel that all calls share, a server does not say which call it means. Then caller is the
// caller of a call that the server may still be working on, even if the call was cancelled and not
// answered since. sure is false if these calls have several callers. caller is 0 if none of them
// has a caller.
func CallerOf(ctx context.Context) (caller uint64, sure bool) { return session.CallerOf(ctx) }
