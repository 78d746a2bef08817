package host_test

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/internal/testenv"
)

const (
	socketPackage  = "../examples/transport-socket"
	hostilePackage = "./internal/guest/testdata/hostile"
)

func pluginFile(name, file string) map[string]config.Plugin {
	return map[string]config.Plugin{name: {Name: name, File: file}}
}

func hashOf(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// listen serves every connection to a socket with the raw server.
func listen(t *testing.T, network string) (address string) {
	t.Helper()
	at := "127.0.0.1:0"
	if network == "unix" {
		at = filepath.Join(t.TempDir(), "loft.sock")
	}
	l, err := net.Listen(network, at)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	t.Cleanup(func() { l.Close(); wg.Wait() })
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer conn.Close()
				serveConn(bufio.NewReader(conn), bufio.NewWriter(conn), true)
			})
		}
	})
	return network + ":" + l.Addr().String()
}

// A transport that is not compiled in reaches a server over a socket.
func TestTransportFromAFile(t *testing.T) {
	file := testenv.Plugin(t, socketPackage)
	h := newHost(t, host.Config{Files: map[string]config.Plugin{
		"pigeon": {Name: "pigeon", File: file, SHA256: hashOf(t, file)},
	}})
	for _, network := range []string{"unix", "tcp"} {
		s := connect(t, h, host.Server{Name: "loft", Transport: "pigeon", Address: listen(t, network)})
		say(t, s)
		if got := s.Info().Transport; got != "pigeon" {
			t.Errorf("carried by %s", got)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestAlteredFileIsRefused(t *testing.T) {
	file := testenv.Plugin(t, socketPackage)
	h := newHost(t, host.Config{Files: map[string]config.Plugin{
		"pigeon": {Name: "pigeon", File: file, SHA256: strings.Repeat("0", 64)},
	}})
	_, err := h.Connect(t.Context(), host.Server{Name: "loft", Transport: "pigeon", Address: "tcp:127.0.0.1:1"})
	if !errors.Is(err, host.ErrDenied) || !strings.Contains(host.Hint(err), hashOf(t, file)) {
		t.Errorf("connecting ended with %v (hint %q)", err, host.Hint(err))
	}
}

// Without the grant the plugin cannot open anything, and the hint is what to
// write to change that.
func TestMissingGrantIsDenied(t *testing.T) {
	t.Parallel()
	file := testenv.Plugin(t, socketPackage)
	h := newHost(t, host.Config{Files: map[string]config.Plugin{"pigeon": {Name: "pigeon", File: file}}})
	_, err := h.Connect(t.Context(), host.Server{Name: "loft", Transport: "pigeon", Command: "true"})
	if !errors.Is(err, host.ErrDenied) {
		t.Errorf("connecting ended with %v", err)
	}
	for _, want := range []string{"[servers.loft]", "address = "} {
		if !strings.Contains(host.Hint(err), want) {
			t.Errorf("the hint %q lacks %q", host.Hint(err), want)
		}
	}
}

func TestUnusableFiles(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text.wasm")
	if err := os.WriteFile(text, []byte("this is no module"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := newHost(t, host.Config{Files: map[string]config.Plugin{
		"text": {Name: "text", File: text},
		"gone": {Name: "gone", File: filepath.Join(t.TempDir(), "gone.wasm")},
	}})
	_, err := h.Connect(t.Context(), host.Server{Name: "loft", Transport: "text"})
	if !errors.Is(err, host.ErrPluginRefused) || !strings.Contains(err.Error(), "text") {
		t.Errorf("a text file: %v", err)
	}
	_, err = h.Connect(t.Context(), host.Server{Name: "loft", Transport: "gone"})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

func TestInspect(t *testing.T) {
	t.Parallel()
	file := testenv.Plugin(t, socketPackage)
	h := newHost(t, host.Config{})
	info, err := h.Inspect(t.Context(), file, nil)
	if err != nil {
		t.Fatal(err)
	}
	if info.Manifest == nil || info.Manifest.Name == "" || info.SHA256 != hashOf(t, file) || len(info.Findings) > 0 {
		t.Errorf("%+v", info)
	}
}

// A hostile plugin loses its own connection, its name is in the error, and a
// session beside it goes on.
func TestHostilePluginHarmsNoOther(t *testing.T) {
	t.Parallel()
	file := testenv.Plugin(t, hostilePackage)
	h := newHost(t, host.Config{Files: map[string]config.Plugin{"hostile": {Name: "hostile", File: file}}})
	good := connect(t, h, server("modern"))
	address := listen(t, "tcp")
	for _, mode := range []string{"spin", "fib", "recurse", "memory", "panic", "flood", "opens", "pointer", "window"} {
		entry := host.Server{Name: "bad", Transport: "hostile", Address: address, Settings: map[string]string{"mode": mode}}
		entry.Protocol = "2026-07-28"
		s, err := h.Connect(t.Context(), entry)
		if err == nil {
			_, err = s.CallTool(t.Context(), "echo", nil)
			s.Close()
		}
		var broken *host.PluginError
		if !errors.As(err, &broken) || broken.Plugin != "hostile" {
			t.Errorf("%s: ended with %v", mode, err)
		}
		say(t, good)
	}
}
