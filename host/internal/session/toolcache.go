package session

import (
	"context"
	"fmt"
	"weak"

	"github.com/wharf-mcp/wharf/host/internal/ctxmutex"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// toolCache is what a session remembers of the server's list of tools.
//
// Which arguments headers show is remembered longer than the list itself: a
// server that finds the headers wrong says so, and then the list is asked for
// again.
type toolCache struct {
	listing ctxmutex.Mutex // held while tools are listed for their headers

	listCache[mcp.Tool]

	paramHeaders map[string][]headerParam // by tool
	tasks        map[string]bool          // tools that have to be run as tasks
	dropped      map[string]error         // tools that must not be used, and why
	schemas      map[string]*toolSchemas  // by tool
	compiled     compiled                 // of schemas, those of former lists among them
	from         weak.Pointer[Conn]       // the connection that the last list came over, if that was one
	listings     uint64                   // counts lists; 0 means that nothing is known
	as           uint64                   // changes, when the last list was asked for
}

// keep remembers a list that was asked for after that many changes.
func (c *toolCache) keep(list *toolList, as uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keepLocked(list.items, list.until, as)
	for name, made := range list.schemas {
		if old := c.schemas[name]; old.same(made) {
			list.schemas[name] = old
		}
	}
	c.paramHeaders, c.dropped, c.tasks, c.as = list.paramHeaders, list.dropped, list.tasks, as
	c.schemas, c.from = list.schemas, weak.Make(list.over)
	c.listings++
}

// toolSchemas returns what a tool promises to who calls it over l; nil is nothing, or
// nothing that is known to hold. Another connection may lead to another version of
// the server.
func (c *toolCache) toolSchemas(tool string, l *link) *toolSchemas {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.as != c.changes || c.from.Value() != l.Conn {
		return nil
	}
	return c.schemas[tool]
}

// find returns which arguments of a tool headers show, and by which list. A tool
// that is not in the list is not known only if there may be another list.
func (c *toolCache) find(tool string) (m []headerParam, listing uint64, known bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m, known = c.paramHeaders[tool]
	if err = c.dropped[tool]; err != nil {
		err = fmt.Errorf("the definition of the tool is invalid: %w", err)
	}
	return m, c.listings, known || err != nil || c.listings > 0 && c.as == c.changes, err
}

// findTask reports whether a tool has to be run as a task, by which list, and
// whether that is known.
func (c *toolCache) findTask(tool string) (task bool, listing uint64, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tasks[tool], c.listings, c.listings > 0 && c.as == c.changes
}

// mirrorsOf returns which arguments of the tool of q headers show. A server that
// has no list to give has nothing to show either.
func (s *Session) mirrorsOf(ctx context.Context, q *request) ([]headerParam, error) {
	c := &s.toolCache
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

// isTask reports whether the tool of q has to be run as a task
// (2025-11-25/basic/utilities/tasks#tool-level-negotiation). A server that has no
// list to give has no such tools.
func (s *Session) isTask(ctx context.Context, q *request) (bool, error) {
	task, listing, known := s.toolCache.findTask(q.name)
	if known {
		return task, nil
	}
	if err := s.relist(ctx, listing); err != nil && codeOf(err) == 0 {
		return false, fmt.Errorf("to know whether it is a task: %w", err)
	}
	task, q.listing, _ = s.toolCache.findTask(q.name)
	return task, nil
}

// relist asks for the list of tools, unless that was done since the given listing.
// What there is to warn about is said when the turn is over: a callback may call
// a tool.
func (s *Session) relist(ctx context.Context, listing uint64) error {
	c := &s.toolCache
	if err := c.listing.Lock(ctx); err != nil {
		return err
	}
	if _, newest, _, _ := c.find(""); newest > listing {
		c.listing.Unlock()
		return nil
	}
	list, err := s.list(ctx)
	c.listing.Unlock()
	if err == nil {
		list.tell(s.cfg.Warn)
	}
	return err
}
