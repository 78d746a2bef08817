//go:build !wasip1

package main

import (
	"testing"

	"github.com/wharf-mcp/wharf/sdk"
	"github.com/wharf-mcp/wharf/sdk/sdktest"
)

func TestTraces(t *testing.T) {
	sdktest.RunFiles(t, "testdata/*.trace", manifest, func() sdk.Transport { return &socket{} })
}
