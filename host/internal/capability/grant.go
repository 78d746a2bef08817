package capability

import (
	"fmt"
	"strings"

	"github.com/wharf-mcp/wharf/abi"
)

// Grant is one thing that a connection may open, under a name that its guest
// knows. The same name may be granted once for each kind.
type Grant struct {
	Name string
	To   Target
}

// Target is what a grant leads to. The kinds that there are stand in the packages
// below this one: stream, process and httpclient.
type Target interface {
	// Kind is the kind of open that the target answers.
	Kind() abi.OpenKind

	// Opener returns what opens the target for one table. It is called once for each
	// table and grant, and starts nothing. limits have their defaults filled in.
	Opener(limits *Limits) Opener
}

// Opener makes the handles of one grant in one table.
type Opener interface {
	// Open makes the handle that a request asks for, and starts nothing: see
	// [Handle.Start]. It checks all of the request except its grant, and does not
	// block. An error has a status for the guest.
	Open(o Opening, r *abi.OpenRequest) (Handle, abi.Status, error)

	// Close frees what is kept between handles. It is called when no handle is left,
	// and may be called again.
	Close()
}

// kinds are the kinds of open that this host has.
var kinds = []abi.OpenKind{abi.OpenProcess, abi.OpenStream, abi.OpenHTTP}

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
