//go:build unix

package capability

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/hostio"
)

// quick has graces that let no end take long.
func quick(grants ...Grant) Config {
	return Config{
		Grants: grants,
		Grace:  Grace{Stdin: 20 * time.Millisecond, Term: 20 * time.Millisecond, Exit: 20 * time.Millisecond, Kill: 20 * time.Millisecond},
		Limits: Limits{Stall: time.Hour},
	}
}

// patient has graces that a test does not live to see the end of.
func patient(grants ...Grant) Config {
	return Config{
		Grants: grants,
		Grace:  Grace{Stdin: time.Hour, Term: time.Hour, Exit: time.Hour, Kill: time.Hour},
		Limits: Limits{Stall: time.Hour},
	}
}

func newTestTable(t testing.TB, c Config) *Table {
	t.Helper()
	table := NewTable(c)
	t.Cleanup(func() { closeTable(t, table) })
	return table
}

// closeTable closes a table and waits until nothing is left of it. On a busy machine
// a table may report that it took longer than quick graces.
func closeTable(t testing.TB, table *Table) {
	t.Helper()
	for err := table.Close(context.Background()); err != nil; err = table.Close(context.Background()) {
		t.Log(err) // with quick graces, on a busy machine
	}
}

// open opens the grant main, and fails the test if it is refused.
func open(t *testing.T, table *Table, kind abi.OpenKind, sink hostio.Sink) hostio.Stream {
	t.Helper()
	s, status, err := table.Open(kind, request("main", abi.Essential), sink)
	if err != nil || status != abi.OK {
		t.Fatalf("open: %v, %v", status, err)
	}
	return s
}

func request(grant string, flags uint32) *abi.OpenRequest {
	return &abi.OpenRequest{Grant: grant, Flags: flags}
}

// newOpening returns what a handle begins with, in a table that has no other.
func newOpening(t testing.TB, sink hostio.Sink) (o Opening) {
	t.Helper()
	table := newTestTable(t, patient(Grant{"main", captor{&o}}))
	if _, _, err := table.Open(abi.OpenStream, request("main", 0), sink); !errors.Is(err, errCaught) {
		t.Fatal(err)
	}
	return o
}

// captor is a target that opens nothing, and keeps what it was asked with.
type captor struct{ o *Opening }

var errCaught = errors.New("caught")

func (captor) Kind() abi.OpenKind      { return abi.OpenStream }
func (c captor) Opener(*Limits) Opener { return c }
func (captor) Close()                  {}
func (c captor) Open(o Opening, _ *abi.OpenRequest) (Handle, abi.Status, error) {
	*c.o = o
	return nil, abi.Internal, errCaught
}
