//go:build unix

package egress

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

	"github.com/wharf-mcp/wharf/host/internal/capability/captest"
	"github.com/wharf-mcp/wharf/host/internal/capability/dial"
)

// secure starts an https server on this machine that asks for a certificate, and
// says whose it was shown.
func secure(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		peer := "no certificate"
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
	f := newFetcher(t, Policy{Discover: true, Origins: []string{friend.URL}, Server: o})
	if _, err := get(t, f, foreigner.URL); err == nil || !strings.Contains(err.Error(), "name its authority's file in the entry of the server") {
		t.Errorf("a certificate of an unknown authority: %v", err)
	}
	o.TLS.CAFile = captest.WritePEM(t, "ca.pem", "CERTIFICATE", server.Certificate().Raw)
	o.TLS.CertFile, o.TLS.KeyFile = captest.Certificate(t, "client")
	o.TLS.Name = "example.com"
	f = newFetcher(t, Policy{Discover: true, Origins: []string{friend.URL}, Server: o})
	for url, want := range map[string]string{server.URL: "client", friend.URL: "client", foreigner.URL: "no certificate"} {
		if got, err := get(t, f, url); err != nil || string(got.Body) != "HTTP/2.0 from "+want {
			t.Errorf("want %s: %v, %v", want, got, err)
		}
	}
	o.TLS.Name = "other.name"
	f = newFetcher(t, Policy{Discover: true, Origins: []string{friend.URL}, Server: o})
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
	f := newFetcher(t, Policy{Discover: true, Server: o})
	r, err := f.routeFor(routeKey{relation: ownServer})
	if err != nil {
		t.Fatal(err)
	}
	r.dialer.Resolver = leads("127.0.0.1")
	if at := f.verifiedAddr(t.Context()); at.IsValid() {
		t.Errorf("met at %s by a certificate of an unknown authority", at)
	}
	o.TLS.CAFile = captest.WritePEM(t, "ca.pem", "CERTIFICATE", s.Certificate().Raw)
	if at := f.verifiedAddr(t.Context()); at != netip.MustParseAddr("127.0.0.1") {
		t.Errorf("met at %s", at)
	}
	o.TLS.Name = "example.org"
	if at := f.verifiedAddr(t.Context()); at.IsValid() {
		t.Errorf("met at %s by a certificate for another name", at)
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
	f := newFetcher(t, Policy{Discover: true, Origins: []string{"https://10.0.0.5", "http://localhost:1"}, Server: o})
	f.resolver = leads() // nowhere
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

// innerNames are names that only a private network has.
var innerNames = []string{
	"intranet", "metadata", "metadata.google.internal", "METADATA.Google.Internal", "printer.local", "sso.corp", "nas.home", "nas.lan", "x.home.arpa",
	"wiki.intranet", "db.private", "localhost.localdomain", "vault.service.consul", "kubernetes.default.svc", "x.svc.cluster.local", "x.test",
}

// A proxy looks names up for itself. What this machine knows of them is asked
// before; what it does not know, the proxy is given.
func TestNamesBehindAProxy(t *testing.T) {
	proxy, take := asked(t)
	o := entry(t, "https://mcp.example/mcp")
	o.Proxy = proxy
	f := newFetcher(t, Policy{Discover: true, Origins: []string{"https://sso.corp.internal", "https://wiki"}, Server: o})
	refused := func(url string, as any) {
		t.Helper()
		if _, err := get(t, f, url); !errors.As(err, as) {
			t.Errorf("%s: %v", url, err)
		}
		if to := take(); to != "" {
			t.Errorf("%s: the proxy was asked to %s", url, to)
		}
	}
	f.resolver = leads() // so that nothing but the name itself tells
	for _, name := range innerNames {
		refused("https://"+name+"/latest", new(*RuleError))
	}
	for _, addrs := range [][]string{{"169.254.169.254"}, {"10.0.0.1"}, {"1.1.1.1", "192.168.0.1"}, {"fd00:ec2::254"}, {"127.0.0.1"}} {
		f.resolver = leads(addrs...)
		refused("https://rebind.example/latest", new(*dial.AddressError))
		for _, granted := range []string{"https://mcp.example", "https://sso.corp.internal", "https://wiki"} {
			if get(t, f, granted); !strings.HasPrefix(take(), "CONNECT ") {
				t.Errorf("%s, which the user named, is refused", granted)
			}
		}
	}
	for _, addrs := range [][]string{{"1.1.1.1", "2606:4700::1111"}, nil} {
		f.resolver = leads(addrs...)
		if get(t, f, "https://sso.example/"); take() != "CONNECT sso.example:443" {
			t.Errorf("a name that leads to %v is refused", addrs)
		}
	}
}

// A look-up that fails tells nothing about a name. One that finds nothing does: the name
// is the proxy's alone, or does not exist.
func TestNamesThatCannotBeLookedUpBehindAProxy(t *testing.T) {
	proxy, take := asked(t)
	o := entry(t, "https://mcp.example/mcp")
	o.Proxy = proxy
	f := newFetcher(t, Policy{Discover: true, Origins: []string{"https://sso.example"}, Server: o})
	for code, passes := range map[byte]bool{nxDomain: true, serverFailure: false, notImplemented: false, refused: false} {
		f.resolver = fails(code)
		_, err := get(t, f, "https://inner.example:8443/latest")
		if to := take(); passes != (to == "CONNECT inner.example:8443") {
			t.Errorf("code %d: the proxy was asked to %q; %v", code, to, err)
		}
		var rule *RuleError
		if !passes && (!errors.As(err, &rule) || !strings.HasSuffix(err.Error(), `grant it: origins = ["https://inner.example:8443"]`)) {
			t.Errorf("code %d: %v", code, err)
		}
		if get(t, f, "https://sso.example/"); take() != "CONNECT sso.example:443" {
			t.Errorf("code %d: an origin that the user named is refused", code)
		}
	}
}

// Who gives a socks5h proxy wants no name to be asked about from here.
func TestNoNameIsAskedForASocksProxy(t *testing.T) {
	o := entry(t, "https://mcp.example/mcp")
	o.Proxy = "socks5h://127.0.0.1:1"
	f := newFetcher(t, Policy{Discover: true, Server: o})
	f.resolver = fakeDNS(func(name string, _ bool) []netip.Addr { t.Errorf("asked about %s", name); return nil })
	if _, err := f.route(t.Context(), entry(t, "https://sso.example").URL()); err != nil {
		t.Error(err)
	}
	if _, err := f.route(t.Context(), entry(t, "https://metadata.google.internal").URL()); !errors.As(err, new(*RuleError)) {
		t.Errorf("the name of a private network: %v", err)
	}
}

// Without a proxy the names of private networks are for servers that are on one.
func TestInnerNamesOfAServerInside(t *testing.T) {
	for server, passes := range map[string]bool{"https://198.41.0.4/mcp": false, "https://10.0.0.1/mcp": true} {
		f := newFetcher(t, Policy{Discover: true, Server: entry(t, server)})
		seen := spy(t, f)
		f.routes[routeKey{relation: discovered}].dialer.Resolver = leads("10.0.0.9")
		for _, name := range innerNames {
			_, err := get(t, f, "https://"+name+"/")
			if to := seen.take(); (to != "") != passes || !passes && !errors.As(err, new(*RuleError)) {
				t.Errorf("from %s to %s: connected to %q, %v", server, name, to, err)
			}
		}
	}
}

// Behind a unix socket lies the server, and nothing else.
func TestFetchFromAServerBehindASocket(t *testing.T) {
	l := captest.NewLeash(t)
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Host+r.URL.Path) })}
	go s.Serve(l.Listener)
	defer s.Close()
	f := newFetcher(t, Policy{Discover: true, Server: entry(t, "unix://"+l.Listener.Addr().String()+"#/mcp")})
	got, err := get(t, f, "http://localhost/.well-known/x")
	if err != nil || string(got.Body) != "localhost/.well-known/x" {
		t.Errorf("got %v, %v", got, err)
	}
	seen := spy(t, f)
	if _, err := get(t, f, "http://localhost:81/"); !errors.Is(err, errSpied) || seen.take() == "" {
		t.Errorf("another port of this machine: %v", err)
	}
}
