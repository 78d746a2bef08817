//go:build !wasip1

package main

import (
	"testing"

	"github.com/wharf-mcp/wharf/host/plugintest"
)

// The module passes the conformance kit, as any plugin can be asked to.
func TestKit(t *testing.T) {
	plugintest.Test(t, files(t)["websocket"])
}
