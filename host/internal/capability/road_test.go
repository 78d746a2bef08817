//go:build unix

package capability

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
)

// secure starts an https server on this machine that asks for a certificate, and
// says whose it was shown.
func secure(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		peer := "nobody"
		if len(r.TLS.PeerCertificates) > 0 {
			peer = r.TLS.PeerCertificates[0].Subject.CommonName
		}
		fmt.Fprintf(w, "%s from %s", r.Proto, peer)
	}))
	s.TLS, s.EnableHTTP2 = &tls.Config{ClientAuth: tls.RequestClientCert}, true
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// All httptest servers have one certificate, for example.com and 127.0.0.1.
func TestWhoIsShownWhat(t *testing.T) {
	server, friend, foreigner := secure(t), secure(t), secure(t)
	o := entry(t, server.URL+"/mcp")
	f := newFetcher(t, Reach{Discover: true, Origins: []string{friend.URL}, Server: o})
	if _, err := get(t, f, foreigner.URL); err == nil || !strings.Contains(err.Error(), "name its authority's file in the entry of the server") {
		t.Errorf("a certificate that nobody knows: %v", err)
	}
	o.TLS.CAFile = writePEM(t, "ca.pem", "CERTIFICATE", server.Certificate().Raw)
	o.TLS.CertFile, o.TLS.KeyFile = certificate(t, "harbour")
	o.TLS.Name = "example.com"
	f = newFetcher(t, Reach{Discover: true, Origins: []string{friend.URL}, Server: o})
	for url, want := range map[string]string{server.URL: "harbour", friend.URL: "harbour", foreigner.URL: "nobody"} {
		if got, err := get(t, f, url); err != nil || string(got.Body) != "HTTP/2.0 from "+want {
			t.Errorf("want %s: %v, %v", want, got, err)
		}
	}
	o.TLS.Name = "other.name"
	f = newFetcher(t, Reach{Discover: true, Origins: []string{friend.URL}, Server: o})
	for url, good := range map[string]bool{server.URL: false, friend.URL: true, foreigner.URL: true} {
		if _, err := get(t, f, url); (err == nil) != good {
			t.Errorf("with another name of the server: %v", err)
		}
	}
}

// The server is where its certificate is, not where its name leads to.
func TestMeet(t *testing.T) {
	s := secure(t)
	o := entry(t, strings.Replace(s.URL, "127.0.0.1", "example.com", 1))
	f := newFetcher(t, Reach{Discover: true, Server: o})
	r, err := f.open(course{to: own})
	if err != nil {
		t.Fatal(err)
	}
	r.dialer.names = leads("127.0.0.1")
	if at := f.meet(t.Context()); at.IsValid() {
		t.Errorf("met at %s by a certificate that nobody knows", at)
	}
	o.TLS.CAFile = writePEM(t, "ca.pem", "CERTIFICATE", s.Certificate().Raw)
	if at := f.meet(t.Context()); at != netip.MustParseAddr("127.0.0.1") {
		t.Errorf("met at %s", at)
	}
	o.TLS.Name = "example.org"
	if at := f.meet(t.Context()); at.IsValid() {
		t.Errorf("met at %s by a certificate for somebody else", at)
	}
}

// asked is a proxy that writes down what it was asked for.
func asked(t *testing.T) (url string, take func() string) {
	t.Helper()
	var mu sync.Mutex
	var lines []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, r.Method+" "+r.Host)
		w.WriteHeader(http.StatusBadGateway)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() string {
		mu.Lock()
		defer mu.Unlock()
		all := strings.Join(lines, ", ")
		lines = nil
		return all
	}
}

func TestFetchThroughAProxy(t *testing.T) {
	proxy, take := asked(t)
	o := entry(t, "https://mcp.example/mcp")
	o.Proxy = proxy
	f := newFetcher(t, Reach{Discover: true, Origins: []string{"https://10.0.0.5", "http://localhost:1"}, Server: o})
	for url, want := range map[string]string{
		"https://mcp.example/x": "CONNECT mcp.example:443", "https://sso.example:8443/x": "CONNECT sso.example:8443",
		"https://10.0.0.5/x": "CONNECT 10.0.0.5:443", "https://1.1.1.1/x": "CONNECT 1.1.1.1:443", "http://localhost:1/": "",
	} {
		if _, err := get(t, f, url); err == nil || take() != want {
			t.Errorf("%s: %v, want %s", url, err, want)
		}
	}
	for _, a := range closed {
		url := "https://" + a + "/"
		if strings.Contains(a, ":") {
			url = "https://[" + a + "]/"
		}
		if _, err := get(t, f, url); err == nil || take() != "" {
			t.Errorf("%s: %v", url, err)
		}
	}
	for _, url := range slices.Concat(wrongTargets, []string{"https://localhost/", proxy}) {
		if _, err := get(t, f, url); err == nil || take() != "" {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// Behind a unix socket lies the server, and nobody else.
func TestFetchFromAServerBehindASocket(t *testing.T) {
	l := newLeash(t)
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Host+r.URL.Path) })}
	go s.Serve(l.listener)
	defer s.Close()
	f := newFetcher(t, Reach{Discover: true, Server: entry(t, "unix://"+l.listener.Addr().String()+"#/mcp")})
	got, err := get(t, f, "http://localhost/.well-known/x")
	if err != nil || string(got.Body) != "localhost/.well-known/x" {
		t.Errorf("got %v, %v", got, err)
	}
	seen := spy(t, f)
	if _, err := get(t, f, "http://localhost:81/"); !errors.Is(err, errSpied) || seen.take() == "" {
		t.Errorf("another port of this machine: %v", err)
	}
}
