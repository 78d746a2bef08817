//go:build !wasip1

package main

import (
	"testing"

	"github.com/wharf-mcp/wharf/host/plugintest"
)

// The modules pass the conformance kit, as any plugin can be asked to.
func TestKit(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a module, which takes a while")
	}
	for language, module := range modules {
		t.Run(language, func(t *testing.T) {
			file, err := module()
			if err != nil {
				t.Fatal(err)
			}
			plugintest.Test(t, file)
		})
	}
}
