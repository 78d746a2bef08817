//go:build unix

package httpclient

import (
	"bufio"
	"crypto/sha1"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/capability"
	"github.com/wharf-mcp/wharf/host/internal/capability/captest"
	"github.com/wharf-mcp/wharf/host/internal/hostio"
)

// upgraded answers an upgrade with head, in which KEY stands for what belongs to
// the key of the request, and then hands the connection to talk.
func upgraded(t *testing.T, head string, talk func(net.Conn, *bufio.Reader)) capability.Grant {
	_, grant := serve(t, func(w http.ResponseWriter, r *http.Request) {
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
		answer := strings.ReplaceAll(head, "KEY", base64.StdEncoding.EncodeToString(sum[:]))
		io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"+answer+"\r\n")
		talk(conn, rw.Reader)
	})
	return grant
}

// openUpgrade asks for an upgrade to protocol.
func openUpgrade(t *testing.T, table *capability.Table, protocol string) (*captest.Recorder, hostio.Stream) {
	t.Helper()
	r := captest.NewRecorder()
	s, _, err := table.Open(abi.OpenHTTP, &abi.OpenRequest{
		Grant: "main", Method: "GET", Flags: abi.Upgrade | abi.Essential,
		Headers: []abi.Pair{{Key: "upgrade", Value: protocol}, {Key: "sec-websocket-version", Value: "13"}, {Key: "sec-websocket-protocol", Value: "mcp"}},
	}, r)
	if err != nil {
		t.Fatal(err)
	}
	return r, s
}

func silent(net.Conn, *bufio.Reader) {}

func TestUpgradeGivesAByteStream(t *testing.T) {
	grant := upgraded(t, "Upgrade: websocket\r\nSec-WebSocket-Accept: KEY\r\nSec-WebSocket-Protocol: mcp\r\n",
		func(conn net.Conn, r *bufio.Reader) { io.CopyN(conn, r, 1<<20) })
	table := captest.NewTable(t, captest.Patient(grant))
	r, s := openUpgrade(t, table, "websocket")
	s.Write([]byte("before the head;"), false) // waits
	s.Flush()
	r.UntilWord("head")
	if want := []abi.Pair{{Key: "sec-websocket-protocol", Value: "mcp"}}; r.HTTPStatus != 101 || !slices.Equal(r.Headers, want) {
		t.Errorf("HEAD %d, %v", r.HTTPStatus, r.Headers)
	}
	s.Write(make([]byte, 1<<20-16), false)
	s.Flush()
	r.UntilOver()
	if len(r.Bytes) != 1<<20 || !strings.HasPrefix(string(r.Bytes), "before the head;") {
		t.Errorf("%d bytes came back", len(r.Bytes))
	}
	if order := r.Order(); !strings.HasPrefix(order, "head ") || !strings.HasSuffix(order, " end") {
		t.Errorf("the sink heard %q", order)
	}
}

func TestTheEndOfAnUpgradedStreamClosesIt(t *testing.T) {
	closed := make(chan error, 1)
	grant := upgraded(t, "Upgrade: other\r\n", func(_ net.Conn, r *bufio.Reader) {
		_, err := io.ReadAll(r)
		closed <- err
	})
	table := captest.NewTable(t, captest.Patient(grant))
	r, s := openUpgrade(t, table, "other")
	r.UntilWord("head")
	s.Write([]byte("bye"), true)
	s.Flush()
	if err := <-closed; err != nil {
		t.Error(err)
	}
	captest.CloseTable(t, table)
}

func TestCloseOfAnUpgradedStream(t *testing.T) {
	closed := make(chan string, 1)
	grant := upgraded(t, "Upgrade: other\r\n", func(_ net.Conn, r *bufio.Reader) {
		all, _ := io.ReadAll(r)
		closed <- string(all)
	})
	table := captest.NewTable(t, captest.Patient(grant))
	r, s := openUpgrade(t, table, "other")
	r.UntilWord("head")
	s.Write([]byte("last words"), false)
	s.Close()
	if got := <-closed; got != "last words" {
		t.Errorf("the server got %q", got)
	}
	captest.CloseTable(t, table)
	captest.WantOrder(t, r, "head")
}

func TestUpgradesThatAreNone(t *testing.T) {
	tests := map[string]string{
		"Upgrade: other\r\nSec-WebSocket-Accept: KEY\r\n":     "not to websocket",
		"Upgrade: websocket\r\nSec-WebSocket-Accept: abc\r\n": "no WebSocket server",
		"Upgrade: websocket\r\n":                              "no WebSocket server",
		"Upgrade: websocket\r\nSec-WebSocket-Accept: KEY\r\nSec-WebSocket-Extensions: permessage-deflate\r\n": "permessage-deflate, which was not asked for",
	}
	for head, want := range tests {
		r, _ := openUpgrade(t, captest.NewTable(t, captest.Patient(upgraded(t, head, silent))), "websocket")
		captest.WantError(t, r, abi.ProtocolFailed, want)
		captest.WantOrder(t, r, "error")
	}
}

func TestAnUpgradeThatIsAnsweredOtherwise(t *testing.T) {
	_, grant := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no", http.StatusUpgradeRequired) })
	r, _ := openUpgrade(t, captest.NewTable(t, captest.Patient(grant)), "websocket")
	if r.UntilOver(); r.HTTPStatus != 426 || string(r.Bytes) != "no\n" {
		t.Errorf("HEAD %d, %q, %v", r.HTTPStatus, r.Bytes, r.Err)
	}
	_, grant = serve(t, guarded(401))
	r, _ = openUpgrade(t, captest.NewTable(t, captest.Patient(grant)), "websocket")
	captest.WantError(t, r, abi.Denied, "HTTP 401")
}
