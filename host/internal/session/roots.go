package session

import (
	"context"
	"fmt"
	"time"

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

// A connection that is made waits for a server that learns the roots, but no longer than rootsTimeout. A
// server that has read them may look at the folders, and nothing says when it has done so: rootsPause is
// for that.
const (
	rootsTimeout = time.Second
	rootsPause   = 100 * time.Millisecond
)

// letAskForRoots has a legacy server learn the roots before the first request on l, if it asks for them
// as soon as it hears of the end of the handshake. @modelcontextprotocol/server-filesystem does, and
// refuses all calls until it has looked at the folders. What the server asked before it answers a ping has
// come before the answer. If it asked for the roots, a second ping is answered when it has read them. Other
// servers are only waited for until they answer one ping.
func (s *Session) letAskForRoots(ctx context.Context, l *agreedConn) {
	if s.represents.Load().Roots == nil || l.dialect.era == mcp.Modern {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, rootsTimeout)
	defer cancel()
	if !saysAlive(l.ping(ctx)) {
		return
	}
	l.pinged.Store(true)
	if l.Peer.AwaitAnswered(ctx) != nil || !l.inbox.toldRoots.Load() {
		return
	}
	l.ping(ctx)
	select {
	case <-time.After(rootsPause):
	case <-ctx.Done():
	}
}
