package session

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/wharf-mcp/wharf/host/mcp"
)

// catalogue is what a session remembers of the server's list of tools.
//
// The list itself is used again for as long as the server said it would stay
// fresh, over reconnections too, and until the server says that it changed
// (2026-07-28/server/utilities/caching). A session is one context of
// authorization, so the scope of the cache makes no difference.
//
// Which arguments headers show is remembered longer: a server that finds the
// headers wrong says so, and then the list is asked for again.
type catalogue struct {
	listing chan struct{} // holds one token while someone lists for the headers' sake

	mu       sync.Mutex
	tools    []mcp.Tool
	until    time.Time           // when tools is stale
	mirrors  map[string][]mirror // by tool
	dropped  map[string]error    // tools that must not be used, and why
	listings uint64              // counts lists; 0 means that nothing is known
	changes  uint64              // counts the changes that the server told of
	as       uint64              // changes, when the last list was asked for
}

// fresh returns the list if it may be used again. The slice is the caller's.
func (c *catalogue) fresh() ([]mcp.Tool, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !time.Now().Before(c.until) {
		return nil, false
	}
	return slices.Clone(c.tools), true
}

// change notes that the list is not what it was.
func (c *catalogue) change() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes++
	c.until = time.Time{}
}

// count returns how often the list has changed: what keep wants to know of the
// moment when the list was asked for.
func (c *catalogue) count() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changes
}

// keep remembers a list.
func (c *catalogue) keep(l *toolList, as uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tools, c.until = nil, time.Time{}
	if as == c.changes && l.until.After(time.Now()) {
		c.tools, c.until = slices.Clone(l.tools), l.until
	}
	c.mirrors, c.dropped, c.as = l.mirrors, l.dropped, as
	c.listings++
}

// find returns which arguments of a tool headers show, and by which list. A tool
// that is not in the list is not known only if there may be another list.
func (c *catalogue) find(tool string) (m []mirror, listing uint64, known bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m, known = c.mirrors[tool]
	if err = c.dropped[tool]; err != nil {
		err = fmt.Errorf("the definition of the tool is invalid: %w", err)
	}
	return m, c.listings, known || err != nil || c.listings > 0 && c.as == c.changes, err
}

// hold waits for its turn to list, or for the end of ctx.
func (c *catalogue) hold(ctx context.Context) error {
	select {
	case c.listing <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (c *catalogue) release() { <-c.listing }

// mirrorsOf returns which arguments of the tool of q headers show. A server that
// has no list to give has nothing to show either.
func (s *Session) mirrorsOf(ctx context.Context, q *request) ([]mirror, error) {
	c := &s.catalogue
	m, listing, known, err := c.find(q.name)
	if !known {
		if err := s.relist(ctx, listing); err != nil && codeOf(err) == 0 {
			return nil, fmt.Errorf("to know its headers: %w", err)
		}
		m, listing, _, err = c.find(q.name)
	}
	q.listing = listing
	return m, err
}

// relist asks for the list of tools, unless somebody else did since that listing.
// What there is to warn about is said when the turn is over: a callback may call
// a tool.
func (s *Session) relist(ctx context.Context, listing uint64) error {
	c := &s.catalogue
	if err := c.hold(ctx); err != nil {
		return err
	}
	if _, newest, _, _ := c.find(""); newest > listing {
		c.release()
		return nil
	}
	list, err := s.list(ctx)
	c.release()
	list.tell(s.cfg.Warn)
	return err
}
