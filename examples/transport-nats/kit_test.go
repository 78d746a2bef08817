//go:build !wasip1

package main

import (
	"testing"

	"github.com/wharf-mcp/wharf/examples/internal/exampletest"
	"github.com/wharf-mcp/wharf/host/plugintest"
	"github.com/wharf-mcp/wharf/internal/testenv"
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
	exampletest.Kit(t, testenv.Plugin(t, "."), plugintest.Options{Profile: profile})
}
