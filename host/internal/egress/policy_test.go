//go:build unix

package egress

import (
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host/internal/capability/dial"
	"github.com/wharf-mcp/wharf/host/internal/capability/httpclient"
)

// newFetcher makes a fetcher that is closed with the test.
func newFetcher(t *testing.T, reach Policy) *Fetcher {
	t.Helper()
	f, err := NewFetcher(reach)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

// entry is the url of a server entry, reached without a proxy.
func entry(t *testing.T, url string) *httpclient.Origin {
	t.Helper()
	o, err := httpclient.ParseOrigin(url)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func get(t *testing.T, f *Fetcher, url string) (*FetchResponse, error) {
	t.Helper()
	return f.Fetch(t.Context(), FetchRequest{Method: "GET", URL: url})
}

// closed are addresses that a public server must not lead to.
var closed = strings.Fields(`
	0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.127.255.255 127.0.0.1 127.1.2.3 127.255.255.254
	169.254.0.1 169.254.169.254 169.254.170.2 172.16.0.1 172.31.255.255 192.0.0.1 192.0.0.8 192.0.0.170
	192.0.2.1 192.31.196.1 192.52.193.1 192.88.99.1 192.168.0.1 192.168.255.255 192.175.48.1 198.18.0.1
	198.19.255.255 198.51.100.7 203.0.113.9 224.0.0.1 239.255.255.250 240.0.0.1 255.255.255.255
	:: ::1 ::2 ::7f00:1 ::a00:1 ::ffff:10.0.0.1 ::ffff:127.0.0.1 ::ffff:169.254.169.254
	64:ff9b::7f00:1 64:ff9b::a9fe:a9fe 64:ff9b::808:808 64:ff9b:1::1 100::1 100:0:0:1::1
	2001::1 2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:2::1 2001:10::1 2001:20::1 2001:db8::1
	2002:7f00:1:: 2002:a9fe:a9fe::1 2002:a00:1::1 2620:4f:8000::1 3ffe::1 3fff::1 5f00::1
	fc00::1 fd00:ec2::254 fd12:3456::1 fe80::1 febf::1 fec0::1 feff::1 ff02::1 ff0e::1`)

func TestAPublicServerLeadsToPublicAddressesOnly(t *testing.T) {
	if len(closed) < 60 {
		t.Fatalf("%d addresses are too few", len(closed))
	}
	f := newFetcher(t, Policy{Discover: true, Server: entry(t, "https://198.41.0.4/mcp")})
	seen := spy(t, f)
	var refused *dial.AddressError
	var broken *RuleError
	for _, s := range closed {
		_, err := get(t, f, "https://"+net.JoinHostPort(s, "443")+"/latest/meta-data")
		if !errors.As(err, &refused) && !errors.As(err, &broken) {
			t.Errorf("the address %s: %v", s, err)
		}
		stranger := f.routes[routeKey{relation: discovered}].dialer
		stranger.Resolver = leads(s)
		if _, err := get(t, f, "https://sso.example/token"); err == nil || errors.Is(err, errSpied) {
			t.Errorf("a name that leads to %s: %v", s, err)
		}
		if to := seen.take(); to != "" {
			t.Errorf("%s: connected to %s", s, to)
		}
	}
	for _, s := range []string{"1.1.1.1", "2606:4700::1111"} {
		addr := net.JoinHostPort(s, "443")
		if _, err := get(t, f, "https://"+addr); !errors.Is(err, errSpied) || seen.take() != addr {
			t.Errorf("%s: %v", s, err)
		}
	}
}

// A name may lead elsewhere each time that it is asked, and to several places
// at once.
func TestANameThatIsBoundAnew(t *testing.T) {
	f := newFetcher(t, Policy{Discover: true, Server: entry(t, "https://198.41.0.4/mcp")})
	seen := spy(t, f)
	next := []string{"1.1.1.1", "169.254.169.254", "127.0.0.1"}
	f.routes[routeKey{relation: discovered}].dialer.Resolver = fakeDNS(func(_ string, v6 bool) []netip.Addr {
		if v6 {
			return nil
		}
		a := netip.MustParseAddr(next[0])
		next = next[1:]
		return []netip.Addr{a}
	})
	var refused *dial.AddressError
	if _, err := get(t, f, "https://rebind.example/"); !errors.Is(err, errSpied) || seen.take() != "1.1.1.1:443" {
		t.Errorf("a public address: %v", err)
	}
	for range 2 {
		if _, err := get(t, f, "https://rebind.example/"); !errors.As(err, &refused) || seen.take() != "" {
			t.Errorf("bound to a special address: %v", err)
		}
	}
	f.routes[routeKey{relation: discovered}].dialer.Resolver = leads("1.1.1.1", "169.254.169.254", "10.0.0.1")
	if get(t, f, "https://many.example/"); seen.take() != "1.1.1.1:443" {
		t.Error("one good address makes the others good")
	}
}

// What a server may lead to follows from where it is itself.
func TestReachFollowsFromTheServer(t *testing.T) {
	const here, here6, name, near, far, cloud = "https://127.0.0.1:9000/", "https://[::1]:9000/", "http://localhost:9000/", "https://10.0.0.9/", "https://1.1.1.1/", "https://169.254.169.254/"
	tests := []struct {
		server string
		passes []string
		not    []string
	}{
		{"https://198.41.0.4/mcp", []string{far}, []string{here, here6, name, near, cloud}},
		{"https://10.0.0.1/mcp", []string{far, near}, []string{here, here6, name, cloud}},
		{"http://192.168.1.1/mcp", []string{far, near}, []string{here, here6, name, cloud}},
		{"https://100.100.1.1/mcp", []string{far, near}, []string{here, name, cloud}},
		{"https://[fd7a::1]/mcp", []string{far, near}, []string{here, name, cloud}},
		{"https://169.254.1.1/mcp", []string{far}, []string{here, name, near, cloud}},
		{"http://127.0.0.1:3000/mcp", []string{far, here, here6, name}, []string{near, cloud}},
		{"http://[::1]:3000/mcp", []string{far, here, name}, []string{near, cloud}},
		{"http://localhost:3000/mcp", []string{far, here, name}, []string{near, cloud}},
		{"https://mcp.localhost/mcp", []string{far, here, name}, []string{near, cloud}},
		{"unix:///run/x.sock#/mcp", []string{far, here, name}, []string{near, cloud}},
	}
	for _, tt := range tests {
		f := newFetcher(t, Policy{Discover: true, Server: entry(t, tt.server)})
		seen := spy(t, f)
		for _, url := range tt.passes {
			if _, err := get(t, f, url); !errors.Is(err, errSpied) || seen.take() == "" {
				t.Errorf("from %s to %s: %v", tt.server, url, err)
			}
		}
		for _, url := range tt.not {
			if _, err := get(t, f, url); err == nil || errors.Is(err, errSpied) || seen.take() != "" {
				t.Errorf("from %s to %s: %v", tt.server, url, err)
			}
		}
	}
}

// A hostile server has its name lead into the network that it wants to look at.
func TestANameDoesNotMakeAServerPrivate(t *testing.T) {
	f := newFetcher(t, Policy{Discover: true, Server: entry(t, "https://evil.example/mcp")})
	seen := spy(t, f)
	f.routes[routeKey{relation: ownServer}].dialer.Resolver = leads("10.0.0.1")
	f.routes[routeKey{relation: discovered}].dialer.Resolver = leads("10.0.0.2")
	for _, url := range []string{"https://inner.example/", "https://10.0.0.2/"} {
		var refused *dial.AddressError
		if _, err := get(t, f, url); !errors.As(err, &refused) {
			t.Errorf("%s: %v", url, err)
		}
		if to := seen.take(); to != "10.0.0.1:443" {
			t.Errorf("%s: connected to %q, wanted is only the server itself", url, to)
		}
	}
}

func TestOnlyWhatIsGrantedIsCalled(t *testing.T) {
	f := newFetcher(t, Policy{
		Origins: []string{"https://sso.example", "https://10.0.0.5:8443", "http://localhost:9000"},
		Server:  entry(t, "https://198.41.0.4/mcp"),
	})
	seen := spy(t, f)
	f.routes[routeKey{relation: named}].dialer.Resolver = leads("10.0.0.5")
	for _, url := range []string{"https://sso.example/a?b", "https://SSO.example:443", "https://10.0.0.5:8443/", "http://localhost:9000/x"} {
		if get(t, f, url); url != "http://localhost:9000/x" && !strings.HasPrefix(seen.take(), "10.0.0.5:") {
			t.Errorf("%s is not called", url)
		}
	}
	for _, url := range []string{
		"https://sso.example:8443/", "https://sso.example.evil.example/", "https://evil.example/", "https://a.sso.example",
		"https://10.0.0.5/", "https://localhost:9000/", "http://localhost:9001/", "https://198.41.0.4/mcp", "http://127.0.0.1:9000/",
	} {
		seen.take()
		var denied *OriginError
		if _, err := get(t, f, url); !errors.As(err, &denied) || seen.take() != "" {
			t.Errorf("%s: %v", url, err)
		} else if !strings.HasPrefix(url, denied.Origin) || denied.Line() != `origins = ["`+denied.Origin+`"]` {
			t.Errorf("%s: the line is %s", url, denied.Line())
		}
	}
}

func TestLocalhostMustBeHere(t *testing.T) {
	f := newFetcher(t, Policy{Discover: true, Server: entry(t, "http://mcp.localhost:3000/")})
	seen := spy(t, f)
	for _, r := range f.routes {
		r.dialer.Resolver = leads("10.0.0.1", "1.1.1.1")
	}
	for _, url := range []string{"http://mcp.localhost:3000/", "http://sso.localhost/"} {
		var broken *RuleError
		if _, err := get(t, f, url); !errors.As(err, &broken) || seen.take() != "" {
			t.Errorf("%s: %v", url, err)
		}
	}
}

var wrongTargets = []string{
	"", "/x", "//h/x", "h", "https:", "https://", "https:///x", "https:h", "ftp://h/", "file:///etc/passwd", "javascript:alert(1)",
	"gopher://h/", "http://h/", "http://1.1.1.1/", "https://u@h/", "https://u:p@h/", "https://@h/", "https://h/#f", "https://h/#",
	"https://h./", "https://.h/", "https://a..b/", "https://127.1/", "https://2130706433/", "https://0x7f000001/", "https://0x7f.0.0.1/",
	"https://0177.0.0.1/", "https://127.0.0.1./", "https://1.2.3.4.5/", "https://a.0x1/", "https://[fe80::1%25eth0]/", "https://h:0/", "https://h:65536/",
	"https://h:x/", "https://h_\u00fc/", "https://\u24db\u24de/", "https://a b/", "https://h\\@evil/", "https://h%2eexample/", "https://-h/", "https://h\r\nX: y/",
	"https://h/\x00", "https://[::1/", "https://h*/", "https://" + strings.Repeat("h", 9000), "https://" + strings.Repeat("a.", 127) + "b/",
}

func TestParseTarget(t *testing.T) {
	for _, s := range wrongTargets {
		var broken *RuleError
		if u, err := parseURL(s); !errors.As(err, &broken) {
			t.Errorf("%q passes as %v, %v", s, u, err)
		}
	}
	for s, want := range map[string]string{
		"https://h": "https://h", "HTTPS://H.Example:8443/A?b=%20": "https://h.example:8443/A?b=%20", "https://1.1.1.1": "https://1.1.1.1",
		"https://[2606:4700::1111]:443/": "https://[2606:4700::1111]:443/", "http://127.0.0.1:1/": "http://127.0.0.1:1/",
		"http://[::1]/x": "http://[::1]/x", "http://LOCALHOST/": "http://localhost/", "https://a-b_c.xn--p1ai/": "https://a-b_c.xn--p1ai/",
	} {
		if u, err := parseURL(s); err != nil || u.String() != want {
			t.Errorf("%q reads as %v, %v", s, u, err)
		}
	}
}

func FuzzParseTarget(f *testing.F) {
	for _, s := range append(wrongTargets, "https://h:1/a?b", "http://[::1]:9/") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := parseURL(s)
		if err != nil {
			return
		}
		again, err := parseURL(u.String())
		if err != nil || again.String() != u.String() || !sameOrigin(u, again) {
			t.Errorf("%q reads as %q, and that as %v, %v", s, u, again, err)
		}
		if u.User != nil || u.Fragment != "" || u.Scheme != "https" && !IsLoopback(u.Hostname()) {
			t.Errorf("%q reads as %q", s, u)
		}
	})
}

func TestReachThatIsNone(t *testing.T) {
	for _, s := range []string{"sso.example", "https://sso.example/", "https://h/x", "http://h", "https://h?x", "https://u:secret@h", "https://*.example"} {
		if _, err := NewFetcher(Policy{Origins: []string{s}}); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", s, err)
		}
	}
	o := entry(t, "https://h/mcp")
	o.TLS.CAFile = "/nowhere"
	if _, err := NewFetcher(Policy{Server: o}); err == nil {
		t.Error("a CA file that is not there passes")
	}
}
