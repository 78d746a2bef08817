package connect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/internal/hosterr"
	"github.com/wharf-mcp/wharf/host/internal/modules"
	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/plugins"
)

func request(id any, method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"method":%q,"params":%s}`+"\n", id, method, params)
}

// A line over the message cap has an answer under its id, and harms nothing behind it.
func TestAcceptLineOverTheCap(t *testing.T) {
	c := accept(t, Accept{Handler: answers{request: echo}})
	c.send(request(1, "echo", `{"a":"`+strings.Repeat("x", DefaultMessageCap)+`"}`))
	c.want(`{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"the request is larger than the message cap"}}`)
	c.send(request(2, "echo", `{}`))
	c.want(`{"jsonrpc":"2.0","id":2,"result":{}}`)
}

// Where the stream is cut does not matter, also within a character; a character that is not whole is
// answered, and the next line is read.
func TestAcceptHalfCharacters(t *testing.T) {
	c := accept(t, Accept{Handler: answers{request: echo}, Framing: "ndjson"})
	c.conn.SetNoDelay(true)
	for _, b := range []byte(request(1, "echo", `{"a":"é😀"}`)) {
		c.send(string([]byte{b}))
	}
	c.want(`{"jsonrpc":"2.0","id":1,"result":{"a":"é😀"}}`)
	c.send(request(2, "echo", "{\"a\":\"\xf0\x9f\"}"))
	if got := c.line(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":2,"error":{"code":-32700,`) {
		t.Error(got)
	}
	c.send(request(3, "echo", `{}`))
	c.want(`{"jsonrpc":"2.0","id":3,"result":{}}`)
}

// A client that reads nothing, while answers and a storm of progress wait for it, is read no
// further, and loses nothing: what waits has a bound, and comes in order once the client reads.
func TestAcceptClientThatStopsReading(t *testing.T) {
	const stuck, more, storm = 48, 200, 5
	answer := `"` + strings.Repeat("x", 1<<20) + `"`
	ready := make(chan struct{})
	var c *client
	var served atomic.Int32
	c = accept(t, Accept{Handler: answers{request: func(ctx context.Context, in *rpc.Incoming) (rpc.Appender, error) {
		<-ready
		if in.Method == "ping" {
			return raw(`{}`), nil
		}
		served.Add(1)
		for n := range storm {
			if err := c.accepted.Peer.Notify(ctx, "notifications/progress", raw(fmt.Sprintf(`{"token":%s,"n":%d}`, in.ID(), n))); err != nil {
				return nil, err
			}
		}
		return raw(answer), nil
	}}})
	close(ready)
	for id := range stuck {
		c.send(request(id, "much", `{}`))
	}
	for inst := c.accepted.connection.inst; inst.Waiting() < heldAnswers || served.Load() < stuck; {
		runtime.Gosched()
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if c.accepted.awaitRoom(gone) == nil {
		t.Error("it is read further")
	}
	go func() {
		for id := range more {
			io.WriteString(c.conn, request(stuck+id, "ping", `{}`))
		}
	}()
	told := make(map[int]int)
	for range stuck*(storm+1) + more {
		var m struct {
			ID     *int
			Result json.RawMessage
			Error  json.RawMessage
			Params struct{ Token, N int }
		}
		if err := json.Unmarshal([]byte(c.line()), &m); err != nil || m.Error != nil {
			t.Fatal(err, string(m.Error))
		}
		switch id := m.Params.Token; {
		case m.ID == nil && told[id] == m.Params.N:
			told[id]++
		case m.ID != nil && *m.ID >= stuck:
		case m.ID != nil && told[*m.ID] == storm:
			told[*m.ID]++ // one answer each
		default:
			t.Fatalf("out of order: %d has had %d, then %.100v", id, told[id], m)
		}
	}
	c.conn.CloseWrite()
	<-c.accepted.Done()
	if err := c.accepted.Err(); err != nil {
		t.Error(err)
	}
}

// A client that vanishes in the middle of a line, under a storm of progress, ends its connection and
// the context of its request.
func TestAcceptClientThatVanishes(t *testing.T) {
	var c *client
	ready, ended := make(chan struct{}), make(chan error, 1)
	c = accept(t, Accept{Handler: answers{request: func(ctx context.Context, in *rpc.Incoming) (rpc.Appender, error) {
		<-ready
		for c.accepted.Peer.Notify(ctx, "notifications/progress", raw(`{}`)) == nil {
		}
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return nil, ctx.Err()
	}}})
	close(ready)
	c.send(request(1, "storm", `{}`))
	c.line()
	c.send(`{"jsonrpc":"2.0","id":2,"meth`)
	c.conn.SetLinger(0)
	c.conn.Close()
	<-c.accepted.Done()
	if err := <-ended; !errors.Is(err, rpc.ErrClosed) {
		t.Errorf("the context ended with %v", err)
	}
	if err := c.accepted.Err(); err == nil {
		t.Error("the connection ended without a reason")
	}
}

// A client that speaks no MCP is cut off.
func TestAcceptClientThatSpeaksAnotherLanguage(t *testing.T) {
	c := accept(t, Accept{Handler: answers{request: echo}, Framing: "ndjson"})
	c.send(strings.Repeat("hello\n", 100))
	<-c.accepted.Done()
	if err := c.accepted.Err(); !errors.Is(err, rpc.ErrMalformed) {
		t.Error(err)
	}
}

// Shutdown sends what is queued to a client that reads, and leaves one that does not when its context
// ends.
func TestAcceptShutdown(t *testing.T) {
	const size = 8 << 20
	much := answers{request: func(context.Context, *rpc.Incoming) (rpc.Appender, error) {
		return raw(`"` + strings.Repeat("x", size) + `"`), nil
	}}
	for _, reads := range []bool{true, false} {
		c := accept(t, Accept{Handler: much})
		c.send(request(1, "much", `{}`))
		for queued := 0; queued == 0; queued, _ = c.accepted.stream.Progress() {
			runtime.Gosched()
		}
		ctx, cancel := context.WithCancel(t.Context())
		got := make(chan int, 1)
		if reads {
			go func() {
				rest, _ := io.ReadAll(c.lines)
				got <- len(rest)
			}()
		} else {
			cancel()
		}
		if err := c.accepted.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		cancel()
		if reads {
			if n := <-got; n < size {
				t.Errorf("%d bytes came", n)
			}
		}
	}
}

// One that has ended its side and takes nothing more is given up after a while, and no sooner.
func TestStalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p atomic.Pointer[progress]
		p.Store(&progress{})
		ctx, stop := untilStalled(t.Context(), func() progress { return *p.Load() })
		defer stop()
		wait := func(want error) {
			t.Helper()
			for range 3 {
				time.Sleep(clientStall)
			}
			synctest.Wait()
			if got := context.Cause(ctx); got != want {
				t.Fatalf("ended with %v, want %v", got, want)
			}
		}
		wait(nil) // nothing waits
		time.Sleep(clientStall / 2)
		for n := range int64(5) {
			p.Store(&progress{1, n})
			time.Sleep(clientStall)
		}
		synctest.Wait()
		if err := ctx.Err(); err != nil {
			t.Fatal(err)
		}
		wait(errClientStalled)
	})
}

// closing is a stream that tells whether it was closed.
type closing struct {
	net.Conn
	closed bool
}

func (c *closing) Close() error { c.closed = true; return c.Conn.Close() }

// What cannot serve is refused, and the stream closed.
func TestAcceptRefuses(t *testing.T) {
	builtin := plugins.Builtin()
	m, err := modules.New(t.Context(), modules.Config{Builtin: builtin, Files: map[string]config.Plugin{
		"stranger": {File: "stranger.wasm", Installed: &config.Installed{Kinds: []string{"stream"}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	d := New(Config{Modules: m, Warn: func(string, string) {}})
	for _, test := range []struct {
		accept Accept
		kind   error
		want   string
	}{
		{Accept{Transport: "pigeon"}, hosterr.ErrUnknownTransport, `serve client editor: no transport is called "pigeon"`},
		{Accept{Transport: "http"}, hosterr.ErrConfig, "transport http cannot serve: it opens no stream of bytes"},
		{Accept{Transport: "http", Framing: "x"}, hosterr.ErrConfig, "transport http cannot serve"},
		{Accept{Transport: "stranger"}, hosterr.ErrDenied, "the plugin stranger is not allowed to serve clients"},
	} {
		ours, theirs := net.Pipe()
		defer theirs.Close()
		s := &closing{Conn: ours}
		test.accept.Name, test.accept.Stream = "editor", s
		_, err := d.Accept(t.Context(), test.accept)
		if !errors.Is(err, test.kind) || !strings.Contains(fmt.Sprint(err), test.want) {
			t.Errorf("%s: %v, want %q", test.accept.Transport, err, test.want)
		}
		if !s.closed {
			t.Errorf("%s: the stream is open", test.accept.Transport)
		}
	}
}
