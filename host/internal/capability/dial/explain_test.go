//go:build unix

package dial

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
