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
