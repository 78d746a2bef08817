package gateway

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/wharf-mcp/wharf/host/cleantext"
)

// lacking has why servers cannot be used now, by their names. A list of all servers does not say that what one
// lists is missing.
type lacking struct {
	mu  sync.Mutex
	why map[string]string
}

// Lack says why a server cannot be used now, or with "" that it can. Clients of all servers as one that come from now
// on are told in their instructions.
func (g *Gateway) Lack(server, why string) {
	l := &g.lacking
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.why == nil {
		l.why = make(map[string]string)
	}
	if l.why[server] = why; why == "" {
		delete(l.why, server)
	}
}

// Bounds of what a client is told of servers that cannot be reached.
const (
	maxLacking    = 8   // servers that are named
	maxLackingWhy = 160 // bytes of each reason
)

// line returns the line of instructions that tells the sender of a request of the servers that cannot be reached
// now, or "". Why is for the user who runs the program alone.
func (l *lacking) line(a *aggregate, r *request) string {
	l.mu.Lock()
	why := maps.Clone(l.why)
	l.mu.Unlock()
	var list []string
	more := 0
	for _, name := range slices.Sorted(maps.Keys(why)) {
		text := cleantext.Line(name, 64)
		if isOwner(a.origin.principal) {
			first, _, _ := strings.Cut(why[name], "\n") // below it may be what the server wrote to its stderr
			text += " (" + cleantext.Line(first, maxLackingWhy) + ")"
		}
		switch {
		case !a.gateway.reaches(r.caller, name):
		case len(list) == maxLacking:
			more++
		default:
			list = append(list, text)
		}
	}
	if more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	if len(list) == 0 {
		return ""
	}
	return "These servers cannot be used now, so their tools are missing: " + strings.Join(list, "; ")
}
