package host

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"maps"
	"sync"

	"github.com/wharf-mcp/wharf/host/catalogue"
	"github.com/wharf-mcp/wharf/host/internal/session"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/policy"
	"github.com/wharf-mcp/wharf/host/status"
)

// Known returns the lists that the server was last known to have, without asking or starting it.
// They come from this session, or else from an earlier run with the same [Config.CatalogueDir].
// They have what the entry permits and [Config.Deciders] allow to the caller that [Client] names. A list that is stale may have changed since. A
// known list is asked for again when the server is connected. Unless the host is OneShot, it is
// also asked for again when the server says that it changed; a modern server says so only to a
// [Subscription].
func (s *Session) Known() status.Known {
	s.loadSaved()
	ctx := context.Background()
	v, k := s.view(ctx), s.inner.Known()
	k.Tools.Items = shown(ctx, &v, mcp.MethodListTools, k.Tools.Items, ofTool)
	k.Prompts.Items = shown(ctx, &v, mcp.MethodListPrompts, k.Prompts.Items, ofPrompt)
	k.Resources.Items = shown(ctx, &v, mcp.MethodListResources, k.Resources.Items, ofResource)
	k.Templates.Items = shown(ctx, &v, mcp.MethodListTemplates, k.Templates.Items, ofTemplate)
	return k
}

// Snapshot returns what is known of the server, without asking or starting it: its description of
// itself, and its lists as it wrote them. They come from this session, or else from an earlier run
// with the same [Config.CatalogueDir]. Its tools are those that the entry permits, and
// [Config.Deciders] are not asked. It returns nil
// if nothing is known. Everything in it may be out of date; see [Session.Known].
func (s *Session) Snapshot() *catalogue.Snapshot {
	entry, snapshot := s.snapshot()
	tools, listed := snapshot.Lists[catalogue.Tools]
	switch {
	case snapshot.Info.Era == "" && len(snapshot.Lists) == 0 && snapshot.Divided == "":
		return nil
	case listed && filters(entry):
		v := view{host: s.host, entry: entry, scope: policy.Everything}
		tools.Items = v.shownItems(context.Background(), lists[mcp.MethodListTools], tools.Items)
		snapshot.Lists[catalogue.Tools] = tools
	}
	return snapshot
}

// snapshot returns all that is known of a server, and its entry.
func (s *Session) snapshot() (*Server, *catalogue.Snapshot) {
	s.loadSaved()
	s.savedLists.Lock()
	entry, written, info, divided := s.entry.Load(), s.inner.WrittenLists(), s.Info(), s.savedLists.divided
	relayed := maps.Clone(s.savedLists.relayed.whole)
	if info.Era == "" {
		info = s.savedLists.info
	}
	s.savedLists.Unlock()
	out := &catalogue.Snapshot{Name: entry.Name, Info: info, Lists: make(map[catalogue.Kind]catalogue.List), Divided: divided}
	for method, l := range written {
		out.Lists[kinds[method]] = catalogue.List{Items: l.Items, Listed: l.Listed, Until: l.Until}
	}
	for kind, l := range relayed {
		if l.Listed.After(out.Lists[kind].Listed) {
			out.Lists[kind] = l
		}
	}
	return entry, out
}

// Divide stores that clients of a gateway do not share the server, and why.
// [Session.Snapshot] returns it, in this run and in later runs with the same
// [Config.CatalogueDir].
func (s *Session) Divide(why string) {
	s.loadSaved()
	s.savedLists.Lock()
	s.savedLists.divided = why
	s.savedLists.Unlock()
	s.host.queueSave(s)
}

// savedLists notes the catalogue from which the session got lists of earlier runs. Its lock is held
// while the entry of the session is replaced, so that no list is saved under the wrong entry.
type savedLists struct {
	sync.Mutex
	of      catalogue.Key // the server whose lists the session was given; "" is none
	info    status.Info   // the server's description of itself; zero is not known
	divided string        // see [Session.Divide]
	relayed relayedLists
}

// kinds maps the methods that ask for lists to the kinds under which a catalogue keeps the lists.
var kinds = map[string]catalogue.Kind{
	mcp.MethodListTools: catalogue.Tools, mcp.MethodListPrompts: catalogue.Prompts,
	mcp.MethodListResources: catalogue.Resources, mcp.MethodListTemplates: catalogue.Templates,
}

// loadSaved gives the session what the catalogue has for its entry, but no lists if its client is
// private. It does so once for each entry.
func (s *Session) loadSaved() {
	h := s.host
	if h.store == nil {
		return
	}
	s.savedLists.Lock()
	defer s.savedLists.Unlock()
	key := catalogue.KeyOf(*s.entry.Load())
	if s.savedLists.of == key {
		return
	}
	s.savedLists.of, s.savedLists.info, s.savedLists.divided, s.savedLists.relayed = key, status.Info{}, "", relayedLists{}
	known, err := h.store.Load(key)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			h.warnUnkept(s.Name(), "what it listed before is not known: "+err.Error())
		}
		return
	}
	lists := make(map[string]session.WrittenList)
	for method, kind := range kinds {
		l := known.Lists[kind]
		lists[method] = session.WrittenList{Items: l.Items, Listed: l.Listed, Until: l.Until}
	}
	s.savedLists.info, s.savedLists.divided = known.Info, known.Divided
	if !s.private {
		s.inner.LoadLists(lists)
	}
}

// showSaved reports the tools of an earlier run in the status. A OneShot host does not read the
// catalogue for that.
func (s *Session) showSaved() {
	if s.host.store == nil || s.host.config.OneShot {
		return
	}
	s.loadSaved()
	s.showStale()
}

// showStale reports the known tools in the status if their list is stale.
func (s *Session) showStale() {
	if tools := s.inner.Known().Tools; len(tools.Items) > 0 && tools.Stale {
		s.driver.Report(func(st *status.Status) { st.Tools, st.Stale = len(tools.Items), true })
	}
}

// renew asks for the known lists again, over a connection that was just made. The connection was
// made with entry.
func (s *Session) renew(entry *Server, c *session.Conn) {
	if !s.inner.Outdated(c) {
		return
	}
	ctx, over, err := s.host.begin(context.Background())
	if err != nil {
		return
	}
	go func() {
		defer over()
		if tools := s.inner.Renew(ctx, c); tools != nil {
			s.learn(entry, tools)
		}
	}()
}

// saveQueue holds the sessions whose lists wait to be saved.
type saveQueue struct {
	mu      sync.Mutex
	waiting map[*Session]struct{}
	running bool
}

// queueSave saves the lists of a session for later runs, unless its client is private. It returns at
// once.
func (h *Host) queueSave(s *Session) {
	if h.store == nil || s.private {
		return
	}
	q := &h.saves
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting == nil {
		q.waiting = make(map[*Session]struct{})
	}
	q.waiting[s] = struct{}{}
	if q.running {
		return
	}
	_, over, err := h.begin(context.Background())
	if err != nil {
		return
	}
	q.running = true
	go func() {
		defer over()
		for s := q.next(); s != nil; s = q.next() {
			entry, snapshot := s.snapshot() // a list that the session does not know stays as it was saved
			if err := h.store.Save(catalogue.KeyOf(*entry), snapshot); err != nil {
				h.warnUnkept(s.Name(), "what it lists is not kept: "+err.Error())
			}
		}
	}()
}

// next takes a session that waits. It returns nil if none waits: then the saving goroutine ends,
// and queueSave starts another.
func (q *saveQueue) next() *Session {
	q.mu.Lock()
	defer q.mu.Unlock()
	for s := range q.waiting {
		delete(q.waiting, s)
		return s
	}
	q.running = false
	return nil
}

// saveInfo saves what the server said in the handshake, unless it was saved before. A OneShot host
// saves it with the lists only.
func (s *Session) saveInfo() {
	if s.host.store == nil || s.host.config.OneShot {
		return
	}
	s.loadSaved()
	s.savedLists.Lock()
	defer s.savedLists.Unlock()
	if info := s.Info(); info.Era != "" && !bytes.Equal(s.savedLists.info.Raw, info.Raw) {
		s.savedLists.info = info
		s.host.queueSave(s)
	}
}
