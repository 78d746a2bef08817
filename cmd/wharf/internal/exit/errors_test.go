package exit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/wharf-mcp/wharf/host"
)

func TestEndings(t *testing.T) {
	interrupted, cancel := context.WithCancelCause(t.Context())
	cancel(ErrInterrupted)
	tests := []struct {
		name string
		ctx  context.Context
		err  error
		want Kind
	}{
		{"anything else", t.Context(), errors.New("odd"), Kind{CodeInternal, "internal"}},
		{"usage", t.Context(), Usage(errors.New("x"), ""), Kind{CodeUsage, "usage"}},
		{"config", t.Context(), host.ErrConfig, Kind{CodeUsage, "configuration"}},
		{"transport", t.Context(), host.ErrUnknownTransport, Kind{CodeUsage, "unknown_transport"}},
		{"plugin", t.Context(), host.ErrPluginRefused, Kind{CodeDenied, "plugin_refused"}},
		{"sign-in", t.Context(), host.ErrAuthRequired, Kind{CodeSignIn, "sign_in_needed"}},
		{"unreachable", t.Context(), host.ErrUnreachable, Kind{CodeUnreachable, "unreachable"}},
		{"not sent", t.Context(), host.ErrNotSent, Kind{CodeUnreachable, "unreachable"}},
		{"timeout", t.Context(), host.ErrTimeout, Kind{CodeUnreachable, "timeout"}},
		{"timeout unsent", t.Context(), errors.Join(host.ErrNotSent, host.ErrTimeout), Kind{CodeUnreachable, "timeout"}},
		{"file", t.Context(), &fs.PathError{Op: "open", Path: "x.wasm", Err: fs.ErrNotExist}, Kind{CodeUsage, "file"}},
		{"server", t.Context(), &host.RPCError{Code: -32603}, Kind{CodeServer, "server_error"}},
		{"denied", t.Context(), host.ErrDenied, Kind{CodeDenied, "denied"}},
		{"interrupted", interrupted, host.ErrUnreachable, Kind{CodeInterrupted, "interrupted"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := KindOf(tt.ctx, fmt.Errorf("call s: %w", tt.err)); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

// Each of several failures keeps its hint, and its name where the hints differ.
func TestFailures(t *testing.T) {
	with := func(hint string) error { return Usage(errors.New("x"), "%s", hint) }
	for _, tt := range []struct {
		errs []error
		want string
	}{
		{nil, ""},
		{[]error{with("one")}, "one"},
		{[]error{with(""), with("")}, ""},
		{[]error{with("one"), errors.New("y"), WithHint(errors.New("z"), "two")}, "0: one\n2: two"},
		{[]error{WithHint(errors.New("z"), "one"), with("one")}, "one"},
		{[]error{errors.New("y"), with("one")}, "1: one"},
	} {
		var f Failures
		for i, err := range tt.errs {
			f.Add(fmt.Sprint(i), err)
		}
		err := f.Err()
		if got := HintOf(fmt.Errorf("update: %w", err)); err != nil && got != tt.want || (err == nil) != (tt.errs == nil) {
			t.Errorf("%v: the hint is %q; want %q", err, got, tt.want)
		}
		if wanted := map[int]string{1: "0"}[len(tt.errs)]; f.Only() != wanted {
			t.Errorf("%v: it is of %q; want %q", err, f.Only(), wanted)
		}
	}
}
