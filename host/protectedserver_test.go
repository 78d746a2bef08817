package host_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/signin"
	"github.com/wharf-mcp/wharf/internal/oauthtest"
)

// protectedServer is a site behind the guard of an authorization server.
type protectedServer struct {
	site
	*oauthtest.Resource
}

func newProtectedServer(t *testing.T, s *oauthtest.Server) *protectedServer {
	p := new(protectedServer)
	p.Resource = oauthtest.NewResource(t.Cleanup, s, &p.site)
	return p
}

func (p *protectedServer) entry(name string) host.Server { return host.Server{Name: name, URL: p.URL} }

// visitor is a person who agrees to everything, in a browser that goes where it
// is sent. What they saw is known by the name of the server.
type visitor struct {
	before func(p signin.Page) // what happens before they look at the page

	mu    sync.Mutex
	pages map[string][]string
}

func (v *visitor) open(ctx context.Context, p signin.Page) error {
	v.mu.Lock()
	if v.pages == nil {
		v.pages = map[string][]string{}
	}
	v.pages[p.Server] = append(v.pages[p.Server], p.URL)
	v.mu.Unlock()
	if v.before != nil {
		v.before(p)
	}
	_, err := surf(ctx, p.URL)
	return err
}

func (v *visitor) saw(server string) []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.pages[server])
}

// surf goes where a URL leads, and returns the status of the end.
func surf(ctx context.Context, address string) (status int, err error) {
	r, err := http.NewRequestWithContext(ctx, "GET", address, nil)
	if err != nil {
		return 0, err
	}
	browser := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := browser.Do(r)
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, resp.Body.Close()
}

// spied is a server that must not be called.
func spied(t *testing.T) (url string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		t.Errorf("a request arrived where none may: %s %s %v %s", r.Method, r.URL, r.Header, body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}
