package host_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/plugins"
)

// Where the patience with a server ends before its plugin lets messages pass, the
// error says so: the server was sent nothing.
func TestPluginThatIsNotUp(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() // it takes connections, and never says a word of TLS
	h := newHost(t, host.Config{Files: pluginFile("socket", "../examples/transport-socket-c/socket.wasm")})
	entry := host.Server{Name: "mute", Transport: "socket", Address: "tls:" + l.Addr().String()}
	says := func(name string, err error) {
		t.Helper()
		if !errors.Is(err, host.ErrTimeout) || !strings.Contains(err.Error(), "its plugin has not reported UP") || !strings.Contains(host.Hint(err), "start_timeout") {
			t.Errorf("%s: %v, hint: %s", name, err, host.Hint(err))
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	h.Prepare(ctx, entry)
	_, err = h.Connect(ctx, entry)
	says("the caller's time", err)
	entry.StartTimeout = time.Second
	_, err = h.Connect(t.Context(), entry)
	says("the server's time", err)
}

// A plugin that is loaded while a server starts has its own time for that. Here the provider is loaded
// when the server wants a sign-in, and that takes longer than the server may.
func TestLoadingIsNotTheServersTime(t *testing.T) {
	t.Parallel()
	const limit = time.Second
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	defer site.Close()
	other := newHost(t, host.Config{StartTimeout: limit})
	plugins := plugins.Builtin()
	plugins["oauth"] = func() []byte {
		if _, err := other.Connect(t.Context(), server("silent")); !errors.Is(err, host.ErrTimeout) { // a limit later
			t.Error(err)
		}
		return []byte("no module")
	}
	h := newHost(t, host.Config{Plugins: plugins, StartTimeout: limit})
	entry := host.Server{Name: "site", URL: site.URL}
	if err := h.Prepare(t.Context(), entry); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Connect(t.Context(), entry); errors.Is(err, host.ErrTimeout) || !strings.Contains(err.Error(), "oauth is no auth provider") {
		t.Error(err)
	}
}
