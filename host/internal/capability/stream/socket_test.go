//go:build unix

package stream

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/capability"
	"github.com/wharf-mcp/wharf/host/internal/capability/captest"
	"github.com/wharf-mcp/wharf/host/internal/hostio"
)

// listen returns a listener and the grant that leads to it.
func listen(t *testing.T, network string) (net.Listener, capability.Grant) {
	t.Helper()
	addr := "127.0.0.1:0"
	switch network {
	case "unix":
		addr = t.TempDir() + "/s"
	case "tls":
		return listenTLS(t, &tls.Config{})
	}
	l, err := net.Listen(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, capability.Grant{Name: "main", To: Address{Network: network, Addr: l.Addr().String()}}
}

// accept returns the peer of the next dial.
func accept(t *testing.T, l net.Listener) net.Conn {
	t.Helper()
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if secured, ok := conn.(*tls.Conn); ok {
		secured.Handshake()
	}
	return conn
}

// eachNetwork runs a test with a connected pair on each kind of socket.
func eachNetwork(t *testing.T, c capability.Config, test func(t *testing.T, table *capability.Table, s hostio.Stream, r *captest.Recorder, peer net.Conn)) {
	for _, network := range []string{"unix", "tcp", "tls"} {
		t.Run(network, func(t *testing.T) {
			l, grant := listen(t, network)
			c.Grants = []capability.Grant{grant}
			table := captest.NewTable(t, c)
			r := captest.NewRecorder()
			s := captest.Open(t, table, abi.OpenStream, r)
			peer := accept(t, l)
			r.UntilWord("opened")
			test(t, table, s, r, peer)
		})
	}
}

func TestSocketCarriesBothWays(t *testing.T) {
	eachNetwork(t, captest.Patient(), func(t *testing.T, _ *capability.Table, s hostio.Stream, r *captest.Recorder, peer net.Conn) {
		want := bytes.Repeat([]byte("0123456789abcdef"), 8<<20/16)
		go func() {
			io.Copy(peer, peer) // its end of data comes behind ours
			peer.Close()
		}()
		s.Write(want, false)
		s.Flush()
		s.Write(nil, true)
		s.Flush()
		r.UntilWord("end")
		if !bytes.Equal(r.Bytes, want) {
			t.Errorf("%d bytes came back of %d, or they differ", len(r.Bytes), len(want))
		}
	})
}

func TestPeerThatEndsItsSideIsStillWrittenTo(t *testing.T) {
	eachNetwork(t, captest.Patient(), func(t *testing.T, _ *capability.Table, s hostio.Stream, r *captest.Recorder, peer net.Conn) {
		io.WriteString(peer, "bye")
		peer.(interface{ CloseWrite() error }).CloseWrite()
		r.UntilWord("end")
		captest.WantOrder(t, r, "opened data end")
		s.Write([]byte("one more"), true)
		s.Flush()
		if got, err := io.ReadAll(peer); string(got) != "one more" || err != nil {
			t.Errorf("the peer got %q, %v", got, err)
		}
	})
}

func TestPeerThatResets(t *testing.T) {
	l, grant := listen(t, "tcp")
	table := captest.NewTable(t, captest.Patient(grant))
	r := captest.NewRecorder()
	captest.Open(t, table, abi.OpenStream, r)
	peer := accept(t, l)
	r.UntilWord("opened")
	peer.(*net.TCPConn).SetLinger(0)
	peer.Close()
	r.UntilLast()
	captest.WantOrder(t, r, "opened error")
	if r.Status != abi.Reset || !strings.Contains(r.Err.Error(), "connection reset by peer") {
		t.Errorf("error %v, %v", r.Status, r.Err)
	}
}

func TestPeerThatIsGoneWhileBytesWait(t *testing.T) {
	c := captest.Patient()
	c.Grace.Exit = time.Millisecond
	eachNetwork(t, c, func(t *testing.T, _ *capability.Table, s hostio.Stream, r *captest.Recorder, peer net.Conn) {
		s.Write(make([]byte, 32<<20), false)
		s.Flush()
		peer.Close()
		r.UntilLast()
		if r.Status != abi.Reset || s.Queued() != 0 {
			t.Errorf("error %v, %v; Queued is %d", r.Status, r.Err, s.Queued())
		}
	})
}

func TestPeerThatDoesNotReadIsGivenUp(t *testing.T) {
	c := captest.Patient()
	c.Limits.Stall = 50 * time.Millisecond
	eachNetwork(t, c, func(t *testing.T, _ *capability.Table, s hostio.Stream, r *captest.Recorder, peer net.Conn) {
		s.Write(make([]byte, 32<<20), false)
		s.Flush()
		r.UntilLast()
		captest.WantOrder(t, r, "opened error")
		if r.Status != abi.Stalled || r.Err.Error() != "server has not read the connection for 50ms" {
			t.Errorf("error %v, %v", r.Status, r.Err)
		}
	})
}

func TestCloseSendsWhatWasWritten(t *testing.T) {
	eachNetwork(t, captest.Patient(), func(t *testing.T, table *capability.Table, s hostio.Stream, r *captest.Recorder, peer net.Conn) {
		s.Write(make([]byte, 4<<20), false)
		s.Close()
		if n, err := io.Copy(io.Discard, peer); n != 4<<20 || err != nil {
			t.Errorf("the peer got %d bytes, %v", n, err)
		}
		captest.CloseTable(t, table)
		if r.Heard("end") || r.Heard("error") {
			t.Errorf("the sink heard %q after Close", r.Order())
		}
	})
}

func TestDialErrors(t *testing.T) {
	refused := Address{Network: "tcp", Addr: "127.0.0.1:1"} // which the system gives to no program
	dead, _ := net.Listen("unix", t.TempDir()+"/dead")
	dead.(*net.UnixListener).SetUnlinkOnClose(false)
	dead.Close()
	tests := []struct {
		name   string
		to     capability.Target
		status abi.Status
		want   string
	}{
		{"refused", refused, abi.Unreachable, "connection refused; is the server running?"},
		{"dead socket", Address{Network: "unix", Addr: dead.Addr().String()}, abi.Unreachable, "connection refused; is the server running?"},
		{"no socket", Address{Network: "unix", Addr: t.TempDir() + "/none"}, abi.NotFound, "is this its socket?"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			table := captest.NewTable(t, captest.Patient(capability.Grant{Name: "main", To: tt.to}))
			r := captest.NewRecorder()
			captest.Open(t, table, abi.OpenStream, r)
			r.UntilLast()
			captest.WantOrder(t, r, "error")
			prefix := "dial " + tt.to.(Address).String() + ": "
			if r.Status != tt.status || !strings.HasPrefix(r.Err.Error(), prefix) || !strings.Contains(r.Err.Error(), tt.want) {
				t.Errorf("error %v, %v", r.Status, r.Err)
			}
		})
	}
}

func TestDialTimesOut(t *testing.T) {
	_, grant := listen(t, "unix")
	c := captest.Patient(grant)
	c.Limits.Dial = time.Nanosecond
	table := captest.NewTable(t, c)
	r := captest.NewRecorder()
	captest.Open(t, table, abi.OpenStream, r)
	r.UntilLast()
	if r.Status != abi.TimedOut || !strings.Contains(r.Err.Error(), "no answer") {
		t.Errorf("error %v, %v", r.Status, r.Err)
	}
}

func TestCloseDuringTheDial(t *testing.T) {
	_, grant := listen(t, "unix")
	for range 50 {
		table := capability.NewTable(captest.Patient(grant))
		r := captest.NewRecorder()
		s := captest.Open(t, table, abi.OpenStream, r)
		s.Write([]byte("hello"), false)
		s.Close()
		captest.CloseTable(t, table)
		if r.Heard("error") {
			t.Fatalf("the sink heard %v after Close", r.Err)
		}
	}
}
