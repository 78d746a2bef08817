//go:build unix

package stream

import (
	"crypto/tls"
	"net"
	"net/http/httptest"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/capability"
	"github.com/wharf-mcp/wharf/host/internal/capability/captest"
	"github.com/wharf-mcp/wharf/host/internal/capability/dial"
)

// listenTLS returns a listener for TLS and a grant that knows its authority.
func listenTLS(t *testing.T, config *tls.Config) (net.Listener, capability.Grant) {
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
	a.TLS.CAFile = captest.WritePEM(t, "ca.pem", "CERTIFICATE", s.Certificate().Raw)
	return l, capability.Grant{Name: "main", To: a}
}

// dialTLS opens what is granted after change, and returns what became of it.
func dialTLS(t *testing.T, config *tls.Config, change func(a *Address)) (*captest.Recorder, <-chan *tls.Conn) {
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
	r := captest.NewRecorder()
	captest.Open(t, captest.NewTable(t, captest.Patient(capability.Grant{Name: "main", To: a})), abi.OpenStream, r)
	return r, peers
}

func TestASocketOverTLSKnowsItsServer(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(a *Address)
		status abi.Status
		want   string
	}{
		"unknown authority": {func(a *Address) { a.TLS = dial.TLS{} }, abi.ProtocolFailed, "unknown authority; if the certificate is right"},
		"another name":      {func(a *Address) { a.TLS.Name = "other.name" }, abi.ProtocolFailed, "other.name; if that is the server, write the name of its certificate"},
		"no such file":      {func(a *Address) { a.TLS.CAFile = "/nowhere/ca.pem" }, abi.Internal, "read the CA file /nowhere/ca.pem"},
	} {
		t.Run(name, func(t *testing.T) {
			r, peers := dialTLS(t, &tls.Config{}, tt.change)
			r.UntilLast()
			if name != "no such file" {
				(<-peers).Close()
			}
			captest.WantError(t, r, tt.status, tt.want)
			captest.WantOrder(t, r, "error")
		})
	}
	r, peers := dialTLS(t, &tls.Config{}, func(a *Address) { a.TLS.Name = "example.com" })
	defer (<-peers).Close()
	if r.UntilWord("opened"); r.Err != nil {
		t.Error(r.Err)
	}
}

func TestASocketOverTLSShowsItsCertificate(t *testing.T) {
	r, peers := dialTLS(t, &tls.Config{ClientAuth: tls.RequireAnyClientCert}, func(a *Address) {
		a.TLS.CertFile, a.TLS.KeyFile = captest.Certificate(t, "harbour")
	})
	peer := <-peers
	defer peer.Close()
	r.UntilWord("opened")
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
	r := captest.NewRecorder()
	captest.Open(t, captest.NewTable(t, captest.Patient(capability.Grant{Name: "main", To: a})), abi.OpenStream, r)
	accept(t, l).Write([]byte("220 mail.example ready\r\n"))
	captest.WantError(t, r, abi.ProtocolFailed, "is its address tcp:")

	r, peers := dialTLS(t, &tls.Config{}, func(*Address) {})
	peer := <-peers
	r.UntilWord("opened")
	peer.NetConn().Write([]byte("\x17\x03\x03\x01\x00half"))
	peer.NetConn().Close()
	captest.WantError(t, r, abi.Reset, "unexpected EOF")
}
