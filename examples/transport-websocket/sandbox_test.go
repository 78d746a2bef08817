//go:build !wasip1

package main

import (
	"encoding/pem"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/plugins"
)

// module is what the folder gives when it is built, once for all tests.
var module = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "websocket")
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "websocket.wasm")
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-ldflags=-s -w", "-o", file, ".")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=")
	if said, err := cmd.CombinedOutput(); err != nil {
		return "", errors.New(string(said))
	}
	return file, nil
})

// newHost returns a host that has the plugin, and reaches a server that it has
// lost again when somebody calls it.
func newHost(t *testing.T) *host.Host {
	t.Helper()
	if testing.Short() {
		t.Skip("builds the module, which takes a while")
	}
	file, err := module()
	if err != nil {
		t.Fatal(err)
	}
	cache, err := host.DefaultCacheDir()
	if err != nil {
		t.Skip(err)
	}
	h, err := host.New(t.Context(), host.Config{
		Plugins:   plugins.Builtin(),
		Files:     map[string]config.Plugin{"websocket": {Name: "websocket", File: file}},
		Reconnect: host.Policy{Ladder: []time.Duration{}, Failures: -1},
		CacheDir:  cache + "-test",
		VaultDir:  t.TempDir(),
		OneShot:   true,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

// entry leads to the server as an entry of a configuration would.
func entry(s *server) host.Server {
	return host.Server{Name: "board", Transport: "websocket", Timeout: -1, URL: "ws" + strings.TrimPrefix(s.URL, "http") + "/mcp"}
}

func say(t *testing.T, s *host.Session, message string) {
	t.Helper()
	result, err := s.CallTool(t.Context(), "echo", map[string]any{"message": message})
	if err != nil {
		t.Fatal(err)
	}
	if got := result.Content[0].Text; got != message {
		t.Errorf("%d bytes came back of %d", len(got), len(message))
	}
}

func connect(t *testing.T, h *host.Host, entry host.Server) *host.Session {
	t.Helper()
	s, err := h.Connect(t.Context(), entry)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSandbox(t *testing.T) {
	h := newHost(t)
	for _, size := range []int{7, 4096, 1 << 30} {
		s := connect(t, h, entry(serve(t, false, speak(size))))
		for range 3 {
			say(t, s, "Grüße, 世界 🚢")
		}
		if size > 7 {
			say(t, s, strings.Repeat("世界", 700_000))
		}
		if size > 4096 {
			say(t, s, strings.Repeat("0123456789abcde\n", 300_000))
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A server that speaks HTTP/2 as well is asked in HTTP/1.1 all the same.
func TestWSS(t *testing.T) {
	h := newHost(t)
	peer := serve(t, true, speak(1000))
	e := entry(peer)
	e.TLS.CA = filepath.Join(t.TempDir(), "ca.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: peer.Certificate().Raw})
	if err := os.WriteFile(e.TLS.CA, block, 0o600); err != nil {
		t.Fatal(err)
	}
	say(t, connect(t, h, e), "hello")
}

// Who signs in does so in the request that is upgraded, and the plugin knows of
// nothing.
func TestSignIn(t *testing.T) {
	h := newHost(t)
	peer := serve(t, false, speak(1000))
	peer.token = "s3cr3t"
	e := entry(peer)
	e.Auth = config.Auth{Provider: "bearer", Settings: map[string]any{"token": "s3cr3t"}}
	say(t, connect(t, h, e), "hello")
	e.Name, e.Auth.Settings = "other", map[string]any{"token": "wrong"}
	if _, err := h.Connect(t.Context(), e); err == nil || !strings.Contains(err.Error(), "does not take the token") {
		t.Errorf("connecting ended with %v", err)
	}
}

// A server that is killed and comes back is found by the next call.
func TestReconnect(t *testing.T) {
	h := newHost(t)
	w := h.Watch()
	defer w.Close()
	untilLost := func() {
		for lost := false; !lost; {
			n, err := w.Next(t.Context())
			lost = err != nil || n.State != host.StateConnected && n.Attempt > 0
		}
	}
	peer := serve(t, false, speak(1000))
	s := connect(t, h, entry(peer))
	say(t, s, "one")
	for range 2 {
		for n, err := w.Next(t.Context()); err == nil && n.State != host.StateConnected; n, err = w.Next(t.Context()) {
		}
		address := peer.Listener.Addr().String()
		peer.kill()
		untilLost()
		peer = again(t, address)
		say(t, s, "two")
	}
}

// Whatever a server does that it must not, the connection ends with a reason, the
// server is told the code, and the host goes on.
func TestHostileServers(t *testing.T) {
	h := newHost(t)
	good := connect(t, h, host.Server{Name: "good", Transport: "websocket", URL: entry(serve(t, false, speak(99))).URL})
	for _, s := range streams {
		if s.fail == "" {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			told := make(chan string, 1)
			peer := serve(t, false, func(p *peer) {
				p.message()
				p.send(s.data)
				for {
					first, payload, err := p.next()
					if err != nil || first == 0x88 {
						told <- string(payload)
						return
					}
				}
			})
			_, err := h.Connect(t.Context(), entry(peer))
			if _, want, _ := strings.Cut(s.fail, ": "); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("connecting ended with %v, want %s", err, want)
			}
			if got, want := <-told, s.sent[len(s.sent)-1][3:]; got != want {
				t.Errorf("the server was told % x, want % x", got, want)
			}
			say(t, good, "hello")
		})
	}
}

// A server that does not upgrade is quoted.
func TestNoWebSocket(t *testing.T) {
	h := newHost(t)
	peer := serve(t, false, speak(1))
	e := entry(peer)
	e.URL = strings.Replace(e.URL, "ws:", "http:", 1) // the same server, by its other name
	say(t, connect(t, h, e), "hello")

	peer.token = "nobody has it"
	e.Name, e.Auth.Provider = "other", config.AuthNone
	_, err := h.Connect(t.Context(), e)
	if err == nil || !strings.Contains(err.Error(), "HTTP 401") {
		t.Errorf("connecting ended with %v", err)
	}
}
