//go:build !wasip1

package main

import (
	"testing"

	"github.com/wharf-mcp/wharf/examples/internal/exampletest"
	"github.com/wharf-mcp/wharf/host/plugintest"
)

// Both modules pass the conformance kit, as any plugin can be asked to.
func TestKit(t *testing.T) {
	each(t, func(t *testing.T, files map[string]string) {
		exampletest.Kit(t, files["websocket"], plugintest.Options{})
	})
}
