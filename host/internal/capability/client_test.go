//go:build unix

package capability

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/abi"
)

// writePEM writes a block to a file of the test.
func writePEM(t *testing.T, name, kind string, der []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// certificate makes a self-signed certificate and its key.
func certificate(t *testing.T, name string) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return writePEM(t, "cert.pem", "CERTIFICATE", der), writePEM(t, "key.pem", "PRIVATE KEY", keyDER)
}

// serveTLS starts a server for https, of HTTP/2 too, and grants it.
func serveTLS(t *testing.T, config *tls.Config) (*Origin, Grant) {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		peer := "nobody"
		if len(r.TLS.PeerCertificates) > 0 {
			peer = r.TLS.PeerCertificates[0].Subject.CommonName
		}
		fmt.Fprintf(w, "%s from %s: %s", r.Proto, peer, body)
	}))
	s.TLS, s.EnableHTTP2 = config, true
	s.Config.ErrorLog = nil
	s.StartTLS()
	t.Cleanup(s.Close)
	o, grant := origin(t, s.URL+"/mcp")
	o.TLS.CAFile = writePEM(t, "ca.pem", "CERTIFICATE", s.Certificate().Raw)
	return o, grant
}

func TestHTTPSWithItsOwnAuthority(t *testing.T) {
	o, grant := serveTLS(t, nil)
	table := newTestTable(t, patient(grant))
	for range 2 {
		if r := post(t, table, "hello"); string(r.data) != "HTTP/2.0 from nobody: hello" {
			t.Errorf("the server saw %q, %v", r.data, r.err)
		}
	}
	o.TLS.Name = "other.name"
	wantError(t, post(t, newTestTable(t, patient(grant)), ""), abi.ProtocolFailed, "other.name")
	o.TLS = TLS{}
	wantError(t, post(t, newTestTable(t, patient(grant)), ""), abi.ProtocolFailed, "unknown authority; if the certificate is right")
}

func TestClientCertificate(t *testing.T) {
	o, grant := serveTLS(t, &tls.Config{ClientAuth: tls.RequireAnyClientCert})
	if r := post(t, newTestTable(t, patient(grant)), ""); r.err == nil {
		t.Error("the server does not ask for a certificate")
	}
	o.TLS.CertFile, o.TLS.KeyFile = certificate(t, "harbour")
	if r := post(t, newTestTable(t, patient(grant)), "hello"); string(r.data) != "HTTP/2.0 from harbour: hello" {
		t.Errorf("the server saw %q, %v", r.data, r.err)
	}
	o.TLS.KeyFile = ""
	if err := o.Check(); err == nil {
		t.Error("a certificate without its key passes")
	}
}

func TestOldTLSIsRefused(t *testing.T) {
	_, grant := serveTLS(t, &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11})
	wantError(t, post(t, newTestTable(t, patient(grant)), ""), abi.ProtocolFailed, "protocol version")
}

func TestPlainHTTPWhereHTTPSWasMeant(t *testing.T) {
	o, grant := serve(t, func(http.ResponseWriter, *http.Request) {})
	o.base.Scheme = "https"
	wantError(t, post(t, newTestTable(t, patient(grant)), ""), abi.ProtocolFailed, "is its url http://")
}

func TestUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	s := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Host, " ", r.URL) },
	)}}
	s.Start()
	defer s.Close()
	_, grant := origin(t, "unix://"+path+"#/mcp")
	table := newTestTable(t, patient(grant))
	r, _ := ask(t, table, "POST", "?session=1", "{}")
	if r.untilOver(); string(r.data) != "localhost /mcp?session=1" {
		t.Errorf("the server saw %q, %v", r.data, r.err)
	}
	if _, status, _ := table.Open(abi.OpenHTTP, &abi.OpenRequest{Grant: "main", Method: "GET", Target: "http://127.0.0.1/mcp"}, nil); status != abi.Denied {
		t.Errorf("tcp under the grant of a socket: %v", status)
	}
}

func TestProxy(t *testing.T) {
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s as %s", r.URL, r.Header.Get("Proxy-Authorization"))
	}))
	defer proxy.Close()
	o, grant := origin(t, "http://nowhere.invalid/mcp")
	o.Proxy = strings.Replace(proxy.URL, "http://", "http://user:pw@", 1)
	if r := post(t, newTestTable(t, patient(grant)), ""); string(r.data) != "http://nowhere.invalid/mcp as Basic dXNlcjpwdw==" {
		t.Errorf("the proxy saw %q, %v", r.data, r.err)
	}
	for _, bad := range []string{"proxy:80", "ftp://user:pw@proxy", "http://", "http://user:pw@h:x"} {
		o.Proxy = bad
		if err := o.Check(); err == nil || strings.Contains(err.Error(), "pw") {
			t.Errorf("proxy %q: %v", bad, err)
		}
	}
}

func TestProxyOfTheEnvironment(t *testing.T) {
	o, _ := origin(t, "https://h.example/mcp")
	o.Proxy = ""
	if proxy, err := o.proxy(); proxy == nil || err != nil {
		t.Errorf("the environment is not asked: %v", err)
	}
	o, _ = origin(t, "unix:///run/x#/mcp")
	o.Proxy = ""
	if proxy, _ := o.proxy(); proxy != nil {
		t.Error("a proxy for a unix socket")
	}
}
