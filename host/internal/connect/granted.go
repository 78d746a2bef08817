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
		switch kind := g.To.Kind(); {
		case slices.Contains(i.Kinds, kind.String()):
		case slices.Contains(i.Asked, kind.String()):
			return &hosterr.Error{
				Kind: hosterr.ErrDenied,
				Err:  fmt.Errorf("the entry has %s, and the plugin %s is not granted %s", entryKey(kind), via, kind),
				Hint: fmt.Sprintf("to grant it: wharf plugin grant %s %s", via, kind),
			}
		default:
			return &hosterr.Error{
				Kind: hosterr.ErrDenied,
				Err:  fmt.Errorf("the entry has %s, and the plugin %s does not ask for %s", entryKey(kind), via, kind),
				Hint: fmt.Sprintf("write %s in the entry in place of %s", entryKeys(i.Asked), entryKey(kind)),
			}
		}
	}
	return nil
}

// entryKeys are the keys of a server entry that give a transport what it asks for.
func entryKeys(asked []string) string {
	var keys []string
	for _, kind := range []abi.OpenKind{abi.OpenProcess, abi.OpenStream, abi.OpenHTTP} {
		if slices.Contains(asked, kind.String()) {
			keys = append(keys, entryKey(kind))
		}
	}
	return cmp.Or(strings.Join(keys, " or "), "nothing")
}

// entryKey is what in a server entry gives a kind of access.
func entryKey(kind abi.OpenKind) string { return (&capability.Denial{Kind: kind}).Key() }
