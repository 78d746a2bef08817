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

// copies are the sessions of a gateway with its servers, and decide which clients share one. They are
// the one place that knows how many clients use a server.
type copies struct {
	gateway *Gateway

	mu      sync.Mutex
	last    uint64                   // the newest number of a tenant
	servers map[string][]*serverCopy // by the name of the server, oldest first
	divided map[string]bool          // which servers have divided their clients, in this run or an earlier one
}

// streamPrincipal is whose the clients on streams are: the one who runs the program. It is no
// httpPrincipal.
const streamPrincipal = "stream"

func httpPrincipal(principal string) string { return "http:" + principal }

// copyKey says which clients may share a copy: those of one principal that offer the same. A server is
// told once what its client offers, and asks for nothing else.
type copyKey struct {
	principal    string
	capabilities [sha256.Size]byte // a hash of them
}

// Bounds of the copies of one server, unless its entry says otherwise. Those that clients leave because
// they were divided do not count. A client over HTTP that has gone without a word keeps its copy for
// a while, so there is room for a few more than anyone uses.
const (
	maxProcesses  = 8  // of one principal, of a server that is a command
	maxElsewhere  = 64 // of one principal, of any other server
	maxPrincipals = 16 // times that: of all principals
)

// join gives a client a place in a copy of its server: in one that it may share, or else in a copy of
// its own. Nothing is started.
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

// sharedLocked reports whether clients of a server share copies of it. Without a word of the user they
// share a command, which would else be a process for each of them, until that turns out to need a
// client of its own. Elsewhere a session costs this machine next to nothing. The caller holds mu.
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

// divide has each client of a server have a copy of its own from now on.
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

// tooManyCopies says what to do about a bound. Of all principals it is reached by other people, who
// have to be waited for.
func tooManyCopies(s *host.Server, most int, own bool) error {
	if !own {
		return fmt.Errorf("%s runs %d times for all users of this gateway, which is the most: write copies = %d in its entry in wharf.toml, or wait until others have left", s.Name, most*maxPrincipals, most+1)
	}
	return fmt.Errorf("%s runs %d times for clients that cannot share it, which is the most: end one of them, or write copies = %d in its entry in wharf.toml", s.Name, most, most+1)
}

// remove takes out a copy that no client uses any more.
func (all *copies) remove(c *serverCopy) {
	all.mu.Lock()
	defer all.mu.Unlock()
	name := c.server.Name
	all.servers[name] = slices.DeleteFunc(all.servers[name], func(other *serverCopy) bool { return other == c })
}
