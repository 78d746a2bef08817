package gateway

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
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
	noun                        string // of an element that is called by its name; "" for those of resources
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

// serverCache is what a gateway knows of its servers, whether they are started or not.
type serverCache struct {
	mu           sync.Mutex
	snapshots    map[string]*catalogue.Snapshot // by server; never changed, only replaced
	renamedLists map[listKey]*renamedList
	owners       *owners // nil when it has to be made anew
}

// snapshot returns what is known of a server: from one of the sessions with it, or from an earlier
// run. It is empty if nothing is known.
func (g *Gateway) snapshot(server string) *catalogue.Snapshot {
	g.servers.mu.Lock()
	defer g.servers.mu.Unlock()
	return g.snapshotLocked(server)
}

func (g *Gateway) snapshotLocked(server string) *catalogue.Snapshot {
	if s := g.servers.snapshots[server]; s != nil {
		return s
	}
	found := &catalogue.Snapshot{}
	entry, _ := g.server(server)
	if session, err := g.host.AddClient(entry, host.Client{}); err == nil { // which is never started
		if s := session.Snapshot(); s != nil {
			found = s
		}
		session.Close()
	}
	if g.servers.snapshots == nil {
		g.servers.snapshots = make(map[string]*catalogue.Snapshot)
	}
	g.servers.snapshots[server] = found
	return found
}

// mergeSnapshot takes what a session knows of a server, where that is newer. s may be nil.
func (g *Gateway) mergeSnapshot(server string, s *catalogue.Snapshot) {
	if s == nil {
		return
	}
	g.servers.mu.Lock()
	defer g.servers.mu.Unlock()
	old := g.snapshotLocked(server)
	merged := &catalogue.Snapshot{Name: s.Name, Info: old.Info, Lists: make(map[catalogue.Kind]catalogue.List), Divided: cmp.Or(s.Divided, old.Divided)}
	if s.Info.Era != "" {
		merged.Info = s.Info
	}
	maps.Copy(merged.Lists, old.Lists)
	for kind, list := range s.Lists {
		if had, ok := merged.Lists[kind]; !ok || had.Listed.Before(list.Listed) {
			merged.Lists[kind] = list
		}
	}
	g.servers.snapshots[server], g.servers.owners = merged, nil
}

// owners returns which servers list which resources, as far as that is known.
func (g *Gateway) owners() *owners {
	g.servers.mu.Lock()
	defer g.servers.mu.Unlock()
	if g.servers.owners != nil {
		return g.servers.owners
	}
	o := &owners{}
	for _, s := range g.config.Servers {
		lists := g.snapshotLocked(s.Name).Lists
		for kind, name := range uriMembers {
			for _, item := range elements(lists[kind].Items) {
				if uri := text(item, name); uri != "" {
					o.add(s.Name, uri, kind == catalogue.Templates)
				}
			}
		}
	}
	g.servers.owners = o
	return o
}

// uriMembers are the members that have the URI, or the template, of an element of a list.
var uriMembers = map[catalogue.Kind]string{catalogue.Resources: "uri", catalogue.Templates: "uriTemplate"}

// elements returns the elements of an array as they are written.
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

// fitting returns an element of a list as it stands in a list of many servers: nil if it has no key, or
// is of another type than the protocol has. A strict client refuses a list for one such element, and
// would lose the elements of all other servers with it.
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
	case given == nil: // arguments are an object all the same
		return edit(item, change{"inputSchema", edit(schema, change{"type", quote("object")})})
	}
	return item
}

// renamedList is a list of a server with the names that it has on the aggregate.
type renamedList struct {
	source json.RawMessage // what it was made of
	items  []json.RawMessage
	own    map[string]string // what the server calls a thing, by its name on the aggregate
}

// renamedList returns a list as far as it is known. Resources have the server's own URIs.
func (g *Gateway) renamedList(server string, l *listing) *renamedList {
	g.servers.mu.Lock()
	defer g.servers.mu.Unlock()
	key, source := listKey{server, l.kind}, g.snapshotLocked(server).Lists[l.kind].Items
	if r := g.servers.renamedLists[key]; r != nil && bytes.Equal(r.source, source) {
		return r
	}
	r := &renamedList{source: source, own: make(map[string]string)}
	for _, item := range elements(source) {
		if item = l.fitting(item); item == nil {
			continue
		}
		if l.noun == "" {
			r.items = append(r.items, item)
			continue
		}
		own := text(item, "name")
		name := aggregateName(server, own)
		if _, twice := r.own[name]; twice {
			continue // the server lists it twice
		}
		r.own[name] = own
		about := edit(member(item, "_meta"), change{"wharf/server", quote(server)}, change{"wharf/" + l.noun, quote(own)})
		r.items = append(r.items, edit(item, change{"name", quote(name)}, change{"_meta", about}))
	}
	if g.servers.renamedLists == nil {
		g.servers.renamedLists = make(map[listKey]*renamedList)
	}
	g.servers.renamedLists[key] = r
	return r
}

// lacksList reports whether a server may have a list that is not known.
func (a *aggregate) lacksList(server string, l *listing) bool {
	s := a.gateway.snapshot(server)
	_, listed := s.Lists[l.kind]
	return !listed && (s.Info.Era == "" || member(s.Info.Capabilities, l.capability) != nil)
}

const (
	firstListWait = 8 * time.Second // a list waits so long for servers that are not known
	maxPage       = 1 << 20         // bytes of a page, unless one element has more
)

// list returns a page of a list of all servers. It starts those of which the list is not known, and
// waits for them once; what they list later, the client is told of.
func (a *aggregate) list(ctx context.Context, r *request, l *listing) (json.RawMessage, error) {
	if err := a.awaitLists(ctx, r, l); err != nil {
		return nil, err
	}
	items, fresh := a.merged(l)
	if l.kind == catalogue.Tools {
		searches := a.gateway.searches(items)
		if searches {
			items = searchTools
		}
		a.mu.Lock()
		a.searches = searches
		a.mu.Unlock()
	}
	at, end, next, err := page(items, text(r.params, "cursor"))
	if err != nil {
		return nil, err
	}
	all := append([]byte{'['}, bytes.Join(items[at:end], []byte{','})...)
	changes := []change{{string(l.kind), append(all, ']')}}
	if next != "" {
		changes = append(changes, change{"nextCursor", quote(next)})
	}
	if a.era == mcp.Modern {
		changes = append(changes, change{"resultType", quote(string(mcp.ResultComplete))},
			change{"ttlMs", strconv.AppendInt(nil, fresh.Milliseconds(), 10)}, change{"cacheScope", quote("private")})
	}
	return edit(nil, changes...), nil
}

// awaitLists starts the servers of which a list is not known, and waits for them once.
func (a *aggregate) awaitLists(ctx context.Context, r *request, l *listing) error {
	known := true
	for _, s := range a.gateway.config.Servers {
		if a.lacksList(s.Name, l) {
			known = false
			a.fetchList(s.Name, l, r.params)
		}
	}
	if known {
		a.gateway.counts.knownLists.Add(1)
	}
	for _, s := range a.gateway.config.Servers {
		a.awaitList(ctx, s.Name, l)
	}
	return context.Cause(ctx)
}

// merged returns the elements of a list of all servers, in the order of the servers and of each
// server's list, and how long they are fresh. From then on the client is told of changes.
func (a *aggregate) merged(l *listing) (items [][]byte, fresh time.Duration) {
	now := time.Now()
	fresh = 24 * time.Hour
	a.mu.Lock()
	a.listedKinds[l.kind] = true
	for _, s := range a.gateway.config.Servers {
		a.lastListed[listKey{s.Name, l.kind}] = a.gateway.renamedList(s.Name, l).source
		if list, listed := a.gateway.snapshot(s.Name).Lists[l.kind]; listed || a.lacksList(s.Name, l) {
			fresh = max(0, min(fresh, list.Until.Sub(now)))
		}
	}
	a.mu.Unlock()
	return a.items(l), fresh
}

// items returns the elements of a list of all servers, as far as they are known.
func (a *aggregate) items(l *listing) (items [][]byte) {
	o := a.gateway.owners()
	for _, s := range a.gateway.config.Servers {
		for _, item := range a.gateway.renamedList(s.Name, l).items {
			items = append(items, o.qualifyElement(s.Name, l.kind, item))
		}
	}
	return items
}

// page returns which elements are on the page of a cursor, and the cursor of the next one. A cursor
// is good only for the list that it was given out for.
func page(items [][]byte, cursor string) (at, end int, next string, err error) {
	total := 0
	for _, item := range items {
		total += len(item)
	}
	if cursor == "" && total <= maxPage {
		return 0, len(items), "", nil
	}
	h := sha256.New()
	for _, item := range items {
		h.Write(item)
		h.Write([]byte{','})
	}
	mark := "." + hex.EncodeToString(h.Sum(nil)[:8])
	if cursor != "" {
		first, ours := bytes.CutSuffix([]byte(cursor), []byte(mark))
		if at, err = strconv.Atoi(string(first)); !ours || err != nil || at < 0 || at >= len(items) {
			return 0, 0, "", invalidParams("params.cursor was not given out by this server, or its list has changed: begin again without it")
		}
	}
	size := 0
	for end = at; end < len(items) && (end == at || size+len(items[end]) <= maxPage); end++ {
		size += len(items[end])
	}
	if end < len(items) {
		next = strconv.Itoa(end) + mark
	}
	return at, end, next, nil
}
