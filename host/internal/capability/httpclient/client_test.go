//go:build unix

package httpclient

import (
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/capability"
	"github.com/wharf-mcp/wharf/host/internal/capability/captest"
	"github.com/wharf-mcp/wharf/host/internal/capability/dial"
)

// serveTLS starts a server for https, of HTTP/2 too, and grants it.
func serveTLS(t *testing.T, config *tls.Config) (*Origin, capability.Grant) {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		peer := "no certificate"
		if len(r.TLS.PeerCertificates) > 0 {
			peer = r.TLS.PeerCertificates[0].Subject.CommonName
		}
		fmt.Fprintf(w, "%s from %s: %s", r.Proto, peer, body)
	}))
	s.TLS, s.EnableHTTP2 = config, true
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	o, grant := origin(t, s.URL+"/mcp")
	o.TLS.CAFile = captest.WritePEM(t, "ca.pem", "CERTIFICATE", s.Certificate().Raw)
	return o, grant
}

func TestHTTPSWithItsOwnAuthority(t *testing.T) {
	o, grant := serveTLS(t, nil)
	table := captest.NewTable(t, captest.Patient(grant))
	for range 2 {
		if r := post(t, table, "hello"); string(r.Bytes) != "HTTP/2.0 from no certificate: hello" {
			t.Errorf("the server saw %q, %v", r.Bytes, r.Err)
		}
	}
	o.TLS.Name = "other.name"
	captest.WantError(t, post(t, captest.NewTable(t, captest.Patient(grant)), ""), abi.ProtocolFailed, "other.name")
	o.TLS = dial.TLS{}
	captest.WantError(t, post(t, captest.NewTable(t, captest.Patient(grant)), ""), abi.ProtocolFailed, "unknown authority; if the certificate is right")
}

func TestClientCertificate(t *testing.T) {
	o, grant := serveTLS(t, &tls.Config{ClientAuth: tls.RequireAnyClientCert})
	if r := post(t, captest.NewTable(t, captest.Patient(grant)), ""); r.Err == nil {
		t.Error("the server does not ask for a certificate")
	}
	o.TLS.CertFile, o.TLS.KeyFile = captest.Certificate(t, "client")
	if r := post(t, captest.NewTable(t, captest.Patient(grant)), "hello"); string(r.Bytes) != "HTTP/2.0 from client: hello" {
		t.Errorf("the server saw %q, %v", r.Bytes, r.Err)
	}
	o.TLS.KeyFile = ""
	if err := o.Check(); err == nil {
		t.Error("a certificate without its key passes")
	}
}

func TestOldTLSIsRefused(t *testing.T) {
	_, grant := serveTLS(t, &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11})
	captest.WantError(t, post(t, captest.NewTable(t, captest.Patient(grant)), ""), abi.ProtocolFailed, "protocol version")
}

func TestPlainHTTPWhereHTTPSWasMeant(t *testing.T) {
	o, grant := serve(t, func(http.ResponseWriter, *http.Request) {})
	o.base.Scheme = "https"
	captest.WantError(t, post(t, captest.NewTable(t, captest.Patient(grant)), ""), abi.ProtocolFailed, "is its url http://")
}

// A server that speaks TLS answers a plain request with an alert, where it is none of Go.
func TestHTTPSWherePlainHTTPWasMeant(t *testing.T) {
	o, grant := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			conn.Write([]byte("\x15\x03\x01\x00\x02\x02\x46")) // protocol_version
			conn.Close()
		}
	})
	o.base.Scheme = "http"
	captest.WantError(t, post(t, captest.NewTable(t, captest.Patient(grant)), ""), abi.ProtocolFailed, "is its url https://")
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
	table := captest.NewTable(t, captest.Patient(grant))
	r, _ := ask(t, table, "POST", "?session=1", "{}")
	if r.UntilOver(); string(r.Bytes) != "localhost /mcp?session=1" {
		t.Errorf("the server saw %q, %v", r.Bytes, r.Err)
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
	if r := post(t, captest.NewTable(t, captest.Patient(grant)), ""); string(r.Bytes) != "http://nowhere.invalid/mcp as Basic dXNlcjpwdw==" {
		t.Errorf("the proxy saw %q, %v", r.Bytes, r.Err)
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

// A dial and a handshake cost the user more than they cost a guest. So a guest whose
// exchanges have no answer may make one each [capability.Limits.Refill], as of streams.
func TestExchangesWithoutAnAnswerAreRated(t *testing.T) {
	o, grant := serveTLS(t, nil)
	ca := o.TLS.CAFile
	o.TLS = dial.TLS{} // so that every handshake fails
	c := captest.Patient(grant)
	c.Limits.Burst, c.Limits.Refill = 3, time.Hour
	for name, flags := range map[string]uint32{"exchanges": 0, "upgrades": abi.Upgrade} {
		table := captest.NewTable(t, c)
		opens := 0
		for range 30 {
			r := captest.NewRecorder()
			request := &abi.OpenRequest{Grant: "main", Method: "GET", Flags: flags}
			if flags != 0 {
				request.Headers = []abi.Pair{{Key: "upgrade", Value: "websocket"}}
			}
			s, status, err := table.Open(abi.OpenHTTP, request, r)
			if err != nil {
				if status != abi.LimitReached || !strings.Contains(err.Error(), "had no answer: one each 1h0m0s") {
					t.Fatalf("%s: %v, %v", name, status, err)
				}
				continue
			}
			opens++
			s.Write(nil, true)
			s.Flush()
			captest.WantError(t, r, abi.ProtocolFailed, "unknown authority")
		}
		if opens != 6 { // three that are free, and a burst of three
			t.Errorf("%d %s had no answer", opens, name)
		}
	}
	o.TLS.CAFile = ca
	table := captest.NewTable(t, c)
	for range 30 {
		if r := post(t, table, ""); r.Err != nil {
			t.Fatal(r.Err)
		}
	}
}

// What a guest closes before it fails counts too, unless the server is known to answer.
func TestClosedExchangesAreRated(t *testing.T) {
	never := make(chan struct{})
	_, grant := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/mcp/never" {
			<-never
		}
	})
	defer close(never)
	c := captest.Patient(grant)
	c.Limits.Burst, c.Limits.Refill = 3, time.Hour
	for first, want := range map[string]int{"": 30, "/never": 6} {
		table := captest.NewTable(t, c)
		opens := 0
		for n := range 31 {
			target := "/mcp/never"
			if n == 0 {
				target = "/mcp" + first
			}
			r := captest.NewRecorder()
			s, _, err := table.Open(abi.OpenHTTP, &abi.OpenRequest{Grant: "main", Method: "GET", Target: target}, r)
			if err != nil {
				continue
			}
			s.Write(nil, true)
			if s.Flush(); target == "/mcp" {
				r.UntilOver()
				continue
			}
			opens++
			s.Close()
			for table.Usage().Handles > 0 {
				runtime.Gosched()
			}
		}
		if opens != want {
			t.Errorf("%d exchanges were closed after %q, want %d", opens, first, want)
		}
	}
}

// An answer ends the rating: the server is there again.
func TestAnAnswerEndsTheRatingOfExchanges(t *testing.T) {
	var down atomic.Bool
	_, grant := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if down.Load() {
			panic(http.ErrAbortHandler)
		}
	})
	c := captest.Patient(grant)
	c.Limits.Burst, c.Limits.Refill = 3, time.Hour
	table := captest.NewTable(t, c)
	down.Store(true)
	for range 4 {
		if r := post(t, table, "{}"); r.Err == nil {
			t.Fatal("the server answered")
		}
	}
	down.Store(false)
	for range 30 {
		if r := post(t, table, "{}"); r.Err != nil {
			t.Fatal(r.Err)
		}
	}
}
