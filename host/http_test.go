package host_test

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/internal/mcptest"
)

// streamable serves the SDK's server over Streamable HTTP. Sessions that no client
// ended go with the test.
func streamable(t *testing.T, o *mcp.StreamableHTTPOptions) http.Handler {
	s := mcptest.NewServer()
	t.Cleanup(func() {
		for session := range s.Sessions() {
			session.Close()
		}
	})
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, o)
}

func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// One url is enough: the era and the transport are found out.
func TestURLs(t *testing.T) {
	t.Parallel()
	legacySSE := mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return mcptest.NewServer() }, nil)
	for name, c := range map[string]struct {
		handler  http.Handler
		protocol string
		via      string
	}{
		"modern":         {streamable(t, nil), "", "http"},
		"legacy":         {streamable(t, nil), "legacy", "http"},
		"legacy, JSON":   {streamable(t, &mcp.StreamableHTTPOptions{JSONResponse: true}), "legacy", "http"},
		"stateless":      {streamable(t, &mcp.StreamableHTTPOptions{Stateless: true}), "legacy", "http"},
		"stateless JSON": {streamable(t, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}), "", "http"},
		"HTTP+SSE":       {legacySSE, "", "sse"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, host.Config{})
			entry := host.Server{Name: "remote", URL: serve(t, c.handler), Protocol: c.protocol}
			for range 2 { // the second time it is known
				s := connect(t, h, entry)
				say(t, s)
				if got := s.Info().Transport; got != c.via {
					t.Errorf("carried by %s", got)
				}
				var wg sync.WaitGroup
				for range 32 {
					wg.Go(func() { say(t, s) })
				}
				wg.Wait()
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// The time of a start is for all transports of a url: where it is over, no other is tried.
func TestStartOverSeveralTransports(t *testing.T) {
	var posts atomic.Int32
	ended := make(chan struct{})
	url := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			posts.Add(1)
		}
		select {
		case <-r.Context().Done():
		case <-ended:
		}
	}))
	t.Cleanup(func() { close(ended) })
	_, err := newHost(t, host.Config{}).Connect(t.Context(), host.Server{Name: "far", URL: url, Strategy: "sse-first", StartTimeout: short})
	if !errors.Is(err, host.ErrTimeout) || posts.Load() != 0 {
		t.Errorf("%v, and %d requests over HTTP", err, posts.Load())
	}
}

func TestHTTPOverAUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcp.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", streamable(t, nil))
	s := httptest.NewUnstartedServer(mux)
	s.Listener = l
	s.Start()
	t.Cleanup(s.Close)
	say(t, connect(t, newHost(t, host.Config{}), host.Server{Name: "sidecar", URL: "unix://" + path + "#/mcp"}))
}

// Configured headers go with every request.
func TestConfiguredHeaders(t *testing.T) {
	var mu sync.Mutex
	var missing []string
	inner := streamable(t, nil)
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Key") != "secret" || r.Header.Get("User-Agent") == "" {
			mu.Lock()
			missing = append(missing, r.Method)
			mu.Unlock()
		}
		inner.ServeHTTP(w, r)
	}))
	h := newHost(t, host.Config{})
	s := connect(t, h, host.Server{Name: "remote", URL: url, Headers: map[string]string{"X-Key": "secret"}, Protocol: "legacy"})
	say(t, s)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(missing) > 0 {
		t.Errorf("without the configured headers: %v", missing)
	}
}

// A server that restarts forgets its sessions; the next call begins another.
func TestServerForgetsTheSession(t *testing.T) {
	var mu sync.Mutex
	inner := streamable(t, nil)
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		now := inner
		mu.Unlock()
		now.ServeHTTP(w, r)
	}))
	s := connect(t, newHost(t, host.Config{}), host.Server{Name: "remote", URL: url, Protocol: "legacy"})
	say(t, s)
	mu.Lock()
	inner = streamable(t, nil)
	mu.Unlock()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { say(t, s) })
	}
	wg.Wait()
}

func TestHTTPErrors(t *testing.T) {
	t.Parallel()
	status := func(code int, header, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if header != "" {
				w.Header().Set("WWW-Authenticate", header)
			}
			http.Error(w, text, code)
		}
	}
	h := newHost(t, host.Config{})
	for name, c := range map[string]struct {
		handler http.Handler
		kind    error
		want    []string
	}{
		"sign-in":    {status(401, `Bearer realm="x"`, "who are you"), host.ErrAuthRequired, []string{"HTTP 401", "who are you", "Bearer"}},
		"fault":      {status(500, "", "out of cheese"), host.ErrUnreachable, []string{"HTTP 500", "out of cheese"}},
		"nothing":    {status(404, "", "nothing here"), host.ErrUnreachable, []string{"HTTP 404"}},
		"a web page": {http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("<html>hello</html>")) }), host.ErrUnreachable, []string{"text/html"}},
	} {
		s, err := h.Connect(t.Context(), host.Server{Name: "remote", URL: serve(t, c.handler)})
		if err == nil {
			s.Close()
		}
		if !errors.Is(err, c.kind) {
			t.Errorf("%s: %v is no %v", name, err, c.kind)
			continue
		}
		for _, want := range append(c.want, "remote") {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q does not say %q", name, err, want)
			}
		}
	}
	l := ownPort(t) // where no other server comes after us
	l.Close()
	if _, err := h.Connect(t.Context(), host.Server{Name: "gone", URL: "http://" + l.Addr().String()}); !errors.Is(err, host.ErrUnreachable) {
		t.Errorf("without a listener: %v", err)
	}
}

// An error of the server has the status of the response that it came in.
func TestStatusOfAnError(t *testing.T) {
	site := &site{tools: map[string]answer{"no": page(400, mediaJSON, `{"jsonrpc":"2.0","id":%ID%,"error":{"code":-32602,"message":"no"}}`)}}
	s := connect(t, newHost(t, host.Config{}), host.Server{Name: "remote", URL: serve(t, site), Protocol: "2026-07-28"})
	var no *host.RPCError
	if _, err := s.CallTool(t.Context(), "no", nil); !errors.As(err, &no) || no.HTTP != 400 || no.Code != -32602 {
		t.Errorf("%v, %+v", err, no)
	}
}
