//go:build unix

package egress

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func callback(t *testing.T, host string) *Callback {
	t.Helper()
	c, err := ListenCallback(t.Context(), host, 0, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// awaited has a goroutine wait at a callback, for a visit with the state good. Who
// comes when it returns is waited for.
func awaited(t *testing.T, c *Callback) (params chan url.Values) {
	t.Helper()
	params = make(chan url.Values, 1)
	var got url.Values
	go func() {
		defer close(params)
		err := c.Wait(t.Context(), func(q url.Values) bool {
			got = q
			return q.Get("state") == "good"
		})
		if err == nil {
			params <- got
		}
	}()
	for !isAwaited(c) {
		runtime.Gosched()
	}
	return params
}

func isAwaited(c *Callback) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.accept != nil
}

// visits sends a request over a connection of its own and returns the answer,
// head and body, or "" if it has no answer.
func visits(t *testing.T, addr, request string) string {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return ""
	}
	defer conn.Close()
	io.WriteString(conn, request)
	answer, _ := io.ReadAll(conn)
	return string(answer)
}

func getLine(c *Callback, target string) string {
	return "GET " + target + " HTTP/1.1\r\nHost: " + c.host + "\r\n\r\n"
}

func wantStatus(t *testing.T, answer string, want int) {
	t.Helper()
	if !strings.HasPrefix(answer, "HTTP/1.1 "+strconv.Itoa(want)+" ") {
		t.Errorf("want %d, got %q", want, answer)
	}
}

func TestCallback(t *testing.T) {
	for host, want := range map[string]string{"": "127.0.0.1", "127.0.0.1": "127.0.0.1", "localhost": "localhost"} {
		c := callback(t, host)
		if u, err := url.Parse(c.URI()); err != nil || u.Hostname() != want || u.Path != "/callback" || u.Scheme != "http" || u.Port() == "0" {
			t.Fatalf("the URI is %s", c.URI())
		}
		params := awaited(t, c)
		answer := visits(t, c.listeners[len(c.listeners)-1].Addr().String(), getLine(c, "/callback?code=a%20b&state=good&iss=https%3A%2F%2Fh"))
		wantStatus(t, answer, 200)
		if got := <-params; got.Get("code") != "a b" || got.Get("iss") != "https://h" || len(got) != 3 {
			t.Errorf("the parameters are %q", got)
		}
		for range 2 {
			wantStatus(t, visits(t, c.listeners[0].Addr().String(), getLine(c, "/callback?code=a&state=good")), 410)
		}
		c.Close()
		if answer := visits(t, c.listeners[0].Addr().String(), getLine(c, "/callback?code=a&state=good")); answer != "" {
			t.Errorf("after the end: %q", answer)
		}
	}
}

// No other machine reaches the callback, whatever it is called.
func TestCallbackIsOnLoopbackAlone(t *testing.T) {
	for _, host := range []string{"", "127.0.0.1", "localhost"} {
		for _, l := range callback(t, host).listeners {
			if a := l.Addr().(*net.TCPAddr); !a.IP.IsLoopback() {
				t.Errorf("%q listens on %v", host, a)
			}
		}
	}
}

// Both addresses that localhost may mean are ours, where there are two.
func TestCallbackIsOnBothAddresses(t *testing.T) {
	c := callback(t, "localhost")
	_, port, _ := net.SplitHostPort(c.host)
	for _, addr := range []string{"127.0.0.1:" + port, "[::1]:" + port} {
		if addr[0] == '[' && !hasIPv6(t.Context()) {
			continue
		}
		if l, err := net.Listen("tcp", addr); err == nil {
			t.Errorf("%s was free", addr)
			l.Close()
		}
	}
}

func TestVisitsThatMeanNothing(t *testing.T) {
	c := callback(t, "")
	params := awaited(t, c)
	addr := c.listeners[0].Addr().String()
	_, port, _ := net.SplitHostPort(addr)
	const good = "/callback?code=CANARY&state=good"
	head := func(line, host string) string { return line + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n" }
	tests := map[string]int{
		head("GET /callback", c.host):                                   400,
		head("GET /callback?", c.host):                                  400,
		head("GET /callback?state=CANARY", c.host):                      400,
		head("GET /callback?code=CANARY&state=bad", c.host):             400,
		head("GET "+good+"&code=CANARY", c.host):                        400,
		head("GET "+good+"&state=good", c.host):                         400,
		head("GET "+good+"&%73tate=CANARY", c.host):                     400,
		head("GET "+good+"&x=%zzCANARY", c.host):                        400,
		head("GET "+good+"&x=a;b", c.host):                              400,
		head("GET "+good+"&x="+strings.Repeat("x", maxQuery), c.host):   400,
		head("GET "+good, "evil.example"):                               400,
		head("GET "+good, "evil.example:"+port):                         400,
		head("GET "+good, "127.0.0.1"):                                  400,
		head("GET "+good, "localhost:"+port):                            400,
		head("GET "+good, "127.0.0.1.evil.example:"+port):               400,
		head("GET http://evil.example"+good, c.host):                    400,
		"GET " + good + " HTTP/1.1\r\n\r\n":                             400,
		"GET " + good + " HTTP/1.0\r\n\r\n":                             400,
		head("GET /", c.host):                                           404,
		head("GET /favicon.ico", c.host):                                404,
		head("GET /callback/?code=CANARY&state=good", c.host):           404,
		head("GET //callback?state=good", c.host):                       404,
		head("GET /callbac%6b?state=good", c.host):                      404,
		head("GET /CALLBACK?state=good", c.host):                        404,
		head("GET /x/../callback?state=good", c.host):                   404,
		head("POST "+good, c.host):                                      405,
		head("HEAD "+good, c.host):                                      405,
		head("OPTIONS "+good, c.host):                                   405,
		head("OPTIONS *", c.host):                                       404,
		head("GET "+good+"\r\nX: "+strings.Repeat("x", 64<<10), c.host): 400,
		"\x16\x03\x01\x02\x00\x01\n":                                    400,
	}
	for request, status := range tests {
		answer := visits(t, addr, request)
		wantPlain(t, answer)
		if strings.HasPrefix(answer, "HTTP/1.1 431") || strings.HasPrefix(answer, "HTTP/1.0 400") {
			continue // said by net/http, for what it does not read
		}
		wantStatus(t, answer, status)
	}
	wantStatus(t, visits(t, addr, head("GET "+good, c.host)), 200)
	if got := <-params; got.Get("code") != "CANARY" {
		t.Errorf("the parameters are %q", got)
	}
}

// wantPlain looks for what no page may hold.
func wantPlain(t *testing.T, answer string) {
	t.Helper()
	lower := strings.ToLower(answer)
	for _, bad := range []string{"canary", "evil", "location:", "set-cookie", "<script", "access-control"} {
		if strings.Contains(lower, bad) {
			t.Errorf("the page holds %q: %q", bad, answer)
		}
	}
}

func TestPages(t *testing.T) {
	c := callback(t, "")
	awaited(t, c)
	addr := c.listeners[0].Addr().String()
	for _, target := range []string{"/callback?state=CANARY", "/CANARY", "/callback?state=good&code=CANARY", "/callback?state=good&code=CANARY"} {
		answer := visits(t, addr, getLine(c, target))
		wantPlain(t, answer)
		resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(answer)), nil)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'", "X-Content-Type-Options": "nosniff",
			"Referrer-Policy": "no-referrer", "Cache-Control": "no-store", "Content-Type": "text/html; charset=utf-8", "Connection": "close",
		} {
			if !strings.HasPrefix(resp.Header.Get(name), want) && !(name == "Connection" && resp.Close) {
				t.Errorf("%s: %s is %q", target, name, resp.Header.Get(name))
			}
		}
		if !strings.Contains(string(body), "close this page and go back to the terminal") {
			t.Errorf("%s: the page says %q", target, body)
		}
	}
}

func TestAFloodOfCallbacks(t *testing.T) {
	c := callback(t, "")
	params := awaited(t, c)
	var flood sync.WaitGroup
	for i := range 1000 {
		flood.Go(func() {
			target := fmt.Sprintf("/callback?code=%d&state=bad%d", i, i)
			if i%3 == 0 {
				target += "&error=access_denied"
			}
			visits(t, c.listeners[i%len(c.listeners)].Addr().String(), getLine(c, target))
		})
		if i%8 == 7 {
			flood.Wait()
		}
	}
	flood.Wait()
	wantStatus(t, visits(t, c.listeners[0].Addr().String(), getLine(c, "/callback?code=real&state=good")), 200)
	if got := <-params; got.Get("code") != "real" {
		t.Errorf("the parameters are %q", got)
	}
}

// A person whose sign-in was not granted is not thanked for it.
func TestPageOfADenial(t *testing.T) {
	for query, says := range map[string]string{"code=a&state=good": "Thank you", "error=access_denied&state=good": "The sign-in was not granted."} {
		c := callback(t, "")
		params := awaited(t, c)
		if page := visits(t, c.listeners[0].Addr().String(), getLine(c, "/callback?"+query)); !strings.Contains(page, says) {
			t.Errorf("%s: %s", query, page)
		}
		<-params
	}
}

// Those who come and say nothing hold nothing up.
func TestSilentVisitors(t *testing.T) {
	c := callback(t, "")
	params := awaited(t, c)
	addr := c.listeners[0].Addr().String()
	first, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	for range 3 * maxCallbackConns {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		io.WriteString(conn, "GET /callback?st")
	}
	wantStatus(t, visits(t, addr, getLine(c, "/callback?code=a&state=good")), 200)
	if <-params == nil {
		t.Error("no visit came")
	}
	if _, err := first.Read(make([]byte, 1)); err == nil {
		t.Error("the first of the silent ones was told something")
	}
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	if len(c.server.clients) > maxCallbackConns {
		t.Errorf("%d are inside", len(c.server.clients))
	}
}

// hall is a listener in a bubble.
type hall struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (h *hall) Accept() (net.Conn, error) {
	select {
	case conn := <-h.conns:
		return conn, nil
	case <-h.closed:
		return nil, net.ErrClosed
	}
}
func (h *hall) Close() error   { h.once.Do(func() { close(h.closed) }); return nil }
func (h *hall) Addr() net.Addr { return &net.TCPAddr{} }

func TestVisitorsHaveLittleTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d callbackServer
		d.init(func(*http.Request) (page, func()) { return pageBad, nil })
		h := &hall{conns: make(chan net.Conn), closed: make(chan struct{})}
		d.serve([]net.Listener{h})
		defer d.close()
		for _, said := range []string{"", "GET / HTTP/1.1\r\nX: "} {
			ours, theirs := net.Pipe()
			h.conns <- theirs
			start := time.Now()
			io.WriteString(ours, said)
			io.Copy(io.Discard, ours)
			if took := time.Since(start); took != callbackTime {
				t.Errorf("after %q the visitor could stay %v", said, took)
			}
		}
		ours, theirs := net.Pipe() // reads nothing of its page
		h.conns <- theirs
		io.WriteString(ours, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
		time.Sleep(2 * callbackTime)
		synctest.Wait()
		if n := len(d.clients); n != 0 {
			t.Errorf("%d are still inside", n)
		}
	})
}

// bothDoors listens where a callback would, on a port that can be given back and had
// again: the system itself gives it to no program, as it does those from 32768 on to
// programs that ask for any.
func bothDoors(t *testing.T) (listeners []net.Listener) {
	t.Helper()
	err := errors.New("not tried")
	for tries := 0; err != nil && tries < 100; tries++ {
		listeners, err = listenLoopback(t.Context(), 20_000+rand.N(12_000))
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, listener := range listeners {
			listener.Close()
		}
	})
	return listeners
}

func TestAPortThatIsTaken(t *testing.T) {
	for n := range bothDoors(t) {
		listeners := bothDoors(t) // a port that is free on one address may be taken on the other
		l, port := listeners[n], listeners[n].Addr().(*net.TCPAddr).Port
		for i, other := range listeners {
			if i != n {
				other.Close()
			}
		}
		c, err := ListenCallback(t.Context(), "", port, "")
		var taken *PortError
		if !errors.As(err, &taken) || taken.Port != port || !errors.Is(err, syscall.EADDRINUSE) ||
			!strings.Contains(err.Error(), "end the program that has it, or set another port in the server entry") {
			t.Errorf("%s: %v, %v", l.Addr(), c, err)
		}
		l.Close()
		if c, err = ListenCallback(t.Context(), "", port, "/cb"); err != nil || c.URI() != fmt.Sprintf("http://127.0.0.1:%d/cb", port) {
			t.Errorf("when it is free again: %v", err)
		} else {
			c.Close()
		}
	}
}

func TestCallbackThatIsNone(t *testing.T) {
	for _, tt := range []struct {
		host string
		port int
		path string
	}{
		{"0.0.0.0", 0, ""}, {"::1", 0, ""}, {"evil.example", 0, ""}, {"", -1, ""}, {"", 65536, ""},
		{"", 0, "callback"}, {"", 0, "//h/x"}, {"", 0, "/x?y"}, {"", 0, "/x#y"}, {"", 0, "/a b"}, {"", 0, "/\r\n"}, {"", 0, "/%"},
		{"", 0, "http://h/x"}, {"", 0, "/a/../b"}, {"", 0, "/\\"}, {"", 0, "/\u00fc"},
	} {
		var broken *RuleError
		if c, err := ListenCallback(t.Context(), tt.host, tt.port, tt.path); !errors.As(err, &broken) {
			t.Errorf("%v: %v, %v", tt, c, err)
		}
	}
}

func TestCallbackEnds(t *testing.T) {
	why := errors.New("the person left")
	ctx, cancel := context.WithCancelCause(t.Context())
	c, err := ListenCallback(ctx, "", 0, "")
	if err != nil {
		t.Fatal(err)
	}
	short, stop := context.WithCancelCause(t.Context())
	stop(why)
	late := func(url.Values) bool { t.Error("accept was called after the wait"); return true }
	if err := c.Wait(short, late); !errors.Is(err, why) {
		t.Errorf("its wait ends with %v", err)
	}
	addr := c.listeners[0].Addr().String()
	wantStatus(t, visits(t, addr, getLine(c, "/callback?state=good")), 400)
	params := awaited(t, c) // waits again
	wantStatus(t, visits(t, addr, getLine(c, "/callback?state=good")), 200)
	if <-params == nil {
		t.Error("the second wait saw no visit")
	}
	cancel(why)
	<-c.closed
	c.Close()
	c, err = ListenCallback(ctx, "", 0, "")
	if err == nil {
		if err = c.Wait(t.Context(), nil); !errors.Is(err, net.ErrClosed) {
			t.Errorf("opened too late: %v", err)
		}
	}
}

// accept may look at what it likes: it is called once at a time, and not after
// the wait.
func TestAcceptIsCalledOnceAtATime(t *testing.T) {
	c := callback(t, "")
	var inside, over atomic.Bool
	done := make(chan error)
	go func() {
		done <- c.Wait(t.Context(), func(q url.Values) bool {
			if over.Load() || !inside.CompareAndSwap(false, true) {
				t.Error("accept was called twice")
			}
			defer inside.Store(false)
			return q.Has("yes")
		})
		over.Store(true)
	}()
	var crowd sync.WaitGroup
	var welcome atomic.Int64
	for i := range 40 {
		crowd.Go(func() {
			target := "/callback?no"
			if i > 30 {
				target = "/callback?yes"
			}
			if strings.HasPrefix(visits(t, c.listeners[0].Addr().String(), getLine(c, target)), "HTTP/1.1 200 ") {
				welcome.Add(1)
			}
		})
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	crowd.Wait()
	if welcome.Load() != 1 {
		t.Errorf("%d visitors were the one", welcome.Load())
	}
}

func FuzzReadParams(f *testing.F) {
	for _, s := range []string{"", "a=b", "a=b&a=c", "a&%61", "a=%zz", "a;b", "&&", "=", "code=x&state=y&iss=https%3A%2F%2Fh"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		params, ok := readParams(s)
		if !ok {
			return
		}
		if n := len(strings.FieldsFunc(s, func(r rune) bool { return r == '&' })); len(s) > maxQuery || len(params) != n {
			t.Errorf("%q reads as %d parameters, %d are there", s, len(params), n)
		}
	})
}
