//go:build unix

package stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/capability"
	"github.com/wharf-mcp/wharf/host/internal/capability/captest"
)

// seal puts what blob returns before the streams of a grant.
func seal(g capability.Grant, blob func(context.Context) ([]byte, error)) capability.Grant {
	g.To = Sealed{Address: g.To.(Address), Blob: blob}
	return g
}

// Each stream has a blob of its own, and what is written goes out as ever.
func TestSealedStreams(t *testing.T) {
	for _, network := range []string{"unix", "tls"} {
		t.Run(network, func(t *testing.T) { sealedStreams(t, network) })
	}
}

func sealedStreams(t *testing.T, network string) {
	l, grant := listen(t, network)
	n := 0
	table := captest.NewTable(t, captest.Patient(seal(grant, func(context.Context) ([]byte, error) {
		n++
		return fmt.Appendf(nil, "blob %d", n), nil
	})))
	for _, want := range []string{"blob 1", "blob 2"} {
		r := captest.NewRecorder()
		s := captest.Open(t, table, abi.OpenStream, r)
		peer := accept(t, l)
		r.UntilWord("sealed")
		s.Write([]byte("hello"), true)
		s.Flush()
		if got, err := io.ReadAll(peer); string(got) != "hello" || err != nil {
			t.Errorf("the peer got %q, %v", got, err)
		}
		peer.Close()
		r.UntilWord("end")
		captest.WantOrder(t, r, "sealed end")
		if string(r.Bytes) != want {
			t.Errorf("the blob is %q, want %q", r.Bytes, want)
		}
	}
}

func TestNothingToSeal(t *testing.T) {
	l, grant := listen(t, "unix")
	table := captest.NewTable(t, captest.Patient(seal(grant, func(context.Context) ([]byte, error) { return nil, nil })))
	r := captest.NewRecorder()
	captest.Open(t, table, abi.OpenStream, r)
	accept(t, l)
	r.UntilWord("opened")
}

// Without what signs in, no server is dialled.
func TestSealThatFails(t *testing.T) {
	l, grant := listen(t, "unix")
	missing := errors.New("no person has signed in")
	table := captest.NewTable(t, captest.Patient(seal(grant, func(context.Context) ([]byte, error) { return nil, missing })))
	r := captest.NewRecorder()
	captest.Open(t, table, abi.OpenStream, r)
	r.UntilLast()
	captest.WantOrder(t, r, "error")
	want := "sign in to " + grant.To.(Address).String() + ": no person has signed in"
	if r.Status != abi.Denied || !errors.Is(r.Err, missing) || r.Err.Error() != want {
		t.Errorf("error %v, %v", r.Status, r.Err)
	}
	first, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(first, "me")
	first.Close()
	if got, _ := io.ReadAll(accept(t, l)); string(got) != "me" {
		t.Error("the server was called all the same")
	}
}

// A handle that is closed meanwhile waits for nothing.
func TestCloseWhileSealing(t *testing.T) {
	_, grant := listen(t, "unix")
	asked := make(chan struct{})
	table := capability.NewTable(captest.Patient(seal(grant, func(ctx context.Context) ([]byte, error) {
		close(asked)
		<-ctx.Done()
		return nil, ctx.Err()
	})))
	r := captest.NewRecorder()
	s := captest.Open(t, table, abi.OpenStream, r)
	<-asked
	s.Close()
	captest.CloseTable(t, table)
	captest.WantOrder(t, r, "")
}
