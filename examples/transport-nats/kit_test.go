//go:build !wasip1

package main

import (
	"testing"

	"github.com/wharf-mcp/wharf/examples/internal/exampletest"
	"github.com/wharf-mcp/wharf/host/plugintest"
)

// The module passes the conformance kit, as any plugin can be asked to: its profile
// tells the kit what a NATS server says.
func TestKit(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the module, which takes a while")
	}
	profile, err := plugintest.ReadProfile("profile.json")
	if err != nil {
		t.Fatal(err)
	}
	plugintest.TestWith(t, exampletest.Module(t, "."), plugintest.Options{Profile: profile})
}
