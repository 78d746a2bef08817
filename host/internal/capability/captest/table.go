package captest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/capability"
	"github.com/wharf-mcp/wharf/host/internal/hostio"
)

// Patient returns a configuration with graces that are longer than any test.
func Patient(grants ...capability.Grant) capability.Config {
	return capability.Config{
		Grants: grants,
		Grace:  capability.Grace{Stdin: time.Hour, Term: time.Hour, Exit: time.Hour, Kill: time.Hour},
		Limits: capability.Limits{Stall: time.Hour},
	}
}

func NewTable(t testing.TB, c capability.Config) *capability.Table {
	t.Helper()
	table := capability.NewTable(c)
	t.Cleanup(func() { CloseTable(t, table) })
	return table
}

// CloseTable closes a table and waits until nothing is left of it. On a busy machine
// a table may report that it took longer than quick graces.
func CloseTable(t testing.TB, table *capability.Table) {
	t.Helper()
	for err := table.Close(context.Background()); err != nil; err = table.Close(context.Background()) {
		t.Log(err) // with quick graces, on a busy machine
	}
}

// Open opens the grant main, and fails the test if it is refused.
func Open(t *testing.T, table *capability.Table, kind abi.OpenKind, sink hostio.Sink) hostio.Stream {
	t.Helper()
	s, status, err := table.Open(kind, Request("main", abi.Essential), sink)
	if err != nil || status != abi.OK {
		t.Fatalf("open: %v, %v", status, err)
	}
	return s
}

func Request(grant string, flags uint32) *abi.OpenRequest {
	return &abi.OpenRequest{Grant: grant, Flags: flags}
}

// Opening returns the Opening of a handle in a table that has no other handle.
func Opening(t testing.TB, sink hostio.Sink) (o capability.Opening) {
	t.Helper()
	table := NewTable(t, Patient(capability.Grant{Name: "main", To: captor{&o}}))
	if _, _, err := table.Open(abi.OpenStream, Request("main", 0), sink); !errors.Is(err, errCaught) {
		t.Fatal(err)
	}
	return o
}

// captor is a target that opens nothing. It keeps the Opening that it was asked with.
type captor struct{ o *capability.Opening }

var errCaught = errors.New("caught")

func (captor) Kind() abi.OpenKind                            { return abi.OpenStream }
func (c captor) Opener(*capability.Limits) capability.Opener { return c }
func (captor) Close()                                        {}
func (c captor) Open(o capability.Opening, _ *abi.OpenRequest) (capability.Handle, abi.Status, error) {
	*c.o = o
	return nil, abi.Internal, errCaught
}
