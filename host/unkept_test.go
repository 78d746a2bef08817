package host_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/internal/testenv"
	"github.com/wharf-mcp/wharf/plugins"
)

// TestAHostWithoutAPlaceForItsCache connects all the same, and says once what that
// costs.
func TestAHostWithoutAPlaceForItsCache(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	if err := os.WriteFile(home, nil, 0o600); err != nil { // no user can make a folder in it, not even root
		t.Fatal(err)
	}
	warned := make(chan string, 8)
	h, err := host.New(t.Context(), host.Config{
		Plugins: plugins.Builtin(), CacheDir: filepath.Join(home, "cache"), CatalogueDir: filepath.Join(home, "catalogue"), OneShot: true,
		Reconnect: onDemand, StartTimeout: -1,
		Event: func(e host.Event) { warned <- e.Warning },
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := connect(t, h, server("sdk")).ListTools(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if text := <-warned; !strings.HasPrefix(text, "plugins are compiled anew each time: plugin cache: ") || len(warned) > 0 {
		t.Errorf("warned of %q, and %d times more", text, len(warned))
	}
	if err := host.CheckCache(filepath.Join(home, "cache")); err == nil {
		t.Error("the place was found good")
	}
}

// TestAHostThatCannotKeepLists says so once, however many servers list something.
func TestAHostThatCannotKeepLists(t *testing.T) {
	file := filepath.Join(t.TempDir(), "catalogue")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	warned := make(chan string, 8)
	h, err := host.New(t.Context(), host.Config{
		Plugins: plugins.Builtin(), CacheDir: testenv.CodeDir(), CatalogueDir: file, Reconnect: onDemand,
		Event: func(e host.Event) { warned <- e.Warning },
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"legacy", "sdk"} {
		if _, err := connect(t, h, server(name)).ListTools(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if text := <-warned; !strings.Contains(text, file) || len(warned) > 0 {
		t.Errorf("warned of %q, and %d times more", text, len(warned))
	}
}

// TestCompilingIsNotTheServersTime: a server that was never ready in time leaves the
// plugins behind that its entry names, compiled.
func TestCompilingIsNotTheServersTime(t *testing.T) {
	signed := server("silent")
	signed.Auth = config.Auth{Provider: "bearer", Variables: []string{"TOKEN"}, Settings: map[string]any{"token": "coo"}}
	for name, try := range map[string]func(h *host.Host, entry host.Server){
		"connect": func(h *host.Host, entry host.Server) {
			if _, err := h.Connect(t.Context(), entry); !errors.Is(err, host.ErrTimeout) {
				t.Errorf("got %v, want a server that is late", err)
			}
		},
		"prepare": func(h *host.Host, entry host.Server) { h.Prepare(t.Context(), entry) },
	} {
		for compiled, entry := range map[int]host.Server{1: server("silent"), 3: signed} { // Extism has a module of its own
			if (name == "prepare") == (compiled > 1) && !testenv.Long() {
				continue // each compiles all that it loads
			}
			dir := filepath.Join(t.TempDir(), "cache")
			h, err := host.New(t.Context(), host.Config{
				Plugins: plugins.Builtin(), CacheDir: dir, OneShot: true, Reconnect: onDemand, StartTimeout: time.Nanosecond,
			})
			if err != nil {
				t.Fatal(err)
			}
			try(h, entry)
			if err := h.Close(); err != nil {
				t.Error(err)
			}
			if kept, _ := filepath.Glob(filepath.Join(dir, "native", "*", "*")); len(kept) != compiled {
				t.Errorf("%s: kept %v, want %d", name, kept, compiled)
			}
		}
	}
}
