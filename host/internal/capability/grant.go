package capability

import (
	"fmt"
	"strings"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/hostio"
)

// Grant is one thing that a connection may open, under a name that its guest
// knows. The same name may be granted once for each kind.
type Grant struct {
	Name string
	To   Target
}

// Target is what a grant leads to: a [Process], an [Address], which may be [Sealed],
// a [Memory] or an [Origin].
type Target interface {
	// Kind is the kind of open that the target answers.
	Kind() abi.OpenKind

	// hold makes the tenant that a request asks for, and starts nothing. It
	// looks at all of the request but its grant, and does not block.
	hold(t *Table, g Grant, r *abi.OpenRequest, sink hostio.Sink) (tenant, abi.Status, error)
}

// kinds are the kinds of open that this host has.
var kinds = []abi.OpenKind{abi.OpenProcess, abi.OpenStream, abi.OpenHTTP}

// holdBytes is what hold is for targets that a request only names.
func holdBytes(h *handle, r *abi.OpenRequest) (tenant, abi.Status, error) {
	if r.Flags&^abi.Essential != 0 {
		return nil, abi.Malformed, fmt.Errorf("flags %#x do not apply to it", r.Flags)
	}
	if r.Method != "" || r.Target != "" || len(r.Headers) > 0 {
		return nil, abi.Malformed, fmt.Errorf("a method, a target and headers do not apply to it")
	}
	return h, abi.OK, nil
}

// entryKeys names the key of a server entry that grants each kind.
var entryKeys = map[abi.OpenKind]string{
	abi.OpenProcess: "command",
	abi.OpenStream:  "address",
	abi.OpenHTTP:    "url",
}

// Denial is the error of an open that no grant allows. With it a caller can
// print the line that would allow it.
type Denial struct {
	Kind abi.OpenKind // what was asked for
	Name string       // the name of the grant that was asked for
	Have []Grant      // what is granted
}

func (d *Denial) Error() string {
	return fmt.Sprintf("open %s %q: not granted (%s); a server entry grants it with %s",
		d.Kind, d.Name, d.granted(), d.Line())
}

// Line is what a server entry has to say for a grant of this kind to exist,
// for instance `address = "unix:/path/to/socket"`.
func (d *Denial) Line() string {
	return fmt.Sprintf("%s = %q", d.Key(), example(d.Kind))
}

// Key is the key of a server entry that makes grants of this kind.
func (d *Denial) Key() string { return entryKeys[d.Kind] }

func (d *Denial) granted() string {
	if len(d.Have) == 0 {
		return "nothing is"
	}
	names := make([]string, len(d.Have))
	for i, g := range d.Have {
		names[i] = fmt.Sprintf("%s %q", g.To.Kind(), g.Name)
	}
	return "only " + strings.Join(names, ", ")
}

func example(kind abi.OpenKind) string {
	switch kind {
	case abi.OpenProcess:
		return "program"
	case abi.OpenStream:
		return "unix:/path/to/socket"
	default:
		return "https://example.com/mcp"
	}
}
