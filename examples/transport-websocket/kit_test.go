//go:build !wasip1

package main

import (
	"testing"

	"github.com/wharf-mcp/wharf/examples/internal/exampletest"
	"github.com/wharf-mcp/wharf/host/plugintest"
)

// The module passes the conformance kit, as any plugin can be asked to.
func TestKit(t *testing.T) {
	exampletest.Kit(t, files(t)["websocket"], plugintest.Options{})
}
