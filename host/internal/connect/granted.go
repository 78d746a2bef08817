package connect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/capability"
	"github.com/wharf-mcp/wharf/host/internal/hosterr"
)

// granted refuses to give an installed plugin what the user did not grant it, whatever
// a server entry says.
func (d *Dialer) granted(via string, gs []capability.Grant) error {
	i := d.config.Modules.Files()[via].Installed
	if i == nil {
		return nil
	}
	for _, g := range gs {
		kind := g.To.Kind()
		if slices.Contains(i.Kinds, kind.String()) {
			continue
		}
		lacks, hint := "is not granted", fmt.Sprintf("to grant it: wharf plugin grant %s %s", via, kind)
		if !slices.Contains(i.Asked, kind.String()) {
			var keys []string
			for _, asked := range []abi.OpenKind{abi.OpenProcess, abi.OpenStream, abi.OpenHTTP} {
				if slices.Contains(i.Asked, asked.String()) {
					keys = append(keys, entryKey(asked))
				}
			}
			lacks = "does not ask for"
			hint = fmt.Sprintf("write %s in the entry in place of %s", cmp.Or(strings.Join(keys, " or "), "nothing"), entryKey(kind))
		}
		err := fmt.Errorf("the entry has %s, and the plugin %s %s %s", entryKey(kind), via, lacks, kind)
		return &hosterr.Error{Kind: hosterr.ErrDenied, Err: err, Hint: hint}
	}
	return nil
}

// entryKey is what in a server entry gives a kind of access.
func entryKey(kind abi.OpenKind) string { return (&capability.Denial{Kind: kind}).Key() }
