//go:build unix

package egress

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/capability/httpclient"
)

// local starts a server on this machine, and returns a fetcher for an entry
// whose server runs there too.
func local(t *testing.T, handler http.HandlerFunc) (*Fetcher, string) {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return newFetcher(t, Policy{Discover: true, Server: entry(t, "http://localhost:1/mcp")}), s.URL
}

func TestFetch(t *testing.T) {
	f, url := local(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header()["X-Twice"] = []string{"a", "b"}
		w.Header().Set("Set-Cookie", "a=b")
		w.Header().Set("DPoP-Nonce", "n")
		w.WriteHeader(400)
		fmt.Fprintf(w, "%s %s %s %s %q %q %v", r.Method, r.URL, body, r.Header.Get("Authorization"), r.UserAgent(), r.Cookies(), r.Header["X-Of-The-Entry"])
	})
	f.policy.Server.Headers = []abi.Pair{{Key: "X-Of-The-Entry", Value: "secret"}}
	for range 2 {
		got, err := f.Fetch(t.Context(), FetchRequest{
			Method: "POST", URL: url + "/token?a=b", Body: []byte("grant_type=x"),
			Header: map[string]string{"content-type": "application/x-www-form-urlencoded", "Authorization": "Basic x"},
		})
		if err != nil {
			t.Fatal(err)
		}
		if want := `POST /token?a=b grant_type=x Basic x "wharf" [] []`; string(got.Body) != want || got.Status != 400 || got.URL != url+"/token?a=b" {
			t.Errorf("got %+v, %q", got, got.Body)
		}
		if h := got.Header; h["x-twice"] != "a, b" || h["dpop-nonce"] != "n" || h["set-cookie"] != "" {
			t.Errorf("the headers are %q", h)
		}
	}
	got, err := get(t, f, url)
	if err != nil || !strings.HasPrefix(string(got.Body), "GET /  ") {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestFetchRefuses(t *testing.T) {
	f, url := local(t, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s was sent with %q", r.Method, r.Header) })
	many := map[string]string{}
	for i := range httpclient.MaxHeaders + 1 {
		many[fmt.Sprintf("X-%d", i)] = ""
	}
	requests := map[string]FetchRequest{
		"no method":      {},
		"PUT":            {Method: "PUT"},
		"get":            {Method: "get"},
		"a body":         {Method: "GET", Body: []byte("x")},
		"a large body":   {Method: "POST", Body: make([]byte, MaxPosted+1)},
		"four redirects": {Method: "GET", Redirects: 4},
		"-1 redirects":   {Method: "GET", Redirects: -1},
		"POST redirects": {Method: "POST", Redirects: 1},
		"twice":          {Method: "GET", Header: map[string]string{"accept": "a", "Accept": "b"}},
		"many headers":   {Method: "GET", Header: many},
		"large headers":  {Method: "GET", Header: map[string]string{"X": strings.Repeat("x", httpclient.MaxHeaderBytes)}},
		"a line end":     {Method: "GET", Header: map[string]string{"X": "a\r\nHost: b"}},
		"no name":        {Method: "GET", Header: map[string]string{"": "x"}},
		"a colon":        {Method: "GET", Header: map[string]string{"X:": "x"}},
	}
	for _, name := range []string{
		"Host", "cookie", "Cookie2", "user-agent", "Connection", "keep-alive", "Proxy-Authorization", "proxy-connection", "TE", "Trailer",
		"Transfer-Encoding", "Upgrade", "Content-Length", "Accept-Encoding", "Expect", "HTTP2-Settings", "Content-Encoding",
	} {
		requests[name] = FetchRequest{Method: "GET", Header: map[string]string{name: "x"}}
	}
	for name, r := range requests {
		r.URL = url
		var broken *RuleError
		if _, err := f.Fetch(t.Context(), r); !errors.As(err, &broken) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Errors are shown and logged; a query may hold a secret.
func TestAnErrorHoldsNoSecret(t *testing.T) {
	f, _ := local(t, nil)
	for _, url := range []string{
		"https://u:secret@h/", "https://h/\x00?secret", "https://1.1.1.1/?secret#f", "http://127.0.0.1:1/?secret", "https://10.0.0.1/?secret", "secret:secret",
	} {
		_, err := f.Fetch(t.Context(), FetchRequest{Method: "POST", URL: url, Body: []byte("secret"), Header: map[string]string{"Authorization": "secret"}})
		if err == nil || strings.Contains(strings.TrimPrefix(err.Error(), "POST secret:secret"), "secret") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// foreign is a server that counts what comes, connections too.
func foreign(t *testing.T) (url string, came *atomic.Int64) {
	t.Helper()
	came = new(atomic.Int64)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { came.Add(1) }))
	s.Config.ConnState = func(net.Conn, http.ConnState) { came.Add(1) }
	s.Start()
	t.Cleanup(s.Close)
	return s.URL, came
}

func TestFetchedRedirects(t *testing.T) {
	away, came := foreign(t)
	var to atomic.Value
	var status, posts atomic.Int64
	f, url := local(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == "POST" {
			posts.Add(1)
		}
		if r.URL.Path == "/start" || r.URL.Path == "/loop" {
			w.Header().Set("Location", to.Load().(string))
			w.WriteHeader(int(status.Load()))
		}
	})
	port := url[strings.LastIndexByte(url, ':'):]
	for _, code := range []int64{301, 302, 303, 307, 308} {
		status.Store(code)
		for _, target := range []string{
			away, "http://localhost" + port, "https://127.0.0.1" + port, "https://10.0.0.1/", "https://1.1.1.1/", "http://169.254.169.254/latest/",
			"//" + strings.TrimPrefix(away, "http://"), "ftp://h/", "javascript:x", "http://u@127.0.0.1" + port, "http://[::1", "/loop",
		} {
			to.Store(target)
			var broken *RuleError
			if got, err := f.Fetch(t.Context(), FetchRequest{Method: "GET", URL: url + "/start", Redirects: 3}); !errors.As(err, &broken) {
				t.Errorf("%d to %s: %v, %v", code, target, got, err)
			}
			posts.Store(0)
			got, err := f.Fetch(t.Context(), FetchRequest{Method: "POST", URL: url + "/start", Body: []byte("code=secret")})
			if err != nil || got.Status != int(code) || got.Header["location"] != target || posts.Load() != 1 {
				t.Errorf("POST, %d to %s: %v, %v, sent %d times", code, target, got, err, posts.Load())
			}
		}
		to.Store("end?x#y")
		if got, err := f.Fetch(t.Context(), FetchRequest{Method: "GET", URL: url + "/start", Redirects: 1}); err != nil || got.URL != url+"/end?x" || got.Status != 200 {
			t.Errorf("%d on the same origin: %v, %v", code, got, err)
		}
		if got, err := get(t, f, url+"/start"); err != nil || got.Status != int(code) {
			t.Errorf("%d without redirects: %v, %v", code, got, err)
		}
	}
	if came.Load() > 0 {
		t.Error("the other origin was connected to")
	}
}

// loop of three is followed to its end, of four is not.
func TestFetchedRedirectsAreCounted(t *testing.T) {
	f, url := local(t, func(w http.ResponseWriter, r *http.Request) {
		if left := r.URL.Path[1:]; left != "" {
			http.Redirect(w, r, "/"+left[1:], http.StatusFound)
		}
	})
	for path, good := range map[string]bool{"/": true, "/x": true, "/xxx": true, "/xxxx": false} {
		if got, err := f.Fetch(t.Context(), FetchRequest{Method: "GET", URL: url + path, Redirects: 3}); (err == nil) != good {
			t.Errorf("%s: %v, %v", path, got, err)
		}
	}
}

func TestAnAnswerHasABound(t *testing.T) {
	var sent atomic.Int64
	block := make([]byte, 32<<10)
	var bomb bytes.Buffer // packed before an exchange has to be over in its time
	z := gzip.NewWriter(&bomb)
	for bomb.Len() < 8<<10 { // and a thousand times that
		z.Write(block)
	}
	z.Close()
	f, url := local(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/whole":
			w.Write(make([]byte, MaxAnswer))
		case "/gigabyte":
			for n, err := 0, error(nil); err == nil && sent.Load() < 1<<30; sent.Add(int64(n)) {
				n, err = w.Write(block)
			}
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(bomb.Bytes())
		case "/head":
			w.Header().Set("X", strings.Repeat("x", 2*httpclient.MaxHeadBytes))
		}
	})
	if got, err := get(t, f, url+"/whole"); err != nil || len(got.Body) != MaxAnswer {
		t.Errorf("the longest answer: %v", err)
	}
	for _, path := range []string{"/gigabyte", "/bomb"} {
		var broken *RuleError
		if got, err := get(t, f, url+path); !errors.As(err, &broken) || !strings.Contains(err.Error(), "longer than 262144 bytes") {
			t.Errorf("%s: %v, %v", path, got, err)
		}
	}
	if got, err := get(t, f, url+"/head"); err == nil {
		t.Errorf("a head of 128 KiB: %v", got.Status)
	}
	if sent.Load() > 64<<20 {
		t.Errorf("%d bytes of a gigabyte were taken", sent.Load())
	}
}

func TestGzipIsUndone(t *testing.T) {
	f, url := local(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		defer z.Close()
		io.WriteString(z, r.Header.Get("Accept-Encoding"))
	})
	if got, err := get(t, f, url); err != nil || string(got.Body) != "gzip" || got.Header["content-encoding"] != "" {
		t.Errorf("got %v, %v", got, err)
	}
}

// slow is a fetcher in a bubble: serve has the server's end of each connection.
func slow(t *testing.T, serve func(net.Conn)) *Fetcher {
	t.Helper()
	var servers sync.WaitGroup
	t.Cleanup(servers.Wait)
	f := newFetcher(t, Policy{Discover: true, Server: entry(t, "http://localhost:1/mcp")})
	r, err := f.routeFor(routeKey{relation: ownServer})
	if err != nil {
		t.Fatal(err)
	}
	r.transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		servers.Go(func() { serve(theirs) })
		return ours, nil
	}
	return f
}

func TestAnExchangeIsOverInTenSeconds(t *testing.T) {
	drip := func(head string) func(net.Conn) {
		return func(conn net.Conn) {
			defer conn.Close()
			conn.Read(make([]byte, 4<<10))
			io.WriteString(conn, head)
			for {
				time.Sleep(time.Second)
				if _, err := io.WriteString(conn, "x"); err != nil {
					return
				}
			}
		}
	}
	hops := func(conn net.Conn) { // each within its time, all of them not
		defer conn.Close()
		for buf := make([]byte, 4<<10); ; {
			if _, err := conn.Read(buf); err != nil {
				return
			}
			time.Sleep(4 * time.Second)
			io.WriteString(conn, "HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n")
		}
	}
	for name, serve := range map[string]func(net.Conn){
		"silence": func(conn net.Conn) { io.Copy(io.Discard, conn); conn.Close() },
		"head":    drip("HTTP/1.1 200 OK\r\nX: "),
		"body":    drip("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"),
		"endless": drip("HTTP/1.1 200 OK\r\n\r\n"),
		"hops":    hops,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, start := slow(t, serve), time.Now()
				_, err := f.Fetch(t.Context(), FetchRequest{Method: "GET", URL: "http://localhost:1/", Redirects: 3})
				if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "no whole answer within 10s") {
					t.Error(err)
				}
				if took := time.Since(start); took != fetchTime {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

func TestFetchEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := slow(t, func(conn net.Conn) { io.Copy(io.Discard, conn); conn.Close() })
		why := errors.New("the person left")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(why) })
		if _, err := f.Fetch(ctx, FetchRequest{Method: "GET", URL: "http://localhost:1/"}); !errors.Is(err, why) {
			t.Error(err)
		}
	})
}

func TestFetcherCloses(t *testing.T) {
	arrived := make(chan bool)
	f, url := local(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hang" {
			arrived <- true
			<-r.Context().Done()
		}
	})
	if _, err := get(t, f, url); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		_, err := get(t, f, url+"/hang")
		done <- err
	}()
	<-arrived
	f.Close()
	f.Close()
	if err := <-done; err == nil {
		t.Error("an exchange outlived its fetcher")
	}
	if _, err := get(t, f, url); !errors.Is(err, net.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
}

// A token request must not be sent twice because a connection broke.
func TestAPostIsSentOnce(t *testing.T) {
	var came atomic.Int64
	f, url := local(t, func(w http.ResponseWriter, r *http.Request) {
		if came.Add(1) > 1 {
			panic(http.ErrAbortHandler)
		}
	})
	for range 2 {
		f.Fetch(t.Context(), FetchRequest{Method: "POST", URL: url, Body: bytes.Repeat([]byte("x"), 100)})
	}
	if came.Load() != 2 {
		t.Errorf("two requests came %d times", came.Load())
	}
}
