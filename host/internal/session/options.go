package session

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/strictjson"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// RequestOptions are a caller's options for its requests, see [WithOptions].
type RequestOptions struct {
	// Meta is a JSON object with members for _meta, such as a traceparent or those of an extension.
	// Members that the session itself writes for the protocol are left out.
	Meta json.RawMessage

	// Timeout bounds each request and replaces the timeout of the server. 0 keeps that timeout,
	// below zero is no bound.
	Timeout time.Duration

	// Level makes a modern server log about the requests, from that level up. For a legacy server
	// there is only [Session.SetLevel], for all requests.
	Level mcp.Level

	// Caller identifies the caller of the requests if several callers share the session; 0
	// is no caller. See [CallerOf].
	Caller uint64

	// Label is the caller's name for the request. Events about its progress carry it.
	Label string

	// Progress receives the notifications about the progress of calls. If it is not nil, the server
	// is asked for them (2026-07-28/basic/patterns/progress). Each one begins the timeout of the
	// request anew, up to [Config.MaxTimeout] in all.
	//
	// Progress is called for one notification after the other, on a goroutine of its own, and
	// delays neither other calls nor other notifications. If it is slower than the server, the
	// newest notification replaces the one before. It may use the session. A call returns only
	// after Progress has returned for all notifications that came before the answer, so Progress
	// must not wait for the call. After a call was cancelled, it is not called again.
	Progress func(mcp.Progress)

	// Unattended forbids questions to the person: a call that needs a sign-in or an approval fails.
	Unattended bool

	// KeepTask leaves a task running at the server when the context ends. Without it, the end of
	// the context cancels the task.
	KeepTask bool
}

type optionsKey struct{} // holds the *RequestOptions of WithOptions

// WithOptions returns a context whose requests have the options o, and not those of ctx.
func WithOptions(ctx context.Context, o RequestOptions) context.Context {
	return context.WithValue(ctx, optionsKey{}, &o)
}

// WithMeta returns a context whose requests have further members in [RequestOptions].Meta, which replace
// those of the same name. meta is an object.
func WithMeta(ctx context.Context, meta json.RawMessage) context.Context {
	o := *optionsOf(ctx)
	switch {
	case o.Meta == nil:
	case strictjson.Valid(o.Meta, 0) != nil || o.Meta[strictjson.Start(o.Meta)] != '{':
		return ctx // the request fails for it
	default:
		merged := []byte{'{'}
		for name, written := range members(o.Meta) {
			if member(meta, string(name)) == nil {
				merged = append(append(merged, written...), ',')
			}
		}
		meta = append(merged, meta[len("{"):]...)
	}
	o.Meta = meta
	return WithOptions(ctx, o)
}

// Unattended reports whether ctx has [RequestOptions.Unattended].
func Unattended(ctx context.Context) bool { return optionsOf(ctx).Unattended }

var noOptions = &RequestOptions{}

// optionsOf returns the options of a context, which must not be changed.
func optionsOf(ctx context.Context) *RequestOptions {
	if o, _ := ctx.Value(optionsKey{}).(*RequestOptions); o != nil {
		return o
	}
	return noOptions
}

type callerKey struct{} // holds the caller of a request of the server

// caller is what [CallerOf] returns.
type caller struct {
	id   uint64
	sure bool
}

// CallerOf returns the [RequestOptions.Caller] of the call for which a server asks something. ctx
// is the context of the callback. A modern server asks in the result of a call, and a legacy server
// over HTTP asks on the stream of a call: then id is the caller of that call. On a channel that all
// calls share, a server does not say which call it means. Then id is the caller of a call that the
// server may still be working on, even if the call was cancelled and not answered since. sure is
// false if these calls have several callers. id is 0 if none of them has a caller.
func CallerOf(ctx context.Context) (id uint64, sure bool) {
	if c, ok := ctx.Value(callerKey{}).(caller); ok {
		return c.id, c.sure
	}
	return optionsOf(ctx).Caller, true
}

// meta returns the _meta member of a request's params in dialect d, with the members that the
// session, the caller and the call add to it. relay may be nil.
func (s *Session) meta(d *dialect, o *RequestOptions, t *tracker, relay *Relay) ([]byte, error) {
	meta, err := d.meta, error(nil)
	if relay != nil {
		if meta, err = relay.meta(d); err != nil {
			return nil, err
		}
	}
	if d.era == mcp.Modern {
		level := o.Level
		if all := s.level.Load(); all != nil && level == "" {
			level = *all
		}
		if level != "" {
			meta = withMember(meta, mcp.MetaLogLevel, strconv.AppendQuote(nil, string(level)))
		}
	}
	if t != nil {
		meta = withMember(meta, mcp.MetaProgressToken, strconv.AppendUint(nil, t.token, 10))
	}
	if o.Meta == nil {
		return meta, nil
	}
	given, err := strictjson.AppendLine(nil, o.Meta)
	if err != nil || given[0] != '{' {
		return nil, fmt.Errorf("_meta of the caller: want an object, got %s", clipText(o.Meta))
	}
	for name, written := range members(given) {
		if string(name) == mcp.MetaProgressToken { // it could belong to another call
			continue
		}
		if meta == nil || member(meta[len(`"_meta":`):], string(name)) == nil {
			meta = withWritten(meta, written)
		}
	}
	return meta, nil
}
