package gateway

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
)

// copies owns the sessions of a gateway with its servers, and decides which clients share one. Only
// copies knows how many clients use a server.
type copies struct {
	gateway *Gateway

	mu      sync.Mutex
	last    uint64                   // the newest number of a tenant
	servers map[string][]*serverCopy // by the name of the server, oldest first
	divided map[string]bool          // whether a server's clients were divided, in this run or an earlier one
}

// streamPrincipal is the principal of all clients on streams: the user who runs the program.
// No httpPrincipal equals it.
const streamPrincipal = "stream"

func httpPrincipal(principal string) string { return "http:" + principal }

// copyKey says which clients may share a copy: clients of one principal with the same capabilities.
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

// join makes a client a tenant of a copy of its server: of a copy that it may share, or else of a new
// one. It starts no server.
func (all *copies) join(u *upstream) (*tenant, error) {
	key := copyKey{u.principal, sha256.Sum256(u.capabilities)}
	all.mu.Lock()
	present := slices.Clone(all.servers[u.server.Name])
	all.mu.Unlock()
	for _, c := range present {
		c.checkTasks()
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	all.last++
	shared := all.sharedLocked(&u.server)
	own, total := 0, 0
	for _, c := range all.servers[u.server.Name] {
		if shared {
			if t := c.admit(u, key, all.last); t != nil {
				return t, nil
			}
		}
		if c.isDivided() {
			continue
		}
		if total++; c.key.principal == u.principal {
			own++
		}
	}
	if most := mostCopies(&u.server); own >= most || total >= most*maxPrincipals {
		return nil, tooManyCopies(&u.server, most, own >= most)
	}
	c, err := newServerCopy(all, u, key, shared)
	if err != nil {
		return nil, err
	}
	if all.servers == nil {
		all.servers = make(map[string][]*serverCopy)
	}
	all.servers[u.server.Name] = append(all.servers[u.server.Name], c)
	return c.admit(u, key, all.last), nil
}

// sharedLocked reports whether clients of a server share copies of it. If the entry does not say, they
// share a command, to avoid a process for each client, until the clients of that server are divided.
// They do not share any other server: there a session costs this machine next to nothing. The caller
// holds mu.
func (all *copies) sharedLocked(s *host.Server) bool {
	if cmp.Or(s.Share, config.ShareAuto) != config.ShareAuto {
		return s.Share == config.ShareYes
	}
	if s.Command == "" {
		return false
	}
	divided, asked := all.divided[s.Name]
	if !asked {
		divided = all.gateway.snapshot(s.Name).Divided != ""
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

// tooManyCopies returns the error for a bound on copies. own says that the principal's own bound is
// reached. Otherwise it is the bound on all principals, and the user may have to wait for other
// people.
func tooManyCopies(s *host.Server, most int, own bool) error {
	if !own {
		return fmt.Errorf("%s runs %d times for all users of this gateway, which is the most: write copies = %d in its entry in wharf.toml, or wait until others have left", s.Name, most*maxPrincipals, most+1)
	}
	return fmt.Errorf("%s runs %d times for clients that cannot share it, which is the most: end one of them, or write copies = %d in its entry in wharf.toml", s.Name, most, most+1)
}

// remove removes a copy that no client uses any more.
func (all *copies) remove(c *serverCopy) {
	all.mu.Lock()
	defer all.mu.Unlock()
	name := c.server.Name
	all.servers[name] = slices.DeleteFunc(all.servers[name], func(other *serverCopy) bool { return other == c })
}
