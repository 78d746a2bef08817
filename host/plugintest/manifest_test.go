package plugintest

import (
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
)

// The kit takes the names that the host takes.
func TestNamesOfPlugins(t *testing.T) {
	for name, good := range map[string]bool{
		"a": true, "socket-2": true, strings.Repeat("a", 64): true,
		"": false, "-a": false, "A": false, strings.Repeat("a", 65): false,
	} {
		m := &abi.Manifest{Name: name, Grants: []abi.Grant{{Kind: abi.OpenStream, Name: mainGrant}}}
		if err := checkManifest(m); (err == nil) != good {
			t.Errorf("%q: %v", name, err)
		}
	}
}
