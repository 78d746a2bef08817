package gateway

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// reader is the other end of a response. It takes nothing while it is stuck.
type reader struct {
	bytes.Buffer
	header   http.Header
	stuck    bool
	deadline time.Time
}

func (r *reader) Header() http.Header { return r.header }
func (r *reader) WriteHeader(int)     {}
func (r *reader) Flush()              {}

func (r *reader) SetWriteDeadline(t time.Time) error {
	r.deadline = t
	return nil
}

func (r *reader) Write(p []byte) (int, error) {
	if r.stuck {
		time.Sleep(time.Until(r.deadline))
		return 0, os.ErrDeadlineExceeded
	}
	return r.Buffer.Write(p)
}

// A client that reads nothing is waited for, and then left.
func TestSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		box, r := newOutbox(true), &reader{header: http.Header{}, stuck: true}
		served := make(chan error)
		go func() { served <- box.serve(t.Context(), r) }()
		synctest.Wait()
		box.put(false, event{text: make([]byte, 1)})
		synctest.Wait()
		box.put(false, event{text: make([]byte, maxQueued+1)})
		waited := box.awaitRoom(t.Context())
		if took := time.Since(begun); waited != nil || took != writeTime {
			t.Errorf("after %v: %v", took, waited)
		}
		if err := <-served; !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error(err)
		}
		if !r.deadline.IsZero() {
			t.Error("the connection keeps the deadline")
		}

		box = newOutbox(true) // that nobody serves
		box.put(false, event{text: make([]byte, maxQueued+1)})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := box.awaitRoom(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}

// A response without an event shows that it lives, and a client can resume it.
func TestSilentResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		box, r := newOutbox(false), &reader{header: http.Header{}}
		box.onSSE = func() string { return "7-0" }
		served := make(chan error)
		go func() { served <- box.serve(t.Context(), r) }()
		time.Sleep(2*quietTime + time.Second)
		box.put(true, event{id: "7-1", text: []byte("{}")})
		const want = "id: 7-0\ndata:\n\n:\n\nevent: message\nid: 7-1\ndata: {}\n\n"
		if err := <-served; err != nil || r.String() != want {
			t.Errorf("%v: %q", err, r.String())
		}
	})
}

// What a client writes into headers is taken as it is meant, or not at all.
func FuzzHeaders(f *testing.F) {
	for _, seed := range []string{"x", "=?base64?w6k=?=", "=?base64?", "?=", "localhost:80", "[::1]", "127.0.0.1:x", "mcp.example", "0-1", "3-18446744073709551616", "http://localhost", "null", "\x7f"} {
		f.Add(seed)
	}
	g := &Gateway{config: Config{Hosts: []string{"mcp.example"}}}
	s := &httpSession{streams: map[uint32]*eventStream{0: {}}}
	f.Fuzz(func(t *testing.T, value string) {
		if text, ok := headerText(value); ok && text != value && "=?base64?"+base64.StdEncoding.EncodeToString([]byte(text))+"?=" != value {
			t.Errorf("%q is %q", value, text)
		}
		if g.isOwnHost(value) || g.isOwnOrigin([]string{value}) {
			host := strings.ToLower(value[strings.LastIndex(value, "/")+1:])
			name, _, found := strings.Cut(strings.TrimPrefix(host, "[::1]"), ":")
			if name != "localhost" && name != "127.0.0.1" && name != "mcp.example" && (name != "" || found && !strings.HasPrefix(host, "[::1]")) {
				t.Errorf("%q is ours", value)
			}
		}
		if st, _ := s.resume(value); st != nil && value != "" && value != "0-0" {
			t.Errorf("%q is resumed", value)
		}
	})
}
