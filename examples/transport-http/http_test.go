//go:build !wasip1

package main

import (
	"testing"

	"github.com/wharf-mcp/wharf/sdk"
	"github.com/wharf-mcp/wharf/sdk/sdktest"
)

func fresh() sdk.Transport { return &transport{} }

func TestTraces(t *testing.T) {
	sdktest.RunFiles(t, "../../plugins/http/testdata/*.trace", manifest, fresh)
}

// The traces of the contract are those that the shipped plugin keeps to.
func TestGolden(t *testing.T) {
	for _, name := range []string{"http", "unix"} {
		t.Run(name, func(t *testing.T) {
			sdktest.Run(t, manifest, fresh(), sdktest.Read(t, "../../abi/testdata/traces/"+name+".trace"))
		})
	}
}
