package session

import (
	"context"
	"fmt"

	"github.com/wharf-mcp/wharf/host/mcp"
)

// RootsChanged tells the server that [Config.Roots] now returns other roots
// (2025-11-25/client/roots#root-list-changes). It tells only a connected legacy server. A modern
// server, and one that connects later, asks for the roots when it needs them. Without the callback
// it does nothing.
func (s *Session) RootsChanged(ctx context.Context) error {
	l := s.current()
	if s.represents.Load().Roots == nil || !l.alive() || l.dialect.era == mcp.Modern {
		return nil
	}
	err := l.Peer.Notify(ctx, mcp.NotificationRootsListChanged, nil)
	if err != nil && l.alive() {
		return fmt.Errorf("%s on %s: %w", mcp.NotificationRootsListChanged, s.cfg.Name, err)
	}
	return nil
}
