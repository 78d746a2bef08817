//go:build !wasip1

package main

import (
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/examples/internal/exampletest"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/plugintest/restarttest"
	"github.com/wharf-mcp/wharf/internal/testenv"
)

// published is the module in C, which `wharf plugin add websocket` installs.
const published = "../transport-websocket-c/websocket.wasm"

// each runs a test with the published module, and with the one of this folder, which is
// held to it host call by host call (host/internal/guest: FuzzWebSocketTwins).
func each(t *testing.T, test func(t *testing.T, files map[string]string)) {
	t.Run("C", func(t *testing.T) {
		file, err := filepath.Abs(published)
		if err != nil {
			t.Fatal(err)
		}
		test(t, map[string]string{"websocket": file})
	})
	t.Run("Go", func(t *testing.T) {
		if testing.Short() {
			t.Skip("builds the module, which takes a while")
		}
		test(t, map[string]string{"websocket": testenv.Plugin(t, ".")})
	})
}

func newHost(t *testing.T, files map[string]string) *host.Host {
	t.Helper()
	return exampletest.Host(t, exampletest.Config(t, files))
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
	if got := result.Content[0].Text; got != "Echo: "+message {
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

func TestSandbox(t *testing.T) { each(t, sandbox) }

func sandbox(t *testing.T, files map[string]string) {
	h := newHost(t, files)
	many := 50_000 // 800 KB: more than is read, queued or handed over at once
	if testenv.Long() {
		many = 300_000
	}
	for _, size := range []int{7, 4096, 1 << 30} {
		s := connect(t, h, entry(serve(t, false, speak(size))))
		for range 3 {
			say(t, s, "Grüße, 世界 🚢")
		}
		if size > 7 {
			say(t, s, strings.Repeat("世界", 2*many))
		}
		if size > 4096 {
			say(t, s, strings.Repeat("0123456789abcde\n", many))
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A server that speaks HTTP/2 as well is asked in HTTP/1.1 all the same.
func TestWSS(t *testing.T) { each(t, overTLS) }

func overTLS(t *testing.T, files map[string]string) {
	h := newHost(t, files)
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
func TestSignIn(t *testing.T) { each(t, signIn) }

func signIn(t *testing.T, files map[string]string) {
	h := newHost(t, files)
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

// A server is killed with all its connections, and comes back.
func TestRestart(t *testing.T) { each(t, restart) }

func restart(t *testing.T, files map[string]string) {
	address := exampletest.Address(t)
	var peer *server
	restarttest.Run(t, restarttest.Trial{
		Config: exampletest.Config(t, files),
		Entry:  host.Server{Name: "board", Transport: "websocket", URL: "ws://" + address + "/mcp"},
		Start:  func(t *testing.T) { peer = at(t, address) },
		Kill:   func(*testing.T) { peer.kill() },
	})
}

// The command of a user carries it, and says who was not let in.
func TestCommand(t *testing.T) { each(t, command) }

func command(t *testing.T, files map[string]string) {
	open, guarded := serve(t, false, speak(1000)), serve(t, false, speak(1000))
	guarded.token = "s3cr3t"
	c := exampletest.NewCommand(t, fmt.Sprintf(`
[servers.board]
transport = "websocket"
url = %q
[servers.guarded]
transport = "websocket"
url = %q
auth = "none"
[servers.wrong]
transport = "websocket"
url = %[2]q
auth = { provider = "bearer", token = "a guess" }
`, entry(open).URL, entry(guarded).URL), files)
	c.Carries(t, "board")
	c.Unauthorized(t, "guarded", "HTTP 401: who are you?")
	c.Unauthorized(t, "wrong", "does not take the token")
}

// Whatever a server does that it must not, the connection ends with a reason, the
// server is told the code, and the host goes on.
func TestHostileServers(t *testing.T) { each(t, hostileServers) }

func hostileServers(t *testing.T, files map[string]string) {
	h := newHost(t, files)
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
						select {
						case told <- string(payload):
						default: // it is a later connection
						}
						return
					}
				}
			})
			err := ends(t, h, entry(peer))
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

// ends connects a server, and returns why that failed, or why the connection ended
// where the server answered before it went wrong.
func ends(t *testing.T, h *host.Host, e host.Server) error {
	t.Helper()
	w := h.Watch()
	defer w.Close()
	s, err := h.Connect(t.Context(), e)
	if err != nil {
		return err
	}
	defer s.Close()
	for {
		n, err := w.Next(t.Context())
		if err != nil {
			return err
		}
		if n.Name == e.Name && n.Err != nil {
			return n.Err
		}
	}
}

// A server that does not upgrade is quoted.
func TestNoWebSocket(t *testing.T) { each(t, noWebSocket) }

func noWebSocket(t *testing.T, files map[string]string) {
	h := newHost(t, files)
	peer := serve(t, false, speak(1))
	e := entry(peer)
	e.URL = strings.Replace(e.URL, "ws:", "http:", 1) // the same server, by its other name
	say(t, connect(t, h, e), "hello")

	peer.token = "unknown token"
	e.Name, e.Auth.Provider = "other", config.AuthNone
	_, err := h.Connect(t.Context(), e)
	if !errors.Is(err, host.ErrAuthRequired) || !strings.Contains(err.Error(), "HTTP 401") {
		t.Errorf("connecting ended with %v", err)
	}
}
