//go:build !wasip1

package main

import (
	"testing"

	"github.com/wharf-mcp/wharf/host/plugintest"
)

// The modules pass the conformance kit, as any plugin can be asked to.
func TestKit(t *testing.T) {
	each(t, func(t *testing.T, files map[string]string) { plugintest.Test(t, files["socket"]) })
}
