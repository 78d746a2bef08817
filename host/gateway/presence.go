package gateway

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/catalogue"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/policy"
	"github.com/wharf-mcp/wharf/host/status"
)

// Client is a client of a gateway, as it is at a moment.
type Client struct {
	policy.Caller           // who it is; a modern client over HTTP has the name of its first request
	ID            string    // names it among the clients of all gateways
	Version       string    // what it says of itself
	Since         time.Time // when its first request came
	InFlight      int       // its requests that have no answer yet
	Server        string    // the server that it reaches bare; "" is all servers as one
	Servers       []string  // those that it uses
}

// presence is a client from its first request until it leaves.
type presence struct {
	gateway  *Gateway
	client   client
	about    Client        // without what changes
	caller   policy.Caller // who it is to the rules
	inFlight atomic.Int64

	mu    sync.Mutex
	lists map[catalogue.Kind]mark // those that a client which reaches a server bare was listed last

	comparing sync.Mutex        // held while a list is compared with what it was before a change of access
	told      map[string]uint64 // by notification: the change of access after which the lists were as the client was told last
}

// mark is a hash of a list as a client may see it; zero is of an empty one.
type mark [sha256.Size]byte

const maxClientName = 128 // bytes of a name and of a version that are kept

// arrive notes a client whose first request describes it with info.
func (g *Gateway) arrive(c client, o *origin, era mcp.Era, info json.RawMessage, server string) *presence {
	p := &presence{gateway: g, client: c, about: Client{Caller: o.caller(), ID: rand.Text(), Since: time.Now(), Server: server, Servers: []string{}}}
	if server != "" {
		p.about.Servers = []string{server}
	}
	p.about.Name, p.about.Version = clientName(info), cleantext.Line(text(info, "version"), maxClientName)
	p.about.Peer, p.about.Era = o.peer, string(era)
	p.caller = o.callerNamed(p.about.Name, era)
	g.presentMu.Lock()
	g.present[p] = struct{}{}
	g.presentMu.Unlock()
	p.tell(false)
	return p
}

// leave notes that the client has left. It is called once.
func (p *presence) leave() {
	g := p.gateway
	g.presentMu.Lock()
	delete(g.present, p)
	g.presentMu.Unlock()
	p.tell(true)
}

func (p *presence) tell(left bool) {
	if f := p.gateway.config.OnClient; f != nil {
		f(p.about, left)
	}
}

// now returns the client as it is.
func (p *presence) now() Client {
	about := p.about
	about.InFlight = int(p.inFlight.Load())
	if a, all := p.client.(*aggregate); all {
		about.Servers = a.uses()
	}
	return about
}

// presences returns the clients that are there, the oldest first.
func (g *Gateway) presences() []*presence {
	g.presentMu.Lock()
	all := slices.Collect(maps.Keys(g.present))
	g.presentMu.Unlock()
	slices.SortFunc(all, func(a, b *presence) int { return a.about.Since.Compare(b.about.Since) })
	return all
}

// Clients returns the clients that have sent a request and have not left, the oldest first.
func (g *Gateway) Clients() []Client {
	all := []Client{}
	for _, p := range g.presences() {
		all = append(all, p.now())
	}
	return all
}

// ChangeAccess calls change, which has the deciders of the host decide otherwise. Each client is then told of
// the lists that have become others for it, and of no other. It does not wait for that.
func (g *Gateway) ChangeAccess(change func()) {
	g.changingAccess.Lock()
	defer g.changingAccess.Unlock()
	all := g.presences()
	before := make([]map[catalogue.Kind]mark, len(all))
	for i, p := range all {
		before[i] = p.seen()
	}
	change()
	g.accessChanges++
	number := g.accessChanges
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, p := range all {
		if len(before[i]) > 0 && !g.closed {
			g.clients.Go(func() { p.tellOfOthers(before[i], number) })
		}
	}
}

// countAccessChanges returns how many changes of access there have been. It waits for one that is under way.
func (g *Gateway) countAccessChanges() uint64 {
	g.changingAccess.Lock()
	defer g.changingAccess.Unlock()
	return g.accessChanges
}

// listed notes what a client that reaches a server bare has been listed.
func (p *presence) listed(r *request, result json.RawMessage) {
	for i := range listings {
		if l := &listings[i]; l.method == r.method {
			p.mu.Lock()
			defer p.mu.Unlock()
			m := p.lists[l.kind]
			if text(r.params, "cursor") == "" {
				m = mark{}
			}
			if p.lists == nil {
				p.lists = make(map[catalogue.Kind]mark)
			}
			p.lists[l.kind] = m.with(l, member(result, string(l.kind)))
			return
		}
	}
}

// with returns the mark of a list that goes on with these items.
func (m mark) with(l *listing, items json.RawMessage) mark {
	key := cmp.Or(uriMembers[l.kind], "name")
	for _, item := range elements(items) {
		m = sha256.Sum256(append(m[:], text(item, key)...))
	}
	return m
}

// seen returns how the client has seen its lists.
func (p *presence) seen() map[catalogue.Kind]mark {
	if a, all := p.client.(*aggregate); all {
		return a.seen(&p.caller)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.lists)
}

// tellOfOthers tells the client of those lists that it sees otherwise than before a change of access.
func (p *presence) tellOfOthers(before map[catalogue.Kind]mark, change uint64) {
	for i := range listings {
		l := &listings[i]
		if was, seen := before[l.kind]; seen && p.isOther(l, was, change) {
			p.client.tellChanged(l)
		}
	}
}

// isOther reports whether the client is to be told that it sees a list otherwise than it was before a change of
// access. It is not if it was told since: of another list with the same notification, or of what a later change
// has made of this list.
func (p *presence) isOther(l *listing, was mark, change uint64) bool {
	p.comparing.Lock()
	defer p.comparing.Unlock()
	if p.told[l.changed] >= change {
		return false
	}
	newest := p.gateway.countAccessChanges()
	now, known := p.client.sees(&p.caller, l)
	for n := p.gateway.countAccessChanges(); n != newest; n = p.gateway.countAccessChanges() {
		newest = n // which of them it has seen is not known
		now, known = p.client.sees(&p.caller, l)
	}
	if !known || now == was {
		return false
	}
	if p.told == nil {
		p.told = make(map[string]uint64)
	}
	p.told[l.changed] = newest
	return true
}

// seesAt returns how a caller sees a list of a server, which is asked for it if it is connected and its list
// is not known.
func (g *Gateway) seesAt(u *upstream, c *policy.Caller, l *listing) (m mark, known bool) {
	switch {
	case u == nil:
		return m, false
	case !g.reaches(c, u.server.Name):
		return m, true
	}
	session := u.session()
	if session.Status().State == status.Connected {
		ctx := policy.WithCaller(host.WithOptions(u.ctx, host.RequestOptions{Unattended: true}), c)
		if l.ask(ctx, session) != nil {
			return m, false
		}
	}
	snapshot := session.Snapshot()
	if snapshot == nil {
		return m, false
	}
	list, known := snapshot.Lists[l.kind]
	return m.with(l, g.host.Shown(c, u.server.Name, l.kind, list.Items)), known
}

func (c *legacyClient) sees(caller *policy.Caller, l *listing) (mark, bool) {
	c.mu.Lock()
	u := c.server
	c.mu.Unlock()
	return c.gateway.seesAt(u, caller, l)
}

func (c *legacyClient) tellChanged(l *listing) {
	if c.awaitResultSent(c.ctx) == nil {
		c.channel.notify(c.ctx, l.changed, nil)
	}
}

func (c *modernClient) sees(caller *policy.Caller, l *listing) (mark, bool) {
	c.mu.Lock()
	u := c.server
	c.mu.Unlock()
	return c.gateway.seesAt(u, caller, l)
}

// tellChanged tells the client on each of its streams that reports changes of the list.
func (c *modernClient) tellChanged(l *listing) {
	c.streams.mu.Lock()
	open := slices.Clone(c.streams.open)
	c.streams.mu.Unlock()
	for _, s := range open {
		if honoured := s.subscription.Honoured(); l.wanted(&honoured) {
			s.request.channel.notify(c.ctx, l.changed, s.request.withSubscriptionID(nil))
		}
	}
}

// uses returns the servers that the client uses.
func (a *aggregate) uses() []string {
	names := []string{}
	for _, b := range a.connectedBackends() {
		names = append(names, b.server.Name)
	}
	return names
}

// seen returns how a caller sees the lists that the client has asked for.
func (a *aggregate) seen(c *policy.Caller) map[catalogue.Kind]mark {
	seen := make(map[catalogue.Kind]mark)
	for i := range listings {
		if m, known := a.sees(c, &listings[i]); known {
			seen[listings[i].kind] = m
		}
	}
	return seen
}

func (a *aggregate) sees(c *policy.Caller, l *listing) (m mark, known bool) {
	a.mu.Lock()
	known = a.listedKinds[l.kind]
	a.mu.Unlock()
	if !known {
		return m, false
	}
	lists := a.visible(&request{caller: c}, l, a.servers.merged(l))
	if l.kind == catalogue.Tools && a.gateway.searches(lists) {
		return m, true // the client is listed the tools that search
	}
	for _, list := range lists {
		m = sha256.Sum256(append(m[:], list.mark[:]...))
		if a.gateway.reaches(c, list.server) && a.lacksList(list.server, l) {
			m = sha256.Sum256(append(m[:], list.server...)) // it sees what that server will list
		}
	}
	return m, true
}

func (a *aggregate) tellChanged(l *listing) { a.notifyListChanged(l) }
