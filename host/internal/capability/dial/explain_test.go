//go:build unix

package dial

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/internal/certtest"
)

func TestSocketPaths(t *testing.T) {
	long := "/" + strings.Repeat("x", maxSocketPath-1)
	for path, want := range map[string]string{
		"/run/x": "", "@abstract": "", long: "", "": "missing", "@": "absolute", "x": "absolute", "/a\x00b": "NUL", long + "x": "may have 103",
	} {
		if err := CheckSocketPath(path); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v", path, err)
		}
	}
}

// A proxy that is not reached is named where its address is known.
func TestProxyIsNamed(t *testing.T) {
	refused := errors.New("connection refused")
	at := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 3128}
	for _, test := range []struct {
		err  error
		want string
	}{
		{&net.OpError{Op: "proxyconnect", Err: &net.OpError{Op: "dial", Addr: at, Err: refused}}, "the proxy 127.0.0.1:3128: "},
		{&net.OpError{Op: "proxyconnect", Err: &net.OpError{Op: "dial", Err: refused}}, "the proxy: "},
		{&net.OpError{Op: "proxyconnect", Err: refused}, "the proxy: "},
		{&net.OpError{Op: "dial", Addr: at, Err: refused}, "connection refused"},
	} {
		if got := Explain(test.err).Error(); !strings.HasPrefix(got, test.want) {
			t.Errorf("%v: %s", test.err, got)
		}
	}
}

// Where HTTP/2 does not say why a connection was closed at once, a certificate may be wanted.
func TestClosedAfterTheHandshake(t *testing.T) {
	err := &url.Error{Op: "Post", URL: "https://x", Err: errors.New("http2: client conn could not be established")} // of net/http
	if got := Explain(err).Error(); !strings.Contains(got, "if the server wants a certificate of its client, write one in the entry") {
		t.Error(got)
	}
}

// An alert of the other side is known by its type, and the text says whose it is.
func TestAlert(t *testing.T) {
	near, far := net.Pipe()
	defer near.Close()
	go tls.Server(far, &tls.Config{}).Handshake() // which has no certificate
	err := Explain(tls.Client(near, &tls.Config{ServerName: "x"}).Handshake())
	if alert := tls.AlertError(0); !errors.As(err, &alert) || !strings.HasPrefix(err.Error(), "remote error: tls: ") {
		t.Errorf("%v", err)
	}
}

// A server that wants a certificate of its client says so by an alert, after the handshake or within it.
func TestClientCertificateIsWanted(t *testing.T) {
	server := certtest.New().IssueLocal()
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		near, far := net.Pipe()
		defer near.Close()
		go tls.Server(far, &tls.Config{Certificates: []tls.Certificate{server}, ClientAuth: tls.RequireAnyClientCert, MaxVersion: version}).Handshake()
		client := tls.Client(near, &tls.Config{InsecureSkipVerify: true})
		err := client.Handshake()
		if err == nil {
			_, err = client.Read(make([]byte, 1))
		}
		got := ExplainTLS(err)
		if alert := tls.AlertError(0); !errors.As(got, &alert) || !strings.HasSuffix(got.Error(), `write one in the entry of the server: tls = { cert = "…", key = "…" }`) {
			t.Errorf("TLS %x: %v", version, got)
		}
	}
}

// What a key and a certificate lack is told before they are used.
func TestClientCertificateIsChecked(t *testing.T) {
	authority, dir := certtest.New(), t.TempDir()
	cert, key := certtest.WriteTo(dir, "good", authority.Issue(x509.Certificate{}))
	oldCert, oldKey := certtest.WriteTo(dir, "old", authority.Issue(x509.Certificate{NotAfter: time.Now().Add(-time.Minute)}))
	sealed := filepath.Join(dir, "sealed.pem")
	if err := os.WriteFile(sealed, pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte("x")}), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		tls  TLS
		want string
	}{
		{TLS{CAFile: authority.WriteTo(dir), CertFile: cert, KeyFile: key}, ""},
		{TLS{CertFile: oldCert, KeyFile: oldKey}, "has expired at "},
		{TLS{CAFile: oldCert}, "have expired, the last at "},
		{TLS{CertFile: cert, KeyFile: oldKey}, "private key does not match public key"},
		{TLS{CertFile: cert, KeyFile: sealed}, "is encrypted; expected one without a passphrase"},
	} {
		if err := test.tls.Check(); (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v", test.tls, err)
		}
	}
}

// What is advised mends what is wrong: the file of an authority does not renew a certificate.
func TestInvalidCertificates(t *testing.T) {
	cert := new(x509.Certificate)
	for _, test := range []struct {
		err  error
		want string
	}{
		{x509.CertificateInvalidError{Cert: cert, Reason: x509.Expired}, "if the clock of this machine is right, the server has to renew it"},
		{x509.CertificateInvalidError{Cert: cert, Reason: x509.IncompatibleUsage}, "it is not made for a server, which needs another"},
		{x509.CertificateInvalidError{Cert: cert, Reason: x509.NotAuthorizedToSign}, "tls = { ca = \"…\" }"},
		{x509.UnknownAuthorityError{Cert: cert}, "tls = { ca = \"…\" }"},
		{x509.HostnameError{Certificate: cert, Host: "x"}, "tls = { name = \"…\" }"},
	} {
		if got := ExplainTLS(&tls.CertificateVerificationError{Err: test.err}).Error(); !strings.HasSuffix(got, test.want) {
			t.Errorf("%s; want %s", got, test.want)
		}
	}
}

func TestFilesOfTLS(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.pem")
	if err := os.WriteFile(file, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		tls  TLS
		want string
	}{
		{TLS{}, ""}, {TLS{Name: "x.example"}, ""},
		{TLS{CAFile: file + "x"}, "read the CA file"}, {TLS{CAFile: file}, "no certificate"},
		{TLS{CertFile: file}, "client certificate"}, {TLS{KeyFile: file}, "client certificate"}, {TLS{CertFile: file, KeyFile: file}, "client certificate"},
	} {
		config, err := test.tls.Config()
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v", test.tls, err)
		}
		if err == nil && (config.RootCAs != nil || config.Certificates != nil || config.ServerName != test.tls.Name) {
			t.Errorf("%+v: it reads what is not named", test.tls)
		}
	}
}
