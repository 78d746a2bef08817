package session

import (
	"context"
	"fmt"

	"github.com/wharf-mcp/wharf/host/mcp"
)

// RootsChanged tells the server that [Config.Roots] now returns something else
// (2025-11-25/client/roots#root-list-changes). Only a legacy server with a connection is
// told: a modern server asks for the roots whenever it needs them, and so does a server that
// is connected later. Without the callback there are no roots to tell of.
func (s *Session) RootsChanged(ctx context.Context) error {
	l := s.current()
	if s.cfg.Roots == nil || !l.alive() || l.dialect.era == mcp.Modern {
		return nil
	}
	err := l.Peer.Notify(ctx, mcp.NotificationRootsListChanged, nil)
	if err != nil && l.alive() {
		return fmt.Errorf("%s on %s: %w", mcp.NotificationRootsListChanged, s.cfg.Name, err)
	}
	return nil
}
