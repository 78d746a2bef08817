// Package exampletest has what the tests of the examples share: it builds plugins as
// their READMEs do, runs the wharf command, and starts and kills the programs that a
// plugin talks to.
package exampletest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/plugintest"
	"github.com/wharf-mcp/wharf/internal/testenv"
	"github.com/wharf-mcp/wharf/plugins"
)

// Config returns the configuration of a host with the plugins in these files, by name.
// Compiled code is kept for the next run.
func Config(t testing.TB, files map[string]string) host.Config {
	t.Helper()
	c := host.Config{
		Plugins: plugins.Builtin(), Files: map[string]config.Plugin{},
		CacheDir: testenv.CodeDir(), VaultDir: t.TempDir(), OneShot: true, Timeout: time.Minute,
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
	c.Reconnect = config.Reconnect{Backoff: []time.Duration{}, Failures: -1}
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

// Kit tests the module in a file with the conformance kit: with all of it if WHARF_LONG is
// set, and else with one check of each thing that the kit is about.
func Kit(t *testing.T, file string, o plugintest.Options) {
	t.Helper()
	if !testenv.Long() {
		o.Only = []string{"request", "notification-in", "joined-split", "cancel-sent", "server-crashes", "flood", "host-calls", "same-twice"}
	}
	o.CacheDir = testenv.CodeDir()
	plugintest.TestWith(t, file, o)
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
