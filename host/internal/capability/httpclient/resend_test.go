//go:build unix

package httpclient

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/capability"
	"github.com/wharf-mcp/wharf/host/internal/capability/captest"
)

// keeper is a server by hand. It counts how often each body arrived, and does
// after each what its test says.
type keeper struct {
	origin  *seenOrigin
	mu      sync.Mutex
	arrived map[string]int
	conns   []net.Conn
	after   func(body string, conn net.Conn) (answer, keep bool)
}

// keep starts a keeper, and returns a table that is granted it.
func keep(t *testing.T, after func(body string, conn net.Conn) (answer, keep bool)) (*keeper, *capability.Table) {
	k := &keeper{arrived: map[string]int{}, after: after}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			k.mu.Lock()
			k.conns = append(k.conns, conn)
			k.mu.Unlock()
			conns.Go(func() { defer conn.Close(); k.serve(conn) })
		}
	})
	o, _ := origin(t, "http://"+l.Addr().String())
	k.origin = &seenOrigin{Origin: o}
	table := capability.NewTable(captest.Patient(capability.Grant{Name: "main", To: k.origin}))
	t.Cleanup(func() { captest.CloseTable(t, table); l.Close(); conns.Wait() })
	return k, table
}

func (k *keeper) serve(conn net.Conn) {
	for r := bufio.NewReader(conn); ; {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		body, _ := io.ReadAll(req.Body)
		k.mu.Lock()
		k.arrived[string(body)]++
		k.mu.Unlock()
		answer, keep := k.after(string(body), conn)
		if answer {
			fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		}
		if !keep {
			return
		}
	}
}

// hangUp closes the connections that there are, with a FIN or with a reset.
func (k *keeper) hangUp(reset bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, conn := range k.conns {
		if reset {
			conn.(*net.TCPConn).SetLinger(0)
		}
		conn.Close()
	}
	k.conns = nil
}

func (k *keeper) times(body string) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.arrived[body]
}

// noWires waits until net/http has closed its connections.
func (o *seenOrigin) noWires() {
	for o.client.dialer.Conns() > 0 {
		runtime.Gosched()
	}
}

// postAt is post, with do called each time that the request has got a connection
// and not a byte of it is written.
func postAt(t *testing.T, table *capability.Table, body string, do func(reused bool)) *captest.Recorder {
	t.Helper()
	r := captest.NewRecorder()
	s, _, err := table.Open(abi.OpenHTTP, &abi.OpenRequest{Grant: "main", Method: "POST"}, r)
	if err != nil {
		t.Fatal(err)
	}
	x := s.(*exchange)
	x.Context = httptrace.WithClientTrace(x.Context, &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) { do(info.Reused) },
	})
	s.Write([]byte(body), true)
	s.Flush()
	r.UntilOver()
	return r
}

func always(string, net.Conn) (answer, keep bool) { return true, true }

// A server may close a connection while it is not used, at any moment. What had
// not left then goes out on the next one; here the moment is the last one that
// is sure: after the request has got the connection, before it is written.
func TestWhatHasNotLeftIsSentAgain(t *testing.T) {
	for name, body := range map[string]string{"small": "second", "large": strings.Repeat("second", 1<<16)} {
		for _, reset := range []bool{false, true} {
			k, table := keep(t, always)
			post(t, table, "first")
			posted, hungUp := 0, false
			for ; !hungUp; posted++ { // net/http does not keep every connection: see TestACrowdKeepsItsConnections
				r := postAt(t, table, body, func(reused bool) {
					if reused {
						hungUp = true
						k.hangUp(reset)
						k.origin.noWires()
					}
				})
				if string(r.Bytes) != body {
					t.Errorf("%s, reset %v: %d bytes, %v", name, reset, len(r.Bytes), r.Err)
				}
			}
			if n := k.times(body); n != posted {
				t.Errorf("%s, reset %v: arrived %d times, posted %d times", name, reset, n, posted)
			}
		}
	}
}

// A connection that is known to be closed is not used at all.
func TestAConnectionThatWasClosedIsNotUsed(t *testing.T) {
	for _, reset := range []bool{false, true} {
		k, table := keep(t, always)
		post(t, table, "first")
		k.hangUp(reset)
		k.origin.noWires()
		if r := post(t, table, "second"); string(r.Bytes) != "second" || k.times("second") != 1 {
			t.Errorf("reset %v: %q, %v; arrived %d times", reset, r.Bytes, r.Err, k.times("second"))
		}
	}
}

// What may have arrived is not sent again, however alike the two look from here:
// a tool that is called twice may pay twice.
func TestWhatMayHaveArrivedIsNotSentAgain(t *testing.T) {
	for _, reset := range []bool{false, true} {
		k, table := keep(t, func(body string, conn net.Conn) (bool, bool) {
			if body != "first" && reset {
				conn.(*net.TCPConn).SetLinger(0)
			}
			return body == "first", body == "first"
		})
		for n, again := 2, false; !again; n++ { // until it is on a connection that was kept
			post(t, table, "first")
			body := fmt.Sprint(n)
			r := postAt(t, table, body, func(reused bool) { again = reused })
			captest.WantError(t, r, abi.Reset, "")
			if n := k.times(body); n != 1 {
				t.Errorf("reset %v: arrived %d times", reset, n)
			}
		}
	}
}

// A server that hangs up on every new connection is asked twice at most.
func TestAServerThatHangsUpIsNotAskedForEver(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o, _ := origin(t, "http://"+l.Addr().String())
	seen := &seenOrigin{Origin: o}
	table := captest.NewTable(t, captest.Patient(capability.Grant{Name: "main", To: seen}))
	conns := make(chan int)
	go func() {
		n := 0
		for {
			conn, err := l.Accept()
			if err != nil {
				conns <- n
				return
			}
			n++
			conn.Close()
		}
	}()
	r := postAt(t, table, "{}", func(bool) { seen.noWires() })
	l.Close()
	if n := <-conns; r.Status != abi.Reset || n > 2 {
		t.Errorf("%v, %v, after %d connections", r.Status, r.Err, n)
	}
}

// Whatever the moment, nothing arrives twice. The server closes each connection
// after a few answers without a word of warning, so that FIN and request cross
// on their way; what is lost so is an error.
func TestNothingArrivesTwice(t *testing.T) {
	var mu sync.Mutex
	served := map[net.Conn]int{}
	k, table := keep(t, func(_ string, conn net.Conn) (bool, bool) {
		mu.Lock()
		defer mu.Unlock()
		served[conn]++
		return true, served[conn] < 3
	})
	var callers sync.WaitGroup
	var lost, answered int
	for caller := range 8 {
		callers.Go(func() {
			for i := range 100 {
				body := fmt.Sprintf("%d/%d", caller, i)
				r, s := ask(t, table, "POST", "", body)
				r.UntilOver()
				s.Close()
				mu.Lock()
				if r.Err != nil {
					lost++
				} else if answered++; string(r.Bytes) != body {
					t.Errorf("%s was answered %q", body, r.Bytes)
				}
				mu.Unlock()
			}
		})
	}
	callers.Wait()
	for body, n := range k.arrived {
		if n != 1 {
			t.Errorf("%s arrived %d times", body, n)
		}
	}
	t.Logf("%d answered, %d lost on their way", answered, lost)
}
