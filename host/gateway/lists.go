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

// serverCache has what a gateway knows of its servers, whether they are started or not.
type serverCache struct {
	mu           sync.Mutex
	snapshots    map[string]*catalogue.Snapshot // by server; never changed, only replaced
	renamedLists map[listKey]*renamedList
	owners       *owners // nil after a change, until it is made again
}

// snapshot returns what is known of a server, from sessions of this run or from an earlier run. It
// returns an empty snapshot if nothing is known.
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
	if session, err := g.host.AddClient(entry, host.Client{}); err == nil { // only to read the snapshot: the server is not started
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

// mergeSnapshot adds to the cache the parts of s that are newer. s may be nil.
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

// owners returns which servers list which resources. It uses the lists that are known.
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
	source json.RawMessage // the server's own list that it was made from
	items  []json.RawMessage
	own    map[string]string // the server's own names, by the names of the aggregate
}

// renamedList returns a list with the names of the aggregate. It is empty if the list is not known.
// Resources keep the server's own URIs.
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
	firstListWait = 8 * time.Second // how long a list waits for servers whose lists are not known
	maxPage       = 1 << 20         // bytes of a page, unless one element has more
)

// list returns a page of a list of all servers. It starts the servers whose list is not known, and
// waits for them, but no longer than firstListWait. If a server lists its elements later, the
// client is told that the list has changed.
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

// awaitLists starts the servers whose list is not known, and waits for them, but no longer than
// firstListWait after the client first needed the list.
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
// server's list, and how long they are fresh. It notes what the client has been told, so that
// the client is told of later changes.
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

// items returns the known elements of a list of all servers, in the order of the servers.
func (a *aggregate) items(l *listing) (items [][]byte) {
	o := a.gateway.owners()
	for _, s := range a.gateway.config.Servers {
		for _, item := range a.gateway.renamedList(s.Name, l).items {
			items = append(items, o.qualifyElement(s.Name, l.kind, item))
		}
	}
	return items
}

// page returns the range of the elements on the page of a cursor, and the cursor of the next page.
// A cursor is valid only for the list that it was made for.
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
