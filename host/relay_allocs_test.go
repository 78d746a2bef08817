//go:build !race

package host_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// TestRelayAllocations holds that a relayed call allocates no more than the same call by
// Session.Call, and no more where its message is larger. Each message fits in a page: a system that
// is short of pages for pipes gives a pipe one or two, and what comes in several reads has to be put
// together. (The race detector empties pools.)
func TestRelayAllocations(t *testing.T) {
	for _, name := range []string{"legacy", "modern"} {
		s := connect(t, newHost(t, host.Config{}), server(name))
		params := func(size int) json.RawMessage {
			return json.RawMessage(fmt.Sprintf(`{"name":"echo","arguments":{"message":%q}}`, strings.Repeat("x", size)))
		}
		per := func(call func() error) float64 {
			least := math.Inf(1)
			for range 5 { // a collection empties the pools, which only adds allocations
				least = min(least, testing.AllocsPerRun(100, func() {
					if err := call(); err != nil {
						t.Fatal(err)
					}
				}))
			}
			return least
		}
		relay := func(size int) float64 {
			r := host.Relay{Method: mcp.MethodCallTool, Params: params(size)}
			return per(func() error {
				_, err := s.Relay(t.Context(), r)
				return err
			})
		}
		given := params(3_000)
		called := per(func() error {
			var result json.RawMessage
			return s.Call(t.Context(), mcp.MethodCallTool, given, &result)
		})
		small, large := relay(100), relay(3_000)
		if large > called || large > small {
			t.Errorf("%s: a relayed call of 3 KB has %v allocations, of 100 bytes %v; by Call it has %v", name, large, small, called)
		}
	}
}
