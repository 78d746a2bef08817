// Package exampletest has what the tests of the examples share: it builds plugins as
// their READMEs do, runs the wharf command, and starts and kills the programs that a
// plugin talks to.
package exampletest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/plugins"
)

// built has the file of each package that has been built. Each is built once.
var built sync.Map

// Module builds a plugin in Go, and returns its file.
func Module(t testing.TB, pkg string) string {
	t.Helper()
	return build(t, pkg, "plugin.wasm", []string{"GOOS=wasip1", "GOARCH=wasm", "GOFLAGS="},
		"-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid=")
}

func build(t testing.TB, pkg, name string, environ []string, flags ...string) string {
	t.Helper()
	once, _ := built.LoadOrStore(pkg, sync.OnceValues(func() (string, error) {
		dir, err := os.MkdirTemp("", "exampletest")
		if err != nil {
			return "", err
		}
		file := filepath.Join(dir, name)
		cmd := exec.Command("go", append(append([]string{"build"}, flags...), "-o", file, pkg)...)
		cmd.Env = append(os.Environ(), environ...)
		if said, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("build %s: %w: %s", pkg, err, said)
		}
		return file, nil
	}))
	file, err := once.(func() (string, error))()
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// Config returns the configuration of a host with the plugins in these files, by name.
// Compiled code is kept for the next run.
func Config(t testing.TB, files map[string]string) host.Config {
	t.Helper()
	cache, err := host.DefaultCacheDir()
	if err != nil {
		t.Skip(err)
	}
	c := host.Config{
		Plugins: plugins.Builtin(), Files: map[string]config.Plugin{},
		CacheDir: cache + "-test", VaultDir: t.TempDir(), OneShot: true, Timeout: time.Minute,
	}
	for name, file := range files {
		c.Files[name] = config.Plugin{Name: name, File: file}
	}
	return c
}

// Host returns a host that reconnects a lost server only when it is called. It is
// closed when the test ends.
func Host(t testing.TB, c host.Config) *host.Host {
	t.Helper()
	c.Reconnect = host.Policy{Backoff: []time.Duration{}, Failures: -1}
	h, err := host.New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// Address returns an address on this machine at which nothing listens. Its port is
// below the range of ephemeral ports, so that no other program gets it by chance
// before the program of the test listens, or while that is restarted.
func Address(t testing.TB) string {
	t.Helper()
	const first, ports, tries = 20_000, 12_000, 100
	for range tries {
		at := fmt.Sprintf("127.0.0.1:%d", first+rand.IntN(ports))
		if l, err := net.Listen("tcp", at); err == nil {
			l.Close()
			return at
		}
	}
	t.Fatalf("none of %d ports of this machine is free", tries)
	return ""
}
