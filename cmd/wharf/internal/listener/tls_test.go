package listener

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wharf-mcp/wharf/host/gateway"
	"github.com/wharf-mcp/wharf/internal/certtest"
)

// S6: with an authority of clients, a client is known by a certificate of that authority alone, and
// by its only name.
func TestS6ClientCertificates(t *testing.T) {
	t.Parallel()
	ours, other, dir := certtest.New(), certtest.New(), t.TempDir()
	cert, key := certtest.WriteTo(dir, "server", ours.IssueLocal())
	config, err := TLS(cert, key, ours.WriteTo(dir))
	if err != nil {
		t.Fatal(err)
	}
	address, over := serveTLS(t, config)
	uri := func(text string) []*url.URL {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return []*url.URL{u}
	}
	ci := uri("spiffe://corp/ci")
	for name, c := range map[string]struct {
		by      *certtest.Authority
		cert    x509.Certificate
		version uint16
		want    string // "" is a handshake that fails
	}{
		"a URI":                  {ours, x509.Certificate{URIs: ci}, 0, "200 spiffe://corp/ci"},
		"a DNS name":             {ours, x509.Certificate{DNSNames: []string{"ci.example"}}, 0, "200 ci.example"},
		"an email address":       {ours, x509.Certificate{EmailAddresses: []string{"ann@example.com"}}, 0, "200 ann@example.com"},
		"none":                   {nil, x509.Certificate{}, 0, ""},
		"of another authority":   {other, x509.Certificate{URIs: ci}, 0, ""},
		"expired":                {ours, x509.Certificate{URIs: ci, NotAfter: time.Now().Add(-time.Minute)}, 0, ""},
		"not valid yet":          {ours, x509.Certificate{URIs: ci, NotBefore: time.Now().Add(time.Minute)}, 0, ""},
		"of a server":            {ours, x509.Certificate{URIs: ci, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}, 0, ""},
		"over TLS 1.1":           {ours, x509.Certificate{URIs: ci}, tls.VersionTLS11, ""},
		"over TLS 1.2":           {ours, x509.Certificate{URIs: ci}, tls.VersionTLS12, "200 spiffe://corp/ci"},
		"a name of its subject":  {ours, x509.Certificate{Subject: pkix.Name{CommonName: "ci"}}, 0, "403 "},
		"two names":              {ours, x509.Certificate{URIs: ci, DNSNames: []string{"ci.example"}}, 0, "403 "},
		"two names of one kind":  {ours, x509.Certificate{DNSNames: []string{"ci.example", "ann.example"}}, 0, "403 "},
		"an address":             {ours, x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}, 0, "403 "},
		"a name and an address":  {ours, x509.Certificate{URIs: ci, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}, 0, "403 "},
		"a name that says local": {ours, x509.Certificate{DNSNames: []string{"local"}}, 0, "200 local"},
	} {
		client := &tls.Config{RootCAs: ours.Pool(), ServerName: "localhost", MinVersion: tls.VersionTLS10, MaxVersion: c.version}
		if c.by != nil {
			shown := c.by.Issue(c.cert)
			client.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &shown, nil }
		}
		if got, err := ask(client, address); !strings.HasPrefix(got, c.want) || (c.want == "") != (err != nil) {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		}
	}
	if resp, err := http.Get("http://" + address); err != nil || resp.StatusCode != http.StatusBadRequest {
		t.Errorf("without TLS: %v, %v", resp, err)
	}
	over()

	shown := ours.Issue(x509.Certificate{URIs: ci, NotAfter: time.Now().Add(-time.Minute)}).Leaf
	r := &http.Request{TLS: &tls.ConnectionState{PeerCertificates: []*x509.Certificate{shown}, VerifiedChains: [][]*x509.Certificate{{shown}}}}
	if who, err := gateway.Certificate(r); err == nil || !strings.Contains(err.Error(), "has expired") {
		t.Errorf("expired in the middle of a connection: %q, %v", who, err)
	}
	r.TLS.VerifiedChains = nil
	if who, err := gateway.Certificate(r); err == nil {
		t.Errorf("not verified: %q", who)
	}
	if who, err := gateway.Certificate(new(http.Request)); err == nil {
		t.Errorf("without TLS: %q", who)
	}
}

// serveTLS serves the names of clients until over is called.
func serveTLS(t *testing.T, config *tls.Config) (address string, over func()) {
	l, err := HTTP(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		Serve(ctx, l, config, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			who, err := gateway.Certificate(r)
			if err != nil {
				w.WriteHeader(http.StatusForbidden)
			}
			io.WriteString(w, who)
		}), func() {})
	}()
	return l.Addr().String(), func() { cancel(); <-done }
}

// ask returns the status and the body of a response.
func ask(client *tls.Config, address string) (string, error) {
	transport := &http.Transport{TLSClientConfig: client, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Get("https://" + address)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.Status[:4] + string(body), err
}

// Files that are no certificates are told at the start. A certificate that is renewed later is used, and one
// that is broken then is not.
func TestCertificateFiles(t *testing.T) {
	ours, dir := certtest.New(), t.TempDir()
	cert, key := certtest.WriteTo(dir, "server", ours.IssueLocal())
	_, otherKey := certtest.WriteTo(dir, "other", ours.IssueLocal())
	none := filepath.Join(dir, "none.pem")
	if err := os.WriteFile(none, []byte("none"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][4]string{
		{none, key, "", none}, {cert, otherKey, "", otherKey}, {cert, filepath.Join(dir, "gone"), "", "gone"},
		{cert, key, none, "no certificate in PEM"}, {cert, key, filepath.Join(dir, "gone"), "gone"},
	} {
		if _, err := TLS(c[0], c[1], c[2]); err == nil || !strings.Contains(err.Error(), c[3]) {
			t.Errorf("%q: %v", c, err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		config, err := TLS(cert, key, "")
		if err != nil {
			t.Fatal(err)
		}
		used := func() []byte {
			c, err := config.GetCertificate(nil)
			if err != nil {
				t.Fatal(err)
			}
			return c.Certificate[0]
		}
		first := used()
		certtest.WriteTo(dir, "server", ours.IssueLocal())
		if !bytes.Equal(used(), first) {
			t.Error("the files are read at each handshake")
		}
		time.Sleep(reloadTime + 1)
		second := used()
		if bytes.Equal(second, first) {
			t.Error("the former certificate is still used")
		}
		os.WriteFile(cert, []byte("broken"), 0o600)
		time.Sleep(reloadTime + 1)
		if !bytes.Equal(used(), second) {
			t.Error("another certificate is used")
		}
	})
}

// Which addresses other machines can reach.
func TestAddress(t *testing.T) {
	for text, want := range map[string]string{
		"7777": "127.0.0.1:7777", ":7777": "127.0.0.1:7777", "localhost:0": "127.0.0.1:0", "127.9.9.9:1": "127.9.9.9:1", "[::1]:1": "[::1]:1",
		"0.0.0.0:1": "0.0.0.0:1 elsewhere", "[::]:1": "[::]:1 elsewhere", "192.0.2.7:1": "192.0.2.7:1 elsewhere", "example.com:1": "example.com:1 elsewhere",
		"x": "error", "127.0.0.1:x": "error", "::1": "error", "1:2:3": "error", "localhost.:1": "localhost.:1 elsewhere",
	} {
		got, elsewhere, err := Address(text)
		if elsewhere {
			got += " elsewhere"
		}
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%s: %s, %v; want %s", text, got, err, want)
		}
	}
}

// A client that cannot do a handshake writes nothing to stderr.
func TestFaults(t *testing.T) {
	var got bytes.Buffer
	w := faults{&got}
	io.WriteString(w, "2026/11/28 http: TLS handshake error from 192.0.2.7:1: EOF\n")
	io.WriteString(w, "2026/11/28 http: panic serving\n")
	if got.String() != "2026/11/28 http: panic serving\n" {
		t.Error(got.String())
	}
}

// What would keep clients out is found without a client.
func TestCheckTLS(t *testing.T) {
	t.Parallel()
	authority, dir := certtest.New(), t.TempDir()
	cert, key := certtest.WriteTo(dir, "server", authority.IssueLocal())
	oldCert, oldKey := certtest.WriteTo(dir, "old", authority.Issue(x509.Certificate{DNSNames: []string{"localhost"}, NotAfter: time.Now().Add(-time.Minute)}))
	both := filepath.Join(dir, "both.pem")
	var texts [][]byte
	for _, file := range []string{oldCert, authority.WriteTo(dir)} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, text)
	}
	if err := os.WriteFile(both, bytes.Join(texts, nil), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		cert, key, clientCA string
		hosts               []string
		want                string
	}{
		{cert, key, "", nil, ""},
		{cert, key, authority.WriteTo(dir), []string{"mcp.example.com", "localhost"}, ""},
		{cert, key, "", []string{"mcp.example.com"}, "the certificate is for none of hosts: mcp.example.com"},
		{cert, key, oldCert, nil, "the authority of clients in " + oldCert + " has expired at "},
		{cert, key, both, nil, ""},
		{cert, key, key, nil, "has no certificate in PEM"},
		{cert, oldKey, "", nil, "private key does not match public key"},
		{cert, filepath.Join(dir, "none"), "", nil, "no such file"},
		{oldCert, oldKey, "", nil, "the certificate has expired at "},
	} {
		if err := CheckTLS(c.cert, c.key, c.clientCA, c.hosts); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
