//go:build unix

package host_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host/pluginstore"
)

// What is not a later version of the same plugin is told, and no key vouches for it,
// with any signature. What else was not kept is asked about as well.
func TestWhatIsNoUpdateIsAskedAbout(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		old, now string
		says     string // "" for nothing
	}{
		"later":         {"1.0.0", "1.0.1", ""},
		"pre-release":   {"1.0.0", "2.0-a", `its version "2.0-a" cannot be compared with 1.0.0`},
		"older":         {"1.0.0", "0.9.9", "it is older: its version is 0.9.9, and 1.0.0 is installed"},
		"another":       {"socket-c", "socket-d", "it is another plugin: it calls itself socket-d, and the installed one socket-c"},
		"only its text": {"MCP in lines", "MCP on lines", "it is another file of the same version, 1.0.0"},
	} {
		s, file := newStore(t, "worker")
		key, sign := publisher(t)
		sign(file)
		install(t, s, offer(t, s, pluginstore.Request{Source: file, Name: "pigeon", Key: key}))
		restate(t, file, tc.old, tc.now)
		sign(file)
		o, err := s.Update(t.Context(), "pigeon", pluginstore.Request{})
		if err != nil {
			t.Fatal(name, err)
		}
		says := func(line string) bool { return tc.says != "" && strings.Contains(line, tc.says) }
		if o.Vouched() != (tc.says == "") || tc.says != "" && !slices.ContainsFunc(o.Unexpected, says) {
			t.Errorf("%s: vouched is %v, says %q", name, o.Vouched(), o.Unexpected)
		}
		if len(o.More()) > 0 || o.Plugin.Name != "pigeon" {
			t.Errorf("%s: %+v", name, o.Plugin)
		}
	}
}
