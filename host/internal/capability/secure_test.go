//go:build unix

package capability

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
)

// listenTLS returns a listener for TLS and a grant that knows its authority.
func listenTLS(t *testing.T, config *tls.Config) (net.Listener, Grant) {
	t.Helper()
	s := httptest.NewUnstartedServer(nil) // which has a certificate
	s.StartTLS()
	s.Close()
	config.Certificates = s.TLS.Certificates
	l, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	a := Address{Network: "tls", Addr: l.Addr().String()}
	a.TLS.CAFile = writePEM(t, "ca.pem", "CERTIFICATE", s.Certificate().Raw)
	return l, Grant{Name: "main", To: a}
}

// dialTLS opens what is granted after change, and returns what became of it.
func dialTLS(t *testing.T, config *tls.Config, change func(a *Address)) (*recorder, <-chan *tls.Conn) {
	t.Helper()
	l, grant := listenTLS(t, config)
	peers := make(chan *tls.Conn, 1)
	go func() {
		if conn, err := l.Accept(); err == nil {
			peer := conn.(*tls.Conn)
			peer.Handshake()
			peers <- peer
		}
	}()
	a := grant.To.(Address)
	change(&a)
	r := newRecorder()
	open(t, newTestTable(t, patient(Grant{Name: "main", To: a})), abi.OpenStream, r)
	return r, peers
}

func TestASocketOverTLSKnowsItsServer(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(a *Address)
		status abi.Status
		want   string
	}{
		"unknown authority": {func(a *Address) { a.TLS = TLS{} }, abi.ProtocolFailed, "unknown authority; if the certificate is right"},
		"another name":      {func(a *Address) { a.TLS.Name = "other.name" }, abi.ProtocolFailed, "other.name; if that is the server, write the name of its certificate"},
		"no such file":      {func(a *Address) { a.TLS.CAFile = "/nowhere/ca.pem" }, abi.Internal, "read the CA file /nowhere/ca.pem"},
	} {
		t.Run(name, func(t *testing.T) {
			r, peers := dialTLS(t, &tls.Config{}, tt.change)
			r.untilLast()
			if name != "no such file" {
				(<-peers).Close()
			}
			wantError(t, r, tt.status, tt.want)
			wantOrder(t, r, "error")
		})
	}
	r, peers := dialTLS(t, &tls.Config{}, func(a *Address) { a.TLS.Name = "example.com" })
	defer (<-peers).Close()
	if r.untilWord("opened"); r.err != nil {
		t.Error(r.err)
	}
}

func TestASocketOverTLSShowsItsCertificate(t *testing.T) {
	r, peers := dialTLS(t, &tls.Config{ClientAuth: tls.RequireAnyClientCert}, func(a *Address) {
		a.TLS.CertFile, a.TLS.KeyFile = certificate(t, "harbour")
	})
	peer := <-peers
	defer peer.Close()
	r.untilWord("opened")
	if got := peer.ConnectionState().PeerCertificates[0].Subject.CommonName; got != "harbour" {
		t.Errorf("the server saw %q", got)
	}
}

// Without TLS on the other side there is nothing to open, and a stream that is
// cut off in the middle of a record was not ended by the server.
func TestWhatIsNoTLS(t *testing.T) {
	l, plain := listen(t, "tcp")
	a := plain.To.(Address)
	a.Network = "tls"
	r := newRecorder()
	open(t, newTestTable(t, patient(Grant{Name: "main", To: a})), abi.OpenStream, r)
	accept(t, l).Write([]byte("220 mail.example ready\r\n"))
	wantError(t, r, abi.ProtocolFailed, "is its address tcp:")

	r, peers := dialTLS(t, &tls.Config{}, func(*Address) {})
	peer := <-peers
	r.untilWord("opened")
	peer.NetConn().Write([]byte("\x17\x03\x03\x01\x00half"))
	peer.NetConn().Close()
	wantError(t, r, abi.Reset, "unexpected EOF")
}

// TestAProxyIsNamed when it is not there, and not the server behind it.
func TestAProxyIsNamed(t *testing.T) {
	at := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 3128}
	for want, inner := range map[string]error{
		"the proxy 192.0.2.1:3128: connection refused; it is that of the entry": &net.OpError{
			Op: "dial", Net: "tcp", Addr: at, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED),
		},
		"the proxy: lookup corp-proxy: no such host; it is": &net.OpError{
			Op: "dial", Net: "tcp", Err: &net.DNSError{Name: "corp-proxy", Err: "no such host"},
		},
	} {
		err := explainHTTP(fmt.Errorf("POST: %w", &net.OpError{Op: "proxyconnect", Net: "tcp", Err: inner}))
		if !strings.HasPrefix(err.Error(), want) {
			t.Errorf("says %v, want %s…", err, want)
		}
	}
}
