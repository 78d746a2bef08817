package gateway

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/policy"
)

// copies owns the sessions of a gateway with its servers, and decides which clients share one. Only
// copies knows how many clients use a server.
type copies struct {
	gateway *Gateway
	idle    time.Duration // copyIdle, but for tests

	evicting sync.Mutex // see removeClients

	mu      sync.Mutex
	last    uint64                   // the newest number of a tenant
	servers map[string][]*serverCopy // by the name of the server, oldest first
	divided map[string]bool          // whether a server's clients were divided, in this run or an earlier one
}

// streamPrincipal is the principal of all clients on streams: the user who runs the program.
// No httpPrincipal equals it.
const streamPrincipal = "stream"

func httpPrincipal(principal string) string { return "http:" + principal }

// isOwner reports whether a principal is the user who runs the program.
func isOwner(principal string) bool {
	return principal == streamPrincipal || principal == httpPrincipal("")
}

// origin says which principal a client belongs to, and whether it can be ended to make room.
type origin struct {
	principal string
	kind      policy.Kind // the way on which its requests come
	peer      string      // the address that they come from; "" is not known
	kept      *keptClient // nil for a client on a stream, which cannot be ended
	inTurn    bool        // it may use a session after another such client, see [Gateway.ServeBare]
}

// copyKey says which clients may use a copy, at once or in turn: clients of one principal with the same
// capabilities, whichever era they speak.
// The capabilities are part of the key because a server is told them once, and asks for nothing else.
type copyKey struct {
	principal    string
	capabilities [sha256.Size]byte // a hash of them
}

// Bounds of the copies of one server, unless its entry says otherwise. A divided copy, which its
// clients are leaving, does not count. A client over HTTP that left without a DELETE keeps its copy for
// a while, so the bounds are higher than what is in use.
const (
	maxProcesses  = 8  // of one principal, of a server that is a command
	maxElsewhere  = 64 // of one principal, of any other server
	maxPrincipals = 16 // times that: of all principals
)

// copyIdle is how long the clients of a copy have sent nothing before it makes room for another: an
// agent that thinks keeps its copy, and one that has gone without a word does not keep it for long.
const copyIdle = time.Minute

// join makes a client a tenant of a copy of its server: of a copy that it may share, or else of a new
// one. It starts no server. If the server has as many copies as it may have, join first ends the
// clients of the copy that has been idle for the longest time.
func (all *copies) join(u *upstream) (*tenant, error) {
	for {
		t, err := all.tryJoin(u)
		var full *tooManyCopies
		if !errors.As(err, &full) || !all.makeRoom(u, full.own) {
			return t, err
		}
	}
}

// tryJoin is join without that. It returns a *tooManyCopies if no copy is free.
func (all *copies) tryJoin(u *upstream) (*tenant, error) {
	key := copyKey{u.principal, hashCapabilities(u.capabilities)}
	for _, c := range all.of(u.server.Name) {
		c.checkTasks()
	}
	dividedBefore := sharesUntilDivided(&u.server) && all.gateway.servers.snapshot(u.server.Name).Divided != ""
	all.mu.Lock()
	defer all.mu.Unlock()
	all.last++
	shared := all.sharedLocked(&u.server, dividedBefore)
	own, total := 0, 0
	for _, c := range all.servers[u.server.Name] {
		if t := c.admit(u, key, all.last, shared); t != nil {
			return t, nil
		}
		if c.isDivided() {
			continue
		}
		if total++; c.key.principal == u.principal {
			own++
		}
	}
	if most := mostCopies(&u.server); own >= most || total >= most*maxPrincipals {
		return nil, &tooManyCopies{u.server.Name, most, own >= most}
	}
	c, err := newServerCopy(all, u, key, shared)
	if err != nil {
		return nil, err
	}
	if all.servers == nil {
		all.servers = make(map[string][]*serverCopy)
	}
	all.servers[u.server.Name] = append(all.servers[u.server.Name], c)
	return c.admit(u, key, all.last, shared), nil
}

// of returns the copies of a server, oldest first.
func (all *copies) of(server string) []*serverCopy {
	all.mu.Lock()
	defer all.mu.Unlock()
	return slices.Clone(all.servers[server])
}

// makeRoom ends a copy that no client uses and that runs no task, or else the clients of the copy that has been
// idle for the longest time. If own is set, it looks only at copies of the principal of u. It waits until the clients
// have ended. It returns false if no copy is idle.
func (all *copies) makeRoom(u *upstream, own bool) bool {
	for _, c := range all.of(u.server.Name) {
		if (!own || c.key.principal == u.principal) && !c.held.any() && c.endUnused() {
			return true
		}
	}
	type idleCopy struct {
		clients []*keptClient
		since   time.Time
	}
	var idle []idleCopy
	for _, c := range all.of(u.server.Name) {
		if own && c.key.principal != u.principal || c.isDivided() {
			continue
		}
		if clients, since := c.idle(); len(clients) > 0 && time.Since(since) >= all.idle && !slices.Contains(clients, u.kept) {
			idle = append(idle, idleCopy{clients, since})
		}
	}
	slices.SortStableFunc(idle, func(a, b idleCopy) int { return a.since.Compare(b.since) })
	for _, c := range idle {
		removed := all.removeClients(u, c.clients)
		for _, kept := range removed {
			kept.handler.end(kept)
		}
		if len(removed) > 0 {
			return true
		}
	}
	return false
}

// removeClients removes those of the clients that are still idle, and returns them. The caller must end
// them. It removes none if the client of u has been removed itself: two clients that wait for each
// other's end would wait for ever.
func (all *copies) removeClients(u *upstream, clients []*keptClient) (removed []*keptClient) {
	all.evicting.Lock()
	defer all.evicting.Unlock()
	if u.kept != nil && u.kept.isEvicted() {
		return nil
	}
	for _, kept := range clients {
		if kept.handler.removeIfIdle(kept) {
			removed = append(removed, kept)
		}
	}
	return removed
}

// sharesUntilDivided reports whether clients of a server share copies of it until they are divided. They
// do if the entry does not say and the server is a command, to avoid a process for each client. Any
// other server costs this machine next to nothing for one session more.
func sharesUntilDivided(s *host.Server) bool {
	return cmp.Or(s.Share, config.ShareAuto) == config.ShareAuto && s.Command != ""
}

// sharedLocked reports whether clients of a server share copies of it. dividedBefore says that an earlier
// run has divided them. The caller holds mu.
func (all *copies) sharedLocked(s *host.Server, dividedBefore bool) bool {
	if !sharesUntilDivided(s) {
		return s.Share == config.ShareYes
	}
	divided, known := all.divided[s.Name]
	if !known {
		divided = dividedBefore
		all.setDividedLocked(s.Name, divided)
	}
	return !divided
}

func (all *copies) setDividedLocked(server string, divided bool) {
	if all.divided == nil {
		all.divided = make(map[string]bool)
	}
	all.divided[server] = divided
}

// divide gives each client of a server a copy of its own from now on. It keeps that for later runs,
// and warns the user with why.
func (all *copies) divide(c *serverCopy, why string) {
	all.mu.Lock()
	if !all.divided[c.server.Name] {
		all.gateway.counts.divided.Add(1)
	}
	all.setDividedLocked(c.server.Name, true)
	all.mu.Unlock()
	c.session.Divide(why)
	all.gateway.host.Warn(c.server.Name, why+"; from now on each client has a copy of it")
}

func mostCopies(s *host.Server) int {
	switch {
	case s.Copies > 0:
		return s.Copies
	case s.Command != "":
		return maxProcesses
	}
	return maxElsewhere
}

// tooManyCopies is the error for a bound on copies.
type tooManyCopies struct {
	server string
	most   int
	own    bool // the principal's own bound is reached, not that of all, for which others must leave
}

func (e *tooManyCopies) Error() string {
	if !e.own {
		return fmt.Sprintf("%s runs %d times for all users of this gateway, all in use, which is the most: write copies = %d in its entry in wharf.toml, or wait until others have left", e.server, e.most*maxPrincipals, e.most+1)
	}
	return fmt.Sprintf("%s runs %d times for clients that cannot share it, all in use, which is the most: end one of them, or write copies = %d in its entry in wharf.toml", e.server, e.most, e.most+1)
}

// endUnused ends the copies that no client uses.
func (all *copies) endUnused() {
	all.mu.Lock()
	unused := slices.Concat(slices.Collect(maps.Values(all.servers))...)
	all.mu.Unlock()
	for _, c := range unused {
		c.endUnused()
	}
}

// remove removes a copy that no client uses any more.
func (all *copies) remove(c *serverCopy) {
	all.mu.Lock()
	defer all.mu.Unlock()
	name := c.server.Name
	all.servers[name] = slices.DeleteFunc(all.servers[name], func(other *serverCopy) bool { return other == c })
}
