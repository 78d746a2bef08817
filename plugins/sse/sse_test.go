//go:build !wasip1

package main

import (
	"testing"

	"github.com/wharf-mcp/wharf/sdk"
	"github.com/wharf-mcp/wharf/sdk/sdktest"
)

func fresh() sdk.Transport { return &transport{} }

func TestGolden(t *testing.T) {
	sdktest.Run(t, manifest, fresh(), sdktest.Read(t, "../../abi/testdata/traces/sse.trace"))
}
