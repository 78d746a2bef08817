//go:build unix

package httpclient

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/capability"
	"github.com/wharf-mcp/wharf/host/internal/capability/captest"
)

// waiter is a sink that says when an answer is over.
type waiter struct {
	done chan int // bytes, or -1
	n    int
}

func (w *waiter) Opened()       {}
func (w *waiter) Sealed([]byte) {}
func (w *waiter) Head(_ int, _ []abi.Pair, _ int64, body []byte, last bool) {
	w.Data(body, last)
}

func (w *waiter) Data(p []byte, last bool) {
	if w.n += len(p); last {
		w.End()
	}
}
func (w *waiter) End()                    { w.done <- w.n }
func (w *waiter) Exit(int, string, bool)  {}
func (w *waiter) Error(abi.Status, error) { w.done <- -1 }
func (w *waiter) Drained()                {}

// answers returns the URL of a server whose answers to /json and /sse hold size
// bytes.
func answers(b *testing.B, size int) string {
	b.Helper()
	body := []byte(strings.Repeat("x", size))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/sse" {
			w.Header().Set("Content-Type", "text/event-stream")
		}
		w.Write(body)
	}))
	b.Cleanup(s.Close)
	return s.URL
}

// bareServer answers a request of any kind with the same bytes, as fast as a
// connection can be served.
func bareServer(b *testing.B) string {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	answer := []byte("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n" + strings.Repeat("x", 100))
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for buf := make([]byte, 4096); ; conn.Write(answer) {
					if _, err := conn.Read(buf); err != nil {
						return
					}
				}
			}()
		}
	}()
	b.Cleanup(func() { l.Close() })
	return "http://" + l.Addr().String()
}

var benchHeaders = []abi.Pair{
	{Key: "accept", Value: "application/json, text/event-stream"}, {Key: "content-type", Value: "application/json"},
	{Key: "mcp-protocol-version", Value: "2026-07-28"}, {Key: "mcp-method", Value: "tools/call"}, {Key: "mcp-name", Value: "echo"},
}

// one is one exchange of a table.
func one(b *testing.B, table *capability.Table, body []byte, w *waiter) {
	w.n = 0
	s, _, err := table.Open(abi.OpenHTTP, &abi.OpenRequest{Grant: "main", Method: "POST", Headers: benchHeaders}, w)
	if err != nil {
		b.Error(err)
		return
	}
	s.Write(body, true)
	s.Flush()
	if <-w.done < 0 {
		b.Error("an exchange failed")
	}
	s.Close()
}

// plain is the same with net/http alone.
func plain(b *testing.B, client *http.Client, url string, body []byte) {
	req, err := http.NewRequest("POST", url, bytes.NewReader(body))
	if err != nil {
		b.Error(err)
		return
	}
	for _, h := range benchHeaders {
		req.Header.Set(h.Key, h.Value)
	}
	resp, err := client.Do(req)
	if err != nil {
		b.Error(err)
		return
	}
	io.ReadAll(resp.Body)
	resp.Body.Close()
}

// BenchmarkExchange is an exchange of a table beside the same with net/http, on
// connections that are kept.
func BenchmarkExchange(b *testing.B) {
	body := []byte(strings.Repeat("y", 100))
	servers := []struct{ name, url string }{
		{"bare-100B", bareServer(b)},
		{"json-100B", answers(b, 100) + "/json"},
		{"sse-100B", answers(b, 100) + "/sse"},
		{"json-1MB", answers(b, 1<<20) + "/json"},
	}
	for _, s := range servers {
		client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: maxConns}}
		_, grant := origin(b, s.url)
		table := capability.NewTable(captest.Patient(grant))
		for _, conc := range []int{1, 32} { // for each processor
			name := s.name + map[int]string{1: "", 32: "/32"}[conc]
			b.Run(name+"/plain", func(b *testing.B) {
				run(b, conc, func() func() { return func() { plain(b, client, s.url, body) } })
			})
			b.Run(name+"/wharf", func(b *testing.B) {
				run(b, conc, func() func() {
					w := &waiter{done: make(chan int, 1)}
					return func() { one(b, table, body, w) }
				})
			})
		}
		captest.CloseTable(b, table)
		client.CloseIdleConnections()
	}
}

// run calls what make gives, on one goroutine or on conc for each processor.
func run(b *testing.B, conc int, make func() func()) {
	b.ReportAllocs()
	if conc == 1 {
		for do := make(); b.Loop(); {
			do()
		}
		return
	}
	b.SetParallelism(conc)
	b.RunParallel(func(pb *testing.PB) {
		for do := make(); pb.Next(); {
			do()
		}
	})
}
