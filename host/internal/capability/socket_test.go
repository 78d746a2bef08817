//go:build unix

package capability

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/hostio"
)

// listen returns a listener and the grant that leads to it.
func listen(t *testing.T, network string) (net.Listener, Grant) {
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
	return l, Grant{Name: "main", To: Address{Network: network, Addr: l.Addr().String()}}
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
func eachNetwork(t *testing.T, c Config, test func(t *testing.T, table *Table, s hostio.Stream, r *recorder, peer net.Conn)) {
	for _, network := range []string{"unix", "tcp", "tls"} {
		t.Run(network, func(t *testing.T) {
			l, grant := listen(t, network)
			c.Grants = []Grant{grant}
			table := newTestTable(t, c)
			r := newRecorder()
			s := open(t, table, abi.OpenStream, r)
			peer := accept(t, l)
			r.untilWord("opened")
			test(t, table, s, r, peer)
		})
	}
}

func TestSocketCarriesBothWays(t *testing.T) {
	eachNetwork(t, patient(), func(t *testing.T, _ *Table, s hostio.Stream, r *recorder, peer net.Conn) {
		want := bytes.Repeat([]byte("0123456789abcdef"), 8<<20/16)
		go func() {
			io.Copy(peer, peer) // its end of data comes behind ours
			peer.Close()
		}()
		s.Write(want, false)
		s.Flush()
		s.Write(nil, true)
		s.Flush()
		r.untilWord("end")
		if !bytes.Equal(r.data, want) {
			t.Errorf("%d bytes came back of %d, or they differ", len(r.data), len(want))
		}
	})
}

func TestPeerThatEndsItsSideIsStillWrittenTo(t *testing.T) {
	eachNetwork(t, patient(), func(t *testing.T, _ *Table, s hostio.Stream, r *recorder, peer net.Conn) {
		io.WriteString(peer, "bye")
		peer.(interface{ CloseWrite() error }).CloseWrite()
		r.untilWord("end")
		wantOrder(t, r, "opened data end")
		s.Write([]byte("one more"), true)
		s.Flush()
		if got, err := io.ReadAll(peer); string(got) != "one more" || err != nil {
			t.Errorf("the peer got %q, %v", got, err)
		}
	})
}

func TestPeerThatResets(t *testing.T) {
	l, grant := listen(t, "tcp")
	table := newTestTable(t, patient(grant))
	r := newRecorder()
	open(t, table, abi.OpenStream, r)
	peer := accept(t, l)
	r.untilWord("opened")
	peer.(*net.TCPConn).SetLinger(0)
	peer.Close()
	r.untilLast()
	wantOrder(t, r, "opened error")
	if r.status != abi.Reset || !strings.Contains(r.err.Error(), "connection reset by peer") {
		t.Errorf("error %v, %v", r.status, r.err)
	}
}

func TestPeerThatIsGoneWhileBytesWait(t *testing.T) {
	c := patient()
	c.Grace.Exit = time.Millisecond
	eachNetwork(t, c, func(t *testing.T, _ *Table, s hostio.Stream, r *recorder, peer net.Conn) {
		s.Write(make([]byte, 32<<20), false)
		s.Flush()
		peer.Close()
		r.untilLast()
		if r.status != abi.Reset || s.Queued() != 0 {
			t.Errorf("error %v, %v; Queued is %d", r.status, r.err, s.Queued())
		}
	})
}

func TestPeerThatDoesNotReadIsGivenUp(t *testing.T) {
	c := patient()
	c.Limits.Stall = 50 * time.Millisecond
	eachNetwork(t, c, func(t *testing.T, _ *Table, s hostio.Stream, r *recorder, peer net.Conn) {
		s.Write(make([]byte, 32<<20), false)
		s.Flush()
		r.untilLast()
		wantOrder(t, r, "opened error")
		if r.status != abi.Stalled || r.err.Error() != "server has not read the connection for 50ms" {
			t.Errorf("error %v, %v", r.status, r.err)
		}
	})
}

func TestCloseSendsWhatWasWritten(t *testing.T) {
	eachNetwork(t, patient(), func(t *testing.T, table *Table, s hostio.Stream, r *recorder, peer net.Conn) {
		s.Write(make([]byte, 4<<20), false)
		s.Close()
		if n, err := io.Copy(io.Discard, peer); n != 4<<20 || err != nil {
			t.Errorf("the peer got %d bytes, %v", n, err)
		}
		closeTable(t, table)
		if r.heard("end") || r.heard("error") {
			t.Errorf("the sink heard %q after Close", r.order())
		}
	})
}

func TestDialErrors(t *testing.T) {
	refused := Address{Network: "tcp", Addr: "127.0.0.1:1"} // which the system gives to nobody
	dead, _ := net.Listen("unix", t.TempDir()+"/dead")
	dead.(*net.UnixListener).SetUnlinkOnClose(false)
	dead.Close()
	tests := []struct {
		name   string
		to     Target
		status abi.Status
		want   string
	}{
		{"refused", refused, abi.Unreachable, "connection refused; is the server running?"},
		{"dead socket", Address{Network: "unix", Addr: dead.Addr().String()}, abi.Unreachable, "connection refused; is the server running?"},
		{"no socket", Address{Network: "unix", Addr: t.TempDir() + "/none"}, abi.NotFound, "is this its socket?"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			table := newTestTable(t, patient(Grant{Name: "main", To: tt.to}))
			r := newRecorder()
			open(t, table, abi.OpenStream, r)
			r.untilLast()
			wantOrder(t, r, "error")
			prefix := "dial " + tt.to.(Address).String() + ": "
			if r.status != tt.status || !strings.HasPrefix(r.err.Error(), prefix) || !strings.Contains(r.err.Error(), tt.want) {
				t.Errorf("error %v, %v", r.status, r.err)
			}
		})
	}
}

func TestDialTimesOut(t *testing.T) {
	_, grant := listen(t, "unix")
	c := patient(grant)
	c.Limits.Dial = time.Nanosecond
	table := newTestTable(t, c)
	r := newRecorder()
	open(t, table, abi.OpenStream, r)
	r.untilLast()
	if r.status != abi.TimedOut || !strings.Contains(r.err.Error(), "no answer") {
		t.Errorf("error %v, %v", r.status, r.err)
	}
}

func TestCloseDuringTheDial(t *testing.T) {
	_, grant := listen(t, "unix")
	for range 50 {
		table := NewTable(patient(grant))
		r := newRecorder()
		s := open(t, table, abi.OpenStream, r)
		s.Write([]byte("hello"), false)
		s.Close()
		closeTable(t, table)
		if r.heard("error") {
			t.Fatalf("the sink heard %v after Close", r.err)
		}
	}
}
