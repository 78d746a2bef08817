package session

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"slices"

	"github.com/wharf-mcp/wharf/host/internal/ctxmutex"
	"github.com/wharf-mcp/wharf/host/internal/strictjson"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// toolCache holds what a session remembers of the server's list of tools.
//
// The arguments that go into headers stay remembered when the list itself is stale. A server that
// finds the headers wrong says so, and then the session asks for the list again.
type toolCache struct {
	listing ctxmutex.Mutex // held while tools are listed for their headers

	listCache[mcp.Tool]

	source   *listText          // of the newest list, also of one that listCache has refused
	places   []toolPlace        // of the tools in source, sorted by hash
	validate bool               // the tools of source are checked against their schemas
	defs     map[string]toolDef // by name, of the tools that were looked up
	compiled compiled           // the compiled schemas, also of earlier lists
	listings uint64             // the number of lists so far; 0 means that nothing is known
}

// toolPlace says where a tool is in the text of its list. Nothing else is kept of most tools,
// because they are never called.
type toolPlace struct {
	hash     uint32 // of its name
	at       uint32 // a list has at most mcp.MaxListBytes
	overHTTP bool   // see toolDef
}

func toolHash(name string) uint32 { return uint32(maphash.String(hashSeed, name)) }

// toolDef is what a call of a tool needs from its definition.
type toolDef struct {
	task         bool          // it has to run as a task
	mayTask      bool          // it can run as a task
	taskSupport  string        // what it declares of that; "" is nothing
	schemas      *toolSchemas  // nil if nothing is checked
	paramHeaders []headerParam // the arguments that go into headers; none if there is a flaw
	overHTTP     bool          // the server gets these headers
	flaw         error         // why the tool must not be called then

	annotations json.RawMessage // what the server says of the tool, an object, or nil
}

// store remembers a list. changesAtAsk is the count of changes from before it was asked for.
func (c *toolCache) store(list *toolList, changesAtAsk uint64) {
	text := newListText(list.text(), c.latest())
	slices.SortFunc(list.places, func(a, b toolPlace) int { return cmp.Compare(a.hash, b.hash) })
	c.mu.Lock()
	defer c.mu.Unlock()
	c.storeLocked(&list.list, text, changesAtAsk)
	former := c.defs
	c.source, c.places, c.validate, c.defs = text, slices.Clone(list.places), list.validate, nil
	for name, old := range former {
		if def := c.defLocked(name); old.schemas.same(def.schemas) {
			def.schemas = old.schemas
			c.defs[name] = def
		}
	}
	c.listings++
}

// defLocked returns the definition of a tool, or zero if the newest list does not have it.
func (c *toolCache) defLocked(name string) toolDef {
	if def, ok := c.defs[name]; ok {
		return def
	}
	hash := toolHash(name)
	i, _ := slices.BinarySearchFunc(c.places, hash, func(p toolPlace, hash uint32) int { return cmp.Compare(p.hash, hash) })
	for ; i < len(c.places) && c.places[i].hash == hash; i++ {
		raw := strictjson.Read(c.source.bytes()[c.places[i].at:]).Raw()
		tool, _, _ := readTool(raw, nil)
		if tool.Name != name {
			continue
		}
		if c.defs == nil {
			c.defs = make(map[string]toolDef)
		}
		def := newToolDef(&tool, c.places[i].overHTTP, c.validate)
		c.defs[tool.Name] = def
		return def
	}
	return toolDef{}
}

// find returns the definition of a tool, the number of its list, and whether the definition is
// still valid. The arguments that go into headers stay valid until the next list. Everything else
// stays valid until the server says that the list changed; so does the fact that a tool is missing.
func (c *toolCache) find(tool string) (def toolDef, listing uint64, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	def = c.defLocked(tool)
	return def, c.listings, def.overHTTP || c.listings > 0 && c.changesAtAsk == c.changes
}

// Annotations returns what the newest list says of a tool: an object, or nil if it says nothing. current is
// false if that list is not known, or may have changed since it came. It sends no request.
func (s *Session) Annotations(tool string) (annotations json.RawMessage, current bool) {
	newest, c := s.cfg.Connections.Current(), &s.toolCache
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.source == nil || c.source != c.text || !c.freshLocked() && !c.holds(newest) {
		return nil, false
	}
	return c.defLocked(tool).annotations, true
}

// definition returns the definition of the tool of q. If it is not known, definition asks for the
// list of tools. A server without a list has no arguments in headers and no tools that run as tasks
// (2025-11-25/basic/utilities/tasks#tool-level-negotiation).
func (s *Session) definition(ctx context.Context, q *request) (toolDef, error) {
	def, listing, known := s.toolCache.find(q.name)
	if !known {
		if err := s.relist(ctx, listing); err != nil && codeOf(err) == 0 {
			return toolDef{}, fmt.Errorf("to know how the tool is called: %w", err)
		}
		def, listing, _ = s.toolCache.find(q.name)
	}
	q.listing = listing
	return def, nil
}

// relist asks for the list of tools, unless a newer one than listing is known. It warns after the
// lock is released, because the callback may call a tool.
func (s *Session) relist(ctx context.Context, listing uint64) error {
	c := &s.toolCache
	if err := c.listing.Lock(ctx); err != nil {
		return err
	}
	if _, newest, _ := c.find(""); newest > listing {
		c.listing.Unlock()
		return nil
	}
	list, err := s.list(ctx, nil)
	c.listing.Unlock()
	if err == nil {
		list.tell(s.cfg.Warn)
	}
	return err
}
