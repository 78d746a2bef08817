//go:build !wasip1

package main

import (
	"testing"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
	"github.com/wharf-mcp/wharf/sdk/sdktest"
)

func fresh() sdk.Transport { return &transport{} }

func TestTraces(t *testing.T) {
	sdktest.RunFiles(t, "../../plugins/stdio/testdata/*.trace", manifest, fresh)
}

// The trace of the contract is one that the plugin keeps to.
func TestGolden(t *testing.T) {
	sdktest.Run(t, manifest, fresh(), sdktest.Read(t, "../../abi/testdata/traces/stdio.trace"))
}

// Whatever a server writes, the guest neither traps nor gives up.
func FuzzServer(f *testing.F) {
	f.Add("ndjson", []byte("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\r\n\n"))
	f.Add("content-length", []byte("Content-Length: 2\r\n\r\n{}"))
	f.Add("auto", []byte("\xEF\xBB\xBFcontent-length: 2\n\n{}"))
	f.Fuzz(func(t *testing.T, framing string, stream []byte) {
		h := sdktest.New(manifest, fresh())
		opened := h.Open(&abi.Settings{Values: []abi.Pair{{Key: "framing", Value: framing}}})
		if known := framing == "" || framing == "ndjson" || framing == "content-length" || framing == "auto"; known != (opened == 0) {
			t.Fatalf("framing %q: OPEN returned %d", framing, opened)
		} else if !known {
			return
		}
		for i := range len(stream) {
			if result := h.Data(1, 0, stream[i:min(i+i%5, len(stream))]); result != 0 || h.Trap != "" {
				t.Fatalf("DATA returned %d %s", result, h.Trap)
			}
		}
	})
}
