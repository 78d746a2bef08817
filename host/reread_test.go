package host_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/vault"
	"github.com/wharf-mcp/wharf/internal/mcptest"
	"github.com/wharf-mcp/wharf/plugins"
)

// A token that was replaced in its file or in the vault is read anew when the server refuses the old one: the connection
// stays, and no call fails. A token that is refused too is an error that says where to put another.
func TestATokenIsReplacedUnderAConnection(t *testing.T) {
	t.Parallel()
	dir, file := vaultDir(t), filepath.Join(t.TempDir(), "token")
	h := newHost(t, host.Config{Plugins: plugins.Builtin(), VaultDir: dir})
	put := func(token string) {
		t.Helper()
		err := os.WriteFile(file, []byte(token+"\n"), 0o600)
		if err = errors.Join(err, vault.Open(vault.Config{Dir: dir}).StoreSecret(t.Context(), "mine", token)); err != nil {
			t.Fatal(err)
		}
	}
	bearer := func(r config.Reference) host.Server {
		return signed("", "bearer", map[string]any{"token": r})
	}
	header := func(value string) host.Server {
		return host.Server{Name: "guarded", Headers: map[string]string{"Authorization": "Bearer " + value}}
	}
	for name, served := range map[string]struct {
		handler  http.Handler
		protocol string
	}{
		"modern":   {streamable(t, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}), ""},
		"legacy":   {streamable(t, nil), "legacy"},
		"HTTP+SSE": {mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return mcptest.NewServer() }, nil), ""},
	} {
		for want, entry := range map[string]host.Server{
			"put a token that is valid where auth.token of guarded leads": bearer(config.Reference{File: file}),
			"where auth.token of guarded leads":                           bearer(config.Reference{Secret: "mine"}),
			"read just now: put a valid one where its entry leads":        header("${secret:mine}"),
			"put a valid one where its entry leads":                       header("${file:" + file + "}"),
		} {
			g := &guarded{Handler: served.handler}
			g.token.Store("one")
			put("one")
			entry.URL, entry.Protocol = serve(t, g), served.protocol
			s := connect(t, h, entry)
			say(t, s)
			before := g.refused.Load()

			put("two")
			g.token.Store("two")
			var all sync.WaitGroup
			for range 4 {
				all.Go(func() { say(t, s) })
			}
			all.Wait()
			if g.refused.Load() == before {
				t.Errorf("%s, %s: nothing was refused", name, want)
			}
			if n := h.Counts().Reconnected; n != 0 {
				t.Errorf("%s, %s: reconnected %d times", name, want, n)
			}

			g.token.Store("three")
			_, err := s.CallTool(t.Context(), "echo", map[string]string{"message": "x"})
			if !errors.Is(err, host.ErrAuthRequired) || !strings.Contains(host.Hint(err), want) {
				t.Errorf("%s: %v, hint %q, want %q", name, err, host.Hint(err), want)
			}
			put("three")
			say(t, s)
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
