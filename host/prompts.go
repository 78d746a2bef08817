package host

import (
	"context"
	"time"

	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/status"
)

// ListPrompts returns all prompts of the server; see [Session.ListResources].
func (s *Session) ListPrompts(ctx context.Context) ([]mcp.Prompt, error) {
	return answer(ctx, s, mcp.MethodListPrompts, s.inner.ListPrompts)
}

// GetPrompt returns the messages of a prompt, with its blanks filled in.
func (s *Session) GetPrompt(ctx context.Context, name string, args map[string]string) (*mcp.GetPromptResult, error) {
	return answer(ctx, s, mcp.MethodGetPrompt, func(ctx context.Context) (*mcp.GetPromptResult, error) {
		return s.inner.GetPrompt(ctx, name, args)
	})
}

// Complete asks the server how an argument of a prompt, or a variable of a
// resource template, may go on.
func (s *Session) Complete(ctx context.Context, p mcp.CompleteParams) (*mcp.Completion, error) {
	return answer(ctx, s, mcp.MethodComplete, func(ctx context.Context) (*mcp.Completion, error) {
		return s.inner.Complete(ctx, p)
	})
}

// SetLevel has the server log from that level up; [Config.Event] hears it. A
// legacy server is told now, and again when a connection replaces another. A
// modern one is told with every request from now on, and logs about those only.
func (s *Session) SetLevel(ctx context.Context, level mcp.Level) error {
	return s.do(ctx, mcp.MethodSetLevel, func() error { return s.inner.SetLevel(ctx, level) })
}

// Ping asks for a sign of life: with ping in the legacy era, and in the modern
// one, which has none, with server/discover.
func (s *Session) Ping(ctx context.Context) error {
	connected := s.driver.Status().State == status.Connected // or it would be the latency of a start
	began := time.Now()
	err := s.do(ctx, mcp.MethodPing, func() error { return s.inner.Ping(ctx) })
	if latency := time.Since(began); err == nil && connected {
		s.driver.Report(func(st *status.Status) { st.Latency = latency })
	}
	return err
}
