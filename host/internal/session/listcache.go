package session

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"
	"weak"

	"github.com/wharf-mcp/wharf/host/internal/strictjson"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/status"
)

// listCache holds the newest list that a session knows. The server says how long the list stays
// fresh (2026-07-28/server/utilities/caching). A fresh list is used without a request, also after a
// reconnection. When that time is over, or when the server says that the list changed, the list is
// stale, but still known. Only its text is certain to be kept: callers ask rarely, and the items
// are read again then. A session is one context of authorization, so the scope of the cache makes
// no difference.
type listCache[T any] struct {
	mu               sync.Mutex
	kind             *kind[T]
	text             *listText          // the elements as written; nil for none
	others           []int              // indexes of the elements that are no items
	decoded          weak.Pointer[[]T]  // the items, until the garbage collector takes them
	listed           time.Time          // when the server was asked; zero is never
	from             weak.Pointer[Conn] // the connection that all of the list came over, if there is one
	changesAtAsk     uint64             // the value of changes when the list was asked for
	until            time.Time          // until when the list is fresh
	told             time.Time          // the end of the freshness that the server told an earlier run; the list is stale all the same
	changes          uint64             // counts the changes that the server told of
	changesAtReplace uint64             // the value of changes when the server was last replaced
}

// fresh returns the list if it is still fresh. The slice belongs to the caller.
func (c *listCache[T]) fresh() ([]T, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.freshLocked() {
		return nil, false
	}
	return c.itemsLocked(), true
}

func (c *listCache[T]) freshLocked() bool { return time.Now().Before(c.until) }

// itemsLocked returns the items in a slice that belongs to the caller.
func (c *listCache[T]) itemsLocked() []T {
	if items := c.decoded.Value(); items != nil {
		return slices.Clone(*items)
	}
	var items []T
	others, allowance := c.others, strictjson.NewAllowance(mcp.MaxElements)
	r := strictjson.Read(c.text.bytes()).Unbounded()
	for place := range r.Array() {
		raw := r.Raw()
		if len(others) > 0 && others[0] == place {
			others = others[1:]
			continue
		}
		item, _, _ := c.kind.read(raw, allowance) // it was read without an error when the list came
		items = append(items, item)
	}
	c.decoded = weak.Make(&items)
	return slices.Clone(items)
}

// setLocked stores a list.
func (c *listCache[T]) setLocked(l *list[T], text *listText, listed time.Time) {
	c.kind, c.text, c.others, c.listed = l.kind, text, slices.Clone(l.others), listed
	c.decoded = weak.Pointer[[]T]{}
}

// change notes that the list has changed. It reports whether a list is known, and whether that list
// was fresh until now.
func (c *listCache[T]) change() (known, fresh bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, fresh = !c.listed.IsZero(), c.freshLocked()
	c.changes++
	c.until, c.told = time.Time{}, time.Time{}
	return known, fresh
}

// replace notes that the server may have been replaced: a list that was requested before will not
// be stored. If drop is true, the server certainly was replaced, and the known list is dropped.
func (c *listCache[T]) replace(drop bool) {
	c.change()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changesAtReplace = c.changes
	if drop {
		c.text, c.others, c.listed = nil, nil, time.Time{}
		c.decoded = weak.Pointer[[]T]{}
	}
}

// count returns how often the list has changed. A caller calls count before it asks for the list,
// and passes the result to store.
func (c *listCache[T]) count() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changes
}

// store stores a list. changesAtAsk is the result of count from before the list was asked for.
func (c *listCache[T]) store(l *list[T], changesAtAsk uint64) {
	text := newListText(l.text(), c.latest())
	c.mu.Lock()
	defer c.mu.Unlock()
	c.storeLocked(l, text, changesAtAsk)
}

// latest returns the text of the known list, or nil.
func (c *listCache[T]) latest() *listText {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text
}

func (c *listCache[T]) storeLocked(l *list[T], text *listText, changesAtAsk uint64) {
	if changesAtAsk < c.changesAtReplace {
		return
	}
	c.setLocked(l, text, l.begun)
	c.changesAtAsk, c.from, c.until, c.told = changesAtAsk, weak.Make(l.over), time.Time{}, time.Time{}
	if changesAtAsk == c.changes && l.until.After(time.Now()) {
		c.until = l.until
	}
}

// known returns the known list. newest is the newest connection, or nil.
func (c *listCache[T]) known(newest *Conn) status.Listed[T] {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := status.Listed[T]{Items: c.itemsLocked(), At: c.listed}
	out.Stale = !c.listed.IsZero() && !c.freshLocked() && !c.holds(newest)
	return out
}

// holds reports whether the list came over that connection and has not changed since.
func (c *listCache[T]) holds(newest *Conn) bool {
	return newest != nil && !newest.ended() && c.from.Value() == newest && c.changesAtAsk == c.changes
}

// outdated reports whether the known list is stale and has to be asked for over newest: it came
// over another connection, or has changed since it was asked for.
func (c *listCache[T]) outdated(newest *Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.listed.IsZero() && !c.holds(newest) && !c.freshLocked()
}

// WrittenList is a list as the server wrote it.
type WrittenList struct {
	Items  json.RawMessage // an array of the elements of all pages, each byte for byte
	Listed time.Time       // when the server was asked
	Until  time.Time       // until when the list is fresh; zero = it is not
}

// written adds the known list to into, under its method. Without one it does nothing.
func (c *listCache[T]) written(method string, into map[string]WrittenList) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.listed.IsZero() {
		return
	}
	w := WrittenList{slices.Clone(c.text.bytes()), c.listed, c.until}
	if w.Until.IsZero() {
		w.Until = c.told
	}
	into[method] = w
}

// load stores a list from before this session began, unless the session has asked for one since.
func (c *listCache[T]) load(k *kind[T], w WrittenList) {
	if w.Listed.IsZero() {
		return
	}
	l := newList(k)
	r := strictjson.Read(w.Items)
	for range r.Array() {
		if l.addElement(r.Raw(), dialect{}) != nil {
			return
		}
	}
	if r.Err() != nil {
		return
	}
	text := newListText(l.text(), nil)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.listed.IsZero() {
		c.setLocked(&l, text, w.Listed)
		c.told = w.Until
	}
}

// WrittenLists returns all known lists, keyed by the methods that ask for them.
func (s *Session) WrittenLists() map[string]WrittenList {
	all := make(map[string]WrittenList)
	s.toolCache.written(mcp.MethodListTools, all)
	s.prompts.written(mcp.MethodListPrompts, all)
	s.resources.written(mcp.MethodListResources, all)
	s.templates.written(mcp.MethodListTemplates, all)
	return all
}

// LoadLists stores lists from before this session began, keyed by their methods. They are stale,
// and do not replace lists that the session has asked for itself.
func (s *Session) LoadLists(lists map[string]WrittenList) {
	s.toolCache.load(&toolKind, lists[mcp.MethodListTools])
	s.prompts.load(&promptKind, lists[mcp.MethodListPrompts])
	s.resources.load(&resourceKind, lists[mcp.MethodListResources])
	s.templates.load(&templateKind, lists[mcp.MethodListTemplates])
}

// Known returns the lists that the server last sent. It sends no request.
func (s *Session) Known() status.Known {
	newest := s.cfg.Connections.Current()
	return status.Known{
		Tools: s.toolCache.known(newest), Prompts: s.prompts.known(newest),
		Resources: s.resources.known(newest), Templates: s.templates.known(newest),
	}
}

// Outdated reports whether [Session.Renew] would ask for a list.
func (s *Session) Outdated(c *Conn) bool {
	return s.toolCache.outdated(c) || s.prompts.outdated(c) || s.resources.outdated(c) || s.templates.outdated(c)
}

// Renew asks for each outdated list again, one after the other, over c and no other connection. It
// returns the tools, or nil if it did not ask for them. A list that the server does not send stays
// as it was.
func (s *Session) Renew(ctx context.Context, c *Conn) []mcp.Tool {
	if s.renewing.Lock(ctx) != nil {
		return nil
	}
	defer s.renewing.Unlock()
	l := c.agreed.Load()
	renew(ctx, s, l, &s.prompts, &promptKind)
	renew(ctx, s, l, &s.resources, &resourceKind)
	renew(ctx, s, l, &s.templates, &templateKind)
	if s.toolCache.listing.Lock(ctx) != nil {
		return nil
	}
	defer s.toolCache.listing.Unlock()
	if !s.toolCache.outdated(c) {
		return nil
	}
	list, err := s.list(ctx, l)
	if err != nil {
		return nil
	}
	return list.items
}

// renew does for one list what [Session.Renew] does.
func renew[T any](ctx context.Context, s *Session, on *agreedConn, c *listCache[T], k *kind[T]) {
	if !c.outdated(on.Conn) {
		return
	}
	l, changesAtAsk := newList(k), c.count()
	l.on = on
	if fetch(ctx, s, &l) == nil {
		c.store(&l, changesAtAsk)
		s.cfg.Listed()
	}
}

// expireLists marks as stale each list that a filter names.
func (s *Session) expireLists(f *mcp.Filter) {
	var known, fresh bool
	note := func(k, f bool) { known, fresh = known || k, fresh || f }
	if f.Tools {
		note(s.toolCache.change())
	}
	if f.Prompts {
		note(s.prompts.change())
	}
	if f.Resources {
		note(s.resources.change())
		note(s.templates.change())
	}
	if f.Resources || len(f.URIs) > 0 {
		s.reads.change()
	}
	if fresh {
		s.cfg.Listed()
	}
	if known {
		s.cfg.Changed()
	}
}
