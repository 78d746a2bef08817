package contestant

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/wharf-mcp/wharf/cmd/compare/internal/server"
)

// TestMain lets the test binary be the server, or one that tells lies.
func TestMain(m *testing.M) {
	switch os.Args[len(os.Args)-1] {
	case "serve":
		server.Serve(os.Stdin, os.Stdout, server.Legacy, server.Tools)
	case "lie":
		server.Serve(os.Stdin, liar{}, server.Legacy, server.Tools)
	case "serve-http":
		server.ServeWeb(os.Stdin, os.Stdout, server.Legacy, server.Tools)
	default:
		os.Exit(m.Run())
	}
}

// liar changes a letter of what the server echoes.
type liar struct{}

func (liar) Write(b []byte) (int, error) {
	os.Stdout.WriteString(strings.Replace(string(b), "abc", "abd", 1))
	return len(b), nil
}

// dock returns what to connect to, with the test binary as the server.
func dock(t testing.TB, how string) Dock {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Dock{Address: Address{Command: []string{self, how}}, CacheDir: t.TempDir(), Heard: NewTally()}
}

// webDock returns a server over HTTP, in this process.
func webDock(t testing.TB, f server.Form) Dock {
	t.Helper()
	w, err := server.NewWeb(server.Legacy, server.Tools)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return Dock{Address: Address{URL: w.URL(f)}, CacheDir: t.TempDir(), Heard: NewTally()}
}

// socketDock returns a server on a unix socket, in this process.
func socketDock(t testing.TB) Dock {
	t.Helper()
	s, err := server.NewSocket(server.Legacy, server.Tools)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return Dock{Address: Address{Socket: s.Path()}, CacheDir: t.TempDir(), Heard: NewTally()}
}

// connect opens a contestant, and closes it at the end of the test.
func connect(t testing.TB, name string, d Dock) Client {
	t.Helper()
	p, err := Open(context.Background(), name, d)
	if err != nil {
		t.Fatal(err)
	}
	c, err := p.Connect(context.Background(), d.Address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		p.Close()
	})
	return c
}

func TestWrongEchoIsNoticed(t *testing.T) {
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			c := connect(t, name, dock(t, "lie"))
			if err := c.Echo(t.Context(), NewText(100)); err == nil || !strings.Contains(err.Error(), "differs") {
				t.Errorf("got %v, expected that the echo differs", err)
			}
		})
	}
}

func TestWrongEchoOverHTTPIsNoticed(t *testing.T) {
	cache := t.TempDir()
	for _, form := range []server.Form{server.JSON, server.Events} {
		honest := webDock(t, form)
		to, err := url.Parse(honest.URL)
		if err != nil {
			t.Fatal(err)
		}
		liar := httptest.NewServer(&httputil.ReverseProxy{
			Rewrite: func(r *httputil.ProxyRequest) { r.Out.URL = to },
			ModifyResponse: func(r *http.Response) error {
				truth, err := io.ReadAll(r.Body)
				r.Body = io.NopCloser(bytes.NewReader(bytes.Replace(truth, []byte("abc"), []byte("abd"), 1)))
				return err
			},
		})
		defer liar.Close()
		d := honest
		d.URL, d.CacheDir = liar.URL, cache
		for _, name := range Names() {
			t.Run(string(form)+"/"+name, func(t *testing.T) {
				c := connect(t, name, d)
				if err := c.Echo(t.Context(), NewText(100)); err == nil || !strings.Contains(err.Error(), "differs") {
					t.Errorf("got %v, expected that the echo differs", err)
				}
			})
		}
	}
}

func TestCheckLooksAtTheLengthOfEveryEcho(t *testing.T) {
	text := NewText(10)
	if err := check(text, text.text); err != nil {
		t.Fatal(err)
	}
	if err := check(text, []byte("abcdefghi")); err == nil {
		t.Error("a short echo passed")
	}
}

// TestFloorGivesEveryCallerItsOwnAnswer has callers of two sizes, the larger of
// which fills both pipes, so that reading and writing must not wait for each
// other.
func TestFloorGivesEveryCallerItsOwnAnswer(t *testing.T) {
	for name, d := range map[string]Dock{
		"stdio":  dock(t, "serve"),
		"socket": socketDock(t),
		"json":   webDock(t, server.JSON),
		"events": webDock(t, server.Events),
	} {
		t.Run(name, func(t *testing.T) { crowd(t, connect(t, Floor, d)) })
	}
}

func crowd(t *testing.T, c Client) {
	sizes := []*Text{NewText(100), NewText(300_000)}
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			for range 20 {
				if err := c.Echo(context.Background(), sizes[i%2]); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestFloorNoticesARefusalOverHTTP(t *testing.T) {
	for _, f := range []server.Form{"nowhere", ""} {
		d := webDock(t, f)
		p, err := Open(t.Context(), Floor, d)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Connect(t.Context(), d.Address); err == nil || !strings.Contains(err.Error(), "404") {
			t.Errorf("%q: got %v", f, err)
		}
	}
}

// TestTunedPeersKeepTheirConnections looks at what -tuned is for: no peer that
// comes back finds the connection gone.
func TestTunedPeersKeepTheirConnections(t *testing.T) {
	if d := (Dock{}); d.client().Transport != nil {
		t.Error("the default is not the default")
	}
	transport := Dock{Tuned: true}.client().Transport.(*http.Transport)
	if transport.MaxIdleConnsPerHost < 64 || transport.MaxIdleConns < 64 {
		t.Errorf("%d connections are kept, %d to one host", transport.MaxIdleConns, transport.MaxIdleConnsPerHost)
	}
}

func TestFloorCountsNotifications(t *testing.T) {
	d := dock(t, "serve")
	c := connect(t, Floor, d)
	d.Heard.Expect(5_000)
	if err := c.Flood(t.Context(), 5_000); err != nil {
		t.Fatal(err)
	}
	<-d.Heard.Done()
}

func TestFloorNoticesTheEndOfTheServer(t *testing.T) {
	c := connect(t, Floor, dock(t, "serve"))
	c.(*floor).in.Close()
	if err := c.Echo(t.Context(), NewText(1)); err == nil {
		t.Error("no error after the server was ended")
	}
}
