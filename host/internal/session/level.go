package session

import (
	"context"
	"fmt"
	"slices"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// SetLevel tells the server to send log messages of that level and above, as notifications. It
// tells a legacy server now, and again after each new handshake. A modern server learns the level
// with every request from now on, and logs only about those
// (2026-07-28/server/utilities/logging#per-request-log-level).
func (s *Session) SetLevel(ctx context.Context, level mcp.Level) error {
	if !slices.Contains(mcp.Levels, level) {
		return fmt.Errorf("set level on %s: unknown level %q: want one of %v", s.cfg.Name, clip(string(level)), mcp.Levels)
	}
	l, err := s.acquire(ctx)
	switch {
	case err != nil:
	case l.dialect.era == mcp.Modern:
		err = l.lacks(hasLogging)
	default:
		_, _, err = s.do(ctx, setLevel(level))
	}
	if err != nil {
		return fmt.Errorf("set level on %s: %w", s.cfg.Name, err)
	}
	s.level.Store(&level)
	return nil
}

func setLevel(level mcp.Level) *request {
	return &request{method: mcp.MethodSetLevel, given: map[string]any{"level": string(level)}, needs: hasLogging}
}

// restoreLevel tells a legacy server the level that SetLevel has set. If the server refuses,
// restoreLevel only warns.
func (s *Session) restoreLevel(ctx context.Context, l *agreedConn) {
	level := s.level.Load()
	if level == nil || l.dialect.era == mcp.Modern || l.lacks(hasLogging) != nil {
		return
	}
	q := setLevel(*level)
	_, err := l.Peer.Call(ctx, &rpc.Call{Method: q.method, Timeout: l.timeout}, q.params(&l.dialect, l.dialect.meta))
	if err != nil {
		s.cfg.Warn(fmt.Sprintf("the server no longer logs as it was told: %v", err))
	}
}
