package session

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/wharf-mcp/wharf/host/mcp"
)

// RequestOptions are the wishes of a caller about its requests, see [WithOptions].
type RequestOptions struct {
	// Meta has members of _meta, a JSON object: a traceparent, or what an extension wants.
	// Members that the session itself writes for the protocol are left out.
	Meta json.RawMessage

	// Timeout bounds each request in place of that of the server; 0 keeps that, below zero is
	// no limit.
	Timeout time.Duration

	// Level has a modern server log about the requests from that level up. A legacy one
	// has only [Session.SetLevel], for all requests.
	Level mcp.Level

	// Label is the caller's name for the request in the events that tell its progress.
	Label string

	// Progress hears the notifications of the progress of calls. The server is asked for them
	// if Progress is not nil (2026-07-28/basic/patterns/progress). Each one begins the
	// timeout of the request anew, up to [Config.MaxTimeout] in all.
	//
	// It is called for one notification after the other, on a goroutine of its own, and
	// delays neither other calls nor other notifications. If it is slower than the server,
	// the newest notification takes the place of the one before. It may use the session. A
	// call returns only after Progress has returned for all notifications that came before
	// the answer, so Progress must not wait for the call. After a call was cancelled, it is
	// not called again.
	Progress func(mcp.Progress)

	// Unattended forbids to ask the person for anything: a call that would need their sign-in
	// or approval fails.
	Unattended bool

	// KeepTask lets a task go on at the server when the context ends. Without it, the end of
	// the context cancels the task.
	KeepTask bool
}

type optionsKey struct{} // holds the *RequestOptions of WithOptions

// WithOptions returns a context whose requests have options, in place of the options of ctx.
func WithOptions(ctx context.Context, o RequestOptions) context.Context {
	return context.WithValue(ctx, optionsKey{}, &o)
}

// Unattended reports whether the options of a context say so.
func Unattended(ctx context.Context) bool { return optionsOf(ctx).Unattended }

var noOptions = &RequestOptions{}

// optionsOf returns the options of a context. They do not change.
func optionsOf(ctx context.Context) *RequestOptions {
	if o, _ := ctx.Value(optionsKey{}).(*RequestOptions); o != nil {
		return o
	}
	return noOptions
}

// meta returns the _meta member of the params that a request has in a dialect, with what the
// session, the caller or the call itself adds to it.
func (s *Session) meta(d dialect, o *RequestOptions, t *tracker) ([]byte, error) {
	meta := d.meta
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
	var given, own map[string]json.RawMessage
	if err := json.Unmarshal(o.Meta, &given); err != nil {
		return nil, fmt.Errorf("_meta of the caller: want an object, got %s", clipText(o.Meta))
	}
	if meta != nil {
		if err := json.Unmarshal(meta[len(`"_meta":`):], &own); err != nil {
			return nil, err
		}
	}
	delete(given, mcp.MetaProgressToken) // the token could belong to another call
	for _, name := range slices.Sorted(maps.Keys(given)) {
		value, err := json.Marshal(given[name])
		if err != nil {
			return nil, err
		}
		if own[name] == nil {
			meta = withMember(meta, name, value)
		}
	}
	return meta, nil
}
