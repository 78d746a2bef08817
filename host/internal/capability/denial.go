package capability

import (
	"fmt"
	"strings"

	"github.com/wharf-mcp/wharf/abi"
)

// Denial is the error of an open that no grant allows. Its Line is the configuration line that
// would allow it.
type Denial struct {
	Kind abi.OpenKind // the kind that was asked for
	Name string       // the name of the grant that was asked for
	Have []Grant      // what is granted
}

func (d *Denial) Error() string {
	granted := "nothing is"
	if len(d.Have) > 0 {
		names := make([]string, len(d.Have))
		for i, g := range d.Have {
			names[i] = fmt.Sprintf("%s %q", g.To.Kind(), g.Name)
		}
		granted = "only " + strings.Join(names, ", ")
	}
	return fmt.Sprintf("open %s %q: not granted (%s); a server entry grants it with %s", d.Kind, d.Name, granted, d.Line())
}

// Line returns the line of a server entry that makes a grant of this kind, with an
// example value: `address = "unix:/path/to/socket"`.
func (d *Denial) Line() string { return fmt.Sprintf("%s = %q", d.Key(), kinds[d.Kind].example) }

// Key returns the key of a server entry that makes grants of this kind.
func (d *Denial) Key() string { return kinds[d.Kind].key }

// kinds are the kinds of open that this host has: the key of a server entry that grants
// one, and an example of its value.
var kinds = map[abi.OpenKind]struct{ key, example string }{
	abi.OpenProcess: {"command", "program"},
	abi.OpenStream:  {"address", "unix:/path/to/socket"},
	abi.OpenHTTP:    {"url", "https://example.com/mcp"},
}
