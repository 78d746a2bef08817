package gateway

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"maps"
	"strconv"
	"sync"
	"time"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/catalogue"
	"github.com/wharf-mcp/wharf/host/internal/strictjson"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// listing is one of the lists that the aggregate merges.
type listing struct {
	kind                        catalogue.Kind // also the member of the result
	method, capability, changed string
	noun                        string // what an element is called in errors; "" for resources and templates, which have URIs and keep their names
	ask                         func(ctx context.Context, s *host.Session) error
	element                     func() any // what an element decodes to
	wanted                      func(f *mcp.Filter) bool
}

var listings = []listing{
	{
		catalogue.Tools, mcp.MethodListTools, "tools", mcp.NotificationToolsListChanged, "tool",
		func(ctx context.Context, s *host.Session) error { _, err := s.ListTools(ctx); return err },
		func() any { return new(mcp.Tool) },
		func(f *mcp.Filter) bool { return f.Tools },
	},
	{
		catalogue.Prompts, mcp.MethodListPrompts, "prompts", mcp.NotificationPromptsListChanged, "prompt",
		func(ctx context.Context, s *host.Session) error { _, err := s.ListPrompts(ctx); return err },
		func() any { return new(mcp.Prompt) },
		func(f *mcp.Filter) bool { return f.Prompts },
	},
	{
		catalogue.Resources, mcp.MethodListResources, "resources", mcp.NotificationResourcesListChanged, "",
		func(ctx context.Context, s *host.Session) error { _, err := s.ListResources(ctx); return err },
		func() any { return new(mcp.Resource) },
		func(f *mcp.Filter) bool { return f.Resources },
	},
	{
		catalogue.Templates, mcp.MethodListTemplates, "resources", mcp.NotificationResourcesListChanged, "",
		func(ctx context.Context, s *host.Session) error { _, err := s.ListResourceTemplates(ctx); return err },
		func() any { return new(mcp.ResourceTemplate) },
		func(f *mcp.Filter) bool { return f.Resources },
	},
}

func listingOf(kind catalogue.Kind) *listing {
	for i := range listings {
		if listings[i].kind == kind {
			return &listings[i]
		}
	}
	return nil
}

type listKey struct {
	server string
	kind   catalogue.Kind
}

// serverCache has what is known of the servers of a gateway, whether they are started or not. The
// gateway has one for the clients of the user who runs the program. A client of another principal that
// reaches all servers as one has one of its own: what a server lists to it is shown to no other client,
// and the other way round.
type serverCache struct {
	gateway *Gateway
	private bool // of a client of another principal

	mu           sync.Mutex
	snapshots    map[string]*catalogue.Snapshot // by server; never changed, only replaced
	renamedLists map[listKey]*renamedList
	lastOwners   *owners // nil after a change, until it is made again
}

func newServerCache(g *Gateway, private bool) *serverCache {
	return &serverCache{gateway: g, private: private, snapshots: make(map[string]*catalogue.Snapshot), renamedLists: make(map[listKey]*renamedList)}
}

// snapshot returns what is known of a server, from sessions of this run or from an earlier run. It
// returns an empty snapshot if nothing is known. The first call reads the disk.
func (c *serverCache) snapshot(server string) *catalogue.Snapshot {
	c.mu.Lock()
	known := c.snapshots[server]
	c.mu.Unlock()
	if known != nil {
		return known
	}
	found := c.readSnapshot(server)
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.snapshots[server]; known != nil { // of a caller that was faster
		return known
	}
	c.snapshots[server] = found
	return found
}

// readSnapshot returns what an earlier run has saved of a server.
func (c *serverCache) readSnapshot(server string) *catalogue.Snapshot {
	entry, _ := c.gateway.server(server)
	if session, err := c.gateway.host.AddClient(entry, host.Client{Private: c.private}); err == nil { // only to read the snapshot: the server is not started
		defer session.Close()
		if s := session.Snapshot(); s != nil {
			return s
		}
	}
	return &catalogue.Snapshot{}
}

// mergeSnapshot adds to the cache the parts of s that are newer, and returns the kinds of the lists that have
// other elements now. s may be nil.
func (c *serverCache) mergeSnapshot(server string, s *catalogue.Snapshot) (changed []catalogue.Kind) {
	if s == nil {
		return nil
	}
	c.snapshot(server) // is there from now on
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.snapshots[server]
	merged := &catalogue.Snapshot{Name: s.Name, Info: old.Info, Lists: make(map[catalogue.Kind]catalogue.List), Divided: cmp.Or(s.Divided, old.Divided)}
	if s.Info.Era != "" {
		merged.Info = s.Info
	}
	maps.Copy(merged.Lists, old.Lists)
	for kind, list := range s.Lists {
		had, ok := merged.Lists[kind]
		if ok && !had.Listed.Before(list.Listed) {
			continue
		}
		merged.Lists[kind] = list
		if !bytes.Equal(had.Items, list.Items) {
			changed = append(changed, kind)
		}
	}
	c.snapshots[server], c.lastOwners = merged, nil
	return changed
}

// owners returns which servers list which resources. It uses the lists that are known.
func (c *serverCache) owners() *owners {
	for _, s := range c.gateway.config.Servers {
		c.snapshot(s.Name) // is there from now on
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lastOwners != nil {
		return c.lastOwners
	}
	o := &owners{}
	for _, s := range c.gateway.config.Servers {
		lists := c.snapshots[s.Name].Lists
		for kind, name := range uriMembers {
			for _, item := range elements(lists[kind].Items) {
				if uri := text(item, name); uri != "" {
					o.add(s.Name, uri, kind == catalogue.Templates)
				}
			}
		}
	}
	c.lastOwners = o
	return o
}

// uriMembers are the members that have the URI, or the template, of an element of a list.
var uriMembers = map[catalogue.Kind]string{catalogue.Resources: "uri", catalogue.Templates: "uriTemplate"}

// elements returns the JSON texts of the elements of an array, or nil for another value.
func elements(array []byte) (all []json.RawMessage) {
	r := strictjson.Read(array)
	if r.Kind() != '[' {
		return nil
	}
	for range r.Array() {
		all = append(all, r.Raw())
	}
	return all
}

// fitting returns an element in the form for a list of many servers. It returns nil if the element has
// no key, or a member of a wrong type: a strict client would refuse the whole list for that, and lose
// the elements of all other servers.
func (l *listing) fitting(item json.RawMessage) json.RawMessage {
	key := cmp.Or(uriMembers[l.kind], "name")
	if text(item, key) == "" || text(item, "name") == "" || json.Unmarshal(item, l.element()) != nil {
		return nil
	}
	if about := member(item, "_meta"); about != nil && !isObject(about) {
		return nil
	}
	if l.kind != catalogue.Tools {
		return item
	}
	schema := member(item, "inputSchema")
	switch given := member(schema, "type"); {
	case !isObject(schema), given != nil && unquote(given) != "object":
		return nil
	case given == nil: // a missing type means object here
		return edit(item, change{"inputSchema", edit(schema, change{"type", quote("object")})})
	}
	return item
}

// renamedList is a list of one server with the names of the aggregate.
type renamedList struct {
	server string
	source json.RawMessage   // the server's own list that it was made from
	mark   [sha256.Size]byte // a hash of source
	items  []json.RawMessage
	size   int               // bytes of items
	own    map[string]string // the server's own names, by the names of the aggregate
}

// renamedList returns a list with the names of the aggregate. It is empty before the list was fetched.
// Resources keep the server's own URIs.
func (c *serverCache) renamedList(server string, l *listing) *renamedList {
	c.snapshot(server) // is there from now on
	c.mu.Lock()
	defer c.mu.Unlock()
	key, source := listKey{server, l.kind}, c.snapshots[server].Lists[l.kind].Items
	if r := c.renamedLists[key]; r != nil && bytes.Equal(r.source, source) {
		return r
	}
	c.renamedLists[key] = newRenamedList(server, source, l)
	return c.renamedLists[key]
}

// newRenamedList returns a list of a server with the names of the aggregate.
func newRenamedList(server string, source json.RawMessage, l *listing) *renamedList {
	r := &renamedList{server: server, source: source, mark: sha256.Sum256(source), own: make(map[string]string)}
	for _, item := range elements(source) {
		if item = l.fitting(item); item == nil {
			continue
		}
		if l.noun == "" {
			r.add(item)
			continue
		}
		own := text(item, "name")
		name := aggregateName(server, own)
		if _, twice := r.own[name]; twice {
			continue // the server lists it twice
		}
		r.own[name] = own
		about := edit(member(item, "_meta"), change{"wharf/server", quote(server)}, change{"wharf/" + l.noun, quote(own)})
		r.add(edit(item, change{"name", quote(name)}, change{"_meta", about}))
	}
	return r
}

func (r *renamedList) add(item json.RawMessage) {
	r.items = append(r.items, item)
	r.size += len(item)
}

// merged returns a list of all servers, in their order, as far as it is known.
func (c *serverCache) merged(l *listing) mergedList {
	all := make(mergedList, len(c.gateway.config.Servers))
	for i, s := range c.gateway.config.Servers {
		all[i] = c.renamedList(s.Name, l)
	}
	return all
}

// lacksList reports whether a list of a server was not fetched yet, and the server may offer it.
func (a *aggregate) lacksList(server string, l *listing) bool {
	s := a.servers.snapshot(server)
	_, listed := s.Lists[l.kind]
	return !listed && (s.Info.Era == "" || member(s.Info.Capabilities, l.capability) != nil)
}

const maxPage = 1 << 20 // bytes of a page, unless one element has more

// list returns a page of a list of all servers. It starts the servers whose list was not fetched yet, and
// waits for them, but no longer than [Config].ListWait. If a server lists its elements later, the
// client is told that the list has changed. For the list of tools, [Gateway.searches] says whether it
// returns searchTools instead.
func (a *aggregate) list(ctx context.Context, r *request, l *listing) (json.RawMessage, error) {
	if err := a.awaitLists(ctx, r, l); err != nil {
		return nil, err
	}
	all, fresh := a.lastLists(l)
	lists := a.visible(r, l, all)
	if l.kind == catalogue.Tools {
		searches := a.gateway.searches(lists)
		if searches {
			lists = searchTools
		}
		a.mu.Lock()
		a.searches = searches
		a.mu.Unlock()
	}
	items, next, err := lists.page(a.servers.owners(), l.kind, text(r.params, "cursor"))
	if err != nil {
		return nil, err
	}
	changes := []change{{string(l.kind), items}}
	if next != "" {
		changes = append(changes, change{"nextCursor", quote(next)})
	}
	if a.era == mcp.Modern {
		changes = append(changes, change{"resultType", quote(string(mcp.ResultComplete))},
			change{"ttlMs", strconv.AppendInt(nil, fresh.Milliseconds(), 10)}, change{"cacheScope", quote("private")})
	}
	return edit(nil, changes...), nil
}

// awaitLists starts the servers whose list was not fetched yet, and waits for them, but no longer than
// [Config].ListWait after the client first needed the list. It also asks the servers that the client uses
// already and has not been listed: what is known of those may be older than that use.
func (a *aggregate) awaitLists(ctx context.Context, r *request, l *listing) error {
	known := true
	var awaited []string
	for _, s := range a.reachable(r) {
		lacks, used, connected := a.lacksList(s.Name, l), false, false
		a.mu.Lock()
		if b := a.backends[s.Name]; b != nil && a.fetches[listKey{s.Name, l.kind}] == nil {
			used, connected = true, isClosed(b.ready)
		}
		a.mu.Unlock()
		if lacks || used {
			a.fetchList(s.Name, l, r.params)
		}
		if lacks || connected {
			awaited = append(awaited, s.Name)
		}
		known = known && !lacks
	}
	if known {
		a.gateway.counts.knownLists.Add(1)
	}
	for _, server := range awaited {
		a.awaitList(ctx, server, l)
	}
	return context.Cause(ctx)
}

// lastLists returns a list of all servers, and how long it is fresh. It notes what the client has been
// told, so that the client is told of later changes.
func (a *aggregate) lastLists(l *listing) (all mergedList, fresh time.Duration) {
	now := time.Now()
	fresh = 24 * time.Hour
	a.mu.Lock()
	defer a.mu.Unlock()
	a.listedKinds[l.kind] = true
	all = a.servers.merged(l)
	for _, of := range all {
		a.lastListed[listKey{of.server, l.kind}] = of.source
		if list, listed := a.servers.snapshot(of.server).Lists[l.kind]; listed || a.lacksList(of.server, l) {
			fresh = max(0, min(fresh, list.Until.Sub(now)))
		}
	}
	return all, fresh
}
