//go:build unix

package stream

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/capability"
	"github.com/wharf-mcp/wharf/host/internal/capability/captest"
	"github.com/wharf-mcp/wharf/internal/testenv"
)

// within is a grant of one end of each of a stream of pipes, whose others come out
// of the channel.
func within() (g capability.Grant, peers <-chan net.Conn) {
	ends := make(chan net.Conn, 4)
	return capability.Grant{Name: "main", To: Memory{Name: "loft", Dial: func(context.Context) (io.ReadWriteCloser, error) {
		ours, theirs := net.Pipe()
		ends <- theirs
		return ours, nil
	}}}, ends
}

func TestMemoryCarriesBothWays(t *testing.T) {
	g, peers := within()
	r := captest.NewRecorder()
	s := captest.Open(t, captest.NewTable(t, captest.Patient(g)), abi.OpenStream, r)
	peer := <-peers
	s.Write([]byte("ahoy"), false)
	s.Flush()
	buf := make([]byte, 4)
	if _, err := io.ReadFull(peer, buf); string(buf) != "ahoy" || err != nil {
		t.Errorf("the peer got %q, %v", buf, err)
	}
	io.WriteString(peer, "aye")
	peer.Close()
	r.UntilWord("end")
	captest.WantOrder(t, r, "opened data end")
	if string(r.Bytes) != "aye" {
		t.Errorf("read %q", r.Bytes)
	}
}

// What was written is still sent when the handle is closed, and then the peer
// reads the end; of the handle nothing is heard.
func TestMemoryIsClosed(t *testing.T) {
	g, peers := within()
	r := captest.NewRecorder()
	s := captest.Open(t, captest.NewTable(t, captest.Patient(g)), abi.OpenStream, r)
	peer := <-peers
	r.UntilWord("opened")
	s.Write([]byte("farewell"), false)
	s.Close()
	if got, err := io.ReadAll(peer); string(got) != "farewell" || err != nil {
		t.Errorf("the peer got %q, %v", got, err)
	}
	captest.WantOrder(t, r, "opened")
}

// A peer that does not read holds up neither the caller nor, once the graces are
// over, the end.
func TestMemoryPeerThatDoesNotRead(t *testing.T) {
	g, peers := within()
	table := capability.NewTable(captest.Patient(g))
	s := captest.Open(t, table, abi.OpenStream, captest.NewRecorder())
	<-peers
	s.Write(make([]byte, 1<<20), false)
	s.Flush()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := table.Close(ctx); err != nil {
		t.Error(err)
	}
}

func TestMemoryIsShutByHalves(t *testing.T) {
	ours, peer := testenv.NewDuplex()
	r := captest.NewRecorder()
	s := captest.Open(t, captest.NewTable(t, captest.Patient(capability.Grant{Name: "main", To: Memory{Dial: func(context.Context) (io.ReadWriteCloser, error) {
		return ours, nil
	}}})), abi.OpenStream, r)
	s.Write([]byte("that is all"), true)
	s.Flush()
	if got, err := io.ReadAll(peer); string(got) != "that is all" || err != nil {
		t.Errorf("the peer got %q, %v", got, err)
	}
	io.WriteString(peer, "I see")
	peer.CloseWrite()
	r.UntilWord("end")
	if string(r.Bytes) != "I see" {
		t.Errorf("read %q", r.Bytes)
	}
}

func TestMemoryThatFails(t *testing.T) {
	for name, tt := range map[string]struct {
		dial func(context.Context) (io.ReadWriteCloser, error)
		want string
	}{
		"error":  {func(context.Context) (io.ReadWriteCloser, error) { return nil, errors.New("asleep") }, "open memory:loft: asleep"},
		"no one": {func(context.Context) (io.ReadWriteCloser, error) { return nil, nil }, "open memory:loft: the program returned no stream"},
	} {
		r := captest.NewRecorder()
		captest.Open(t, captest.NewTable(t, captest.Patient(capability.Grant{Name: "main", To: Memory{Name: "loft", Dial: tt.dial}})), abi.OpenStream, r)
		r.UntilWord("error")
		if r.Status != abi.Unreachable || r.Err.Error() != tt.want {
			t.Errorf("%s: %v, %v", name, r.Status, r.Err)
		}
	}
}

// A program that takes its time is not waited for when the stream is not wanted.
func TestMemoryThatIsSlow(t *testing.T) {
	asked := make(chan struct{})
	r := captest.NewRecorder()
	s := captest.Open(t, captest.NewTable(t, captest.Patient(capability.Grant{Name: "main", To: Memory{Dial: func(ctx context.Context) (io.ReadWriteCloser, error) {
		close(asked)
		<-ctx.Done()
		return nil, ctx.Err()
	}}})), abi.OpenStream, r)
	<-asked
	s.Close()
	captest.WantOrder(t, r, "")
}
