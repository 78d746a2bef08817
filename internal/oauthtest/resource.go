package oauthtest

import (
	"net/http"
	"slices"
	"strings"
	"sync"
)

// Resource is an MCP server behind a guard, which names the [Server] that signs people in. Where
// the client is another process, its fields are set by a function that [NewResource] is given: a
// request of such a client does not happen after what the test did, as the race detector sees it.
type Resource struct {
	URL      string                                                       // of the endpoint, which ends in /mcp
	Metadata func(m map[string]any)                                       // changes what it says of itself
	Refuse   func(token string, r *http.Request) (status int, why string) // in place of what the Server says; 0 lets in

	behind http.Handler
	mu     sync.Mutex
	server *Server
	seen   []string // Authorization of each message
}

// NewResource starts a resource in front of a handler, and calls the functions before its first
// request. It ends as a Server does.
func NewResource(cleanup func(func()), s *Server, behind http.Handler, set ...func(*Resource)) *Resource {
	p := &Resource{server: s, behind: behind}
	p.mu.Lock() // guard reads the fields after it had the lock
	defer p.mu.Unlock()
	p.URL = start(cleanup, http.HandlerFunc(p.guard)) + "/mcp"
	for _, f := range set {
		f(p)
	}
	return p
}

func (p *Resource) metadataURL() string {
	return strings.TrimSuffix(p.URL, "/mcp") + "/.well-known/oauth-protected-resource/mcp"
}

func (p *Resource) guard(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	server := p.server
	p.mu.Unlock()
	if strings.HasPrefix(r.URL.Path, "/.well-known/") {
		m := map[string]any{"resource": p.URL, "authorization_servers": []string{server.URL}}
		if p.Metadata != nil {
			p.Metadata(m)
		}
		if r.Host+r.URL.Path != strings.TrimPrefix(p.metadataURL(), "http://") {
			http.NotFound(w, r)
			return
		}
		Reply(w, 200, m)
		return
	}
	given := r.Header.Get("Authorization")
	p.mu.Lock()
	p.seen = append(p.seen, given)
	p.mu.Unlock()
	if status, why := p.judge(server, strings.TrimPrefix(given, "Bearer "), r); status != 0 {
		w.Header().Set("WWW-Authenticate", why)
		http.Error(w, "not with "+given, status)
		return
	}
	p.behind.ServeHTTP(w, r)
}

func (p *Resource) judge(s *Server, token string, r *http.Request) (status int, why string) {
	if p.Refuse != nil {
		return p.Refuse(token, r)
	}
	if s.Admits(token) {
		return 0, ""
	}
	return http.StatusUnauthorized, p.Challenge("")
}

// Challenge returns a WWW-Authenticate field that names the metadata of the resource and ends with
// more.
func (p *Resource) Challenge(more string) string {
	return `Bearer resource_metadata="` + p.metadataURL() + `"` + more
}

// Move gives the resource another server.
func (p *Resource) Move(s *Server) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.server = s
}

// Tokens returns the Authorization of each message.
func (p *Resource) Tokens() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.seen)
}
