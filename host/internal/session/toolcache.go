package session

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"slices"

	"github.com/wharf-mcp/wharf/host/internal/ctxmutex"
	"github.com/wharf-mcp/wharf/host/internal/strictjson"
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

	source   *listText          // the text of the newest list, also of one that listCache has refused
	places   []toolPlace        // of the tools in source, sorted by hash
	validate bool               // the tools of source are called with a look at their schemas
	defs     map[string]toolDef // by tool, of those that were looked for
	compiled compiled           // schemas, those of former lists among them
	listings uint64             // counts lists; 0 means that nothing is known
}

// toolPlace is where a tool is in the text of its list. Most tools are never called, and
// nothing else is kept of them.
type toolPlace struct {
	hash     uint32 // of its name
	at       uint32 // a list has at most mcp.MaxListBytes
	overHTTP bool   // see toolDef
}

func toolHash(name string) uint32 { return uint32(maphash.String(hashSeed, name)) }

// toolDef is what calls of a tool have to know of its definition.
type toolDef struct {
	task         bool          // it has to be run as a task
	mayTask      bool          // it can be
	schemas      *toolSchemas  // nil where nothing is checked
	overHTTP     bool          // what follows is known
	paramHeaders []headerParam // the arguments that headers show
	flaw         error         // why it must not be used
}

// store remembers a list; changesAtAsk is the count of changes from before it was asked for.
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

// defLocked returns the definition of a tool, which is zero if the newest list has no such
// tool.
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

// find returns the definition of a tool, the number of the list that it is from, and whether
// the definition is still valid. Which arguments headers show is valid until the next list.
// All else, and that a tool is not in the list, is valid until the server says that the list
// changed.
func (c *toolCache) find(tool string) (def toolDef, listing uint64, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	def = c.defLocked(tool)
	return def, c.listings, def.overHTTP || c.listings > 0 && c.changesAtAsk == c.changes
}

// definition returns the definition of the tool of q, and asks for the list of tools
// where it is not known. A server that has no list to give shows no arguments in headers
// and runs no tools as tasks (2025-11-25/basic/utilities/tasks#tool-level-negotiation).
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

// relist asks for the list of tools, unless that was done since the given listing. Warnings
// come after the lock is released: the callback may call a tool.
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
