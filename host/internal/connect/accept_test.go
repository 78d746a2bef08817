package connect

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/internal/modules"
	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/internal/testenv"
	"github.com/wharf-mcp/wharf/plugins"
)

// answers is a handler that tests give a function for requests.
type answers struct {
	request func(ctx context.Context, in *rpc.Incoming) (rpc.Appender, error)
	heard   chan string // methods of notifications; nil = not kept
}

func (a answers) Request(ctx context.Context, in *rpc.Incoming) (rpc.Appender, error) {
	return a.request(ctx, in)
}

func (a answers) Notify(in *rpc.Incoming) {
	if a.heard != nil {
		a.heard <- in.Method
	}
}

func (answers) Preempt(string, []byte) {}

// echo answers with the params.
func echo(_ context.Context, in *rpc.Incoming) (rpc.Appender, error) {
	return raw(string(in.Params)), nil
}

func raw(text string) rpc.Appender {
	return func(dst []byte) ([]byte, error) { return append(dst, text...), nil }
}

// client is the other end of an accepted connection.
type client struct {
	t        *testing.T
	accepted *Accepted
	conn     *net.TCPConn
	lines    *bufio.Reader
}

func newDialer(t testing.TB) *Dialer {
	t.Helper()
	m, err := modules.New(t.Context(), modules.Config{
		Builtin: plugins.Builtin(), CacheDir: testenv.CodeDir(), Warn: func(_, text string) { t.Log(text) },
		Files: map[string]config.Plugin{
			"socket": {File: "../../../examples/transport-socket-c/socket.wasm", Installed: &config.Installed{Kinds: []string{"serve"}}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return New(Config{Modules: m, LookupEnv: os.LookupEnv, Warn: func(_, text string) { t.Log(text) }})
}

// accept serves a new client over a socket, with the stdio plugin.
func accept(t *testing.T, a Accept) *client {
	t.Helper()
	ours, theirs := sockets(t)
	a.Name, a.Stream = "test", ours
	accepted, err := newDialer(t).Accept(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { accepted.Shutdown(context.Background()) })
	return &client{t, accepted, theirs, bufio.NewReader(theirs)}
}

// sockets returns the ends of a connection.
func sockets(t *testing.T) (ours, theirs *net.TCPConn) {
	t.Helper()
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	theirs, err = net.DialTCP("tcp", nil, l.Addr().(*net.TCPAddr))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { theirs.Close() })
	ours, err = l.AcceptTCP()
	if err != nil {
		t.Fatal(err)
	}
	return ours, theirs
}

func (c *client) send(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c.conn, text); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) line() string {
	c.t.Helper()
	line, err := c.lines.ReadString('\n')
	if err != nil {
		c.t.Fatalf("read %q, %v", line, err)
	}
	return strings.TrimSuffix(line, "\n")
}

func (c *client) want(lines ...string) {
	c.t.Helper()
	for _, want := range lines {
		if got := c.line(); got != want {
			c.t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// A client's requests are answered under its own ids, byte by byte, until it ends its side.
func TestAcceptServes(t *testing.T) {
	c := accept(t, Accept{Handler: answers{request: echo}})
	for _, id := range []string{`1`, `"a"`, `-7`, `1.50`, `1e400`, `123456789012345678901234567890`, `"é\ud83d\ude00"`} {
		c.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"echo","params":{"n":1e400,"x":[1, 2]}}` + "\n")
		c.want(`{"jsonrpc":"2.0","id":` + id + `,"result":{"n":1e400,"x":[1, 2]}}`)
	}
	c.conn.CloseWrite()
	<-c.accepted.Done()
	if rest, err := io.ReadAll(c.lines); len(rest) > 0 || err != nil {
		t.Errorf("after the end: %q, %v", rest, err)
	}
	if err := c.accepted.Err(); err != nil {
		t.Error(err)
	}
}

// A plugin that opens a socket to its servers serves clients too, where the user allows it.
func TestAcceptOverAnotherPlugin(t *testing.T) {
	c := accept(t, Accept{Handler: answers{request: echo}, Transport: "socket"})
	c.send(request(1, "echo", `{}`) + strings.TrimSuffix(request(2, "echo", `[]`), "\n"))
	c.conn.CloseWrite()
	for _, want := range []string{`"id":`, `"id":`} {
		if got := c.line(); !strings.Contains(got, want) {
			t.Error(got)
		}
	}
	<-c.accepted.Done()
	if err := c.accepted.Err(); err != nil {
		t.Error(err)
	}
}

// A client that sends headers with Content-Length gets such headers.
func TestAcceptFollowsTheFraming(t *testing.T) {
	c := accept(t, Accept{Handler: answers{request: echo}})
	msg := "{\"jsonrpc\":\"2.0\",\n \"id\":1,\"method\":\"echo\",\"params\":{}}"
	c.send(fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(msg), msg))
	answer := `{"jsonrpc":"2.0","id":1,"result":{}}`
	got := make([]byte, len(fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(answer), answer)))
	if _, err := io.ReadFull(c.lines, got); err != nil || !strings.HasSuffix(string(got), "\r\n\r\n"+answer) {
		t.Errorf("got %q, %v", got, err)
	}
}

// The last request counts also without a line break, and is answered although the client has ended
// its side before that.
func TestAcceptAnswersAfterTheEnd(t *testing.T) {
	release := make(chan struct{})
	c := accept(t, Accept{Handler: answers{request: func(ctx context.Context, in *rpc.Incoming) (rpc.Appender, error) {
		<-release
		return raw("true"), context.Cause(ctx)
	}}})
	c.send(`{"jsonrpc":"2.0","id":1,"method":"slow"}` + "\n" + `{"jsonrpc":"2.0","id":2,"method":"slow"}`)
	c.conn.CloseWrite()
	<-c.accepted.InputEnded()
	if _, err := c.accepted.Peer.Call(t.Context(), &rpc.Call{Method: "ask"}, nil); !errors.Is(err, rpc.ErrNotSent) {
		t.Errorf("a call to a client that has ended its side: %v", err)
	}
	close(release)
	got := []string{c.line(), c.line()}
	for _, id := range []string{"1", "2"} {
		if want := `{"jsonrpc":"2.0","id":` + id + `,"result":true}`; got[0] != want && got[1] != want {
			t.Errorf("no %s in %q", want, got)
		}
	}
	<-c.accepted.Done()
	if err := c.accepted.Err(); err != nil {
		t.Error(err)
	}
}

// Calls and notifications go to the client, and notifications of a request before its answer.
func TestAcceptAsksTheClient(t *testing.T) {
	var c *client
	ready := make(chan struct{})
	c = accept(t, Accept{Handler: answers{request: func(ctx context.Context, in *rpc.Incoming) (rpc.Appender, error) {
		<-ready
		for range 3 {
			if err := c.accepted.Peer.Notify(ctx, "notifications/progress", nil); err != nil {
				return nil, err
			}
		}
		answer, err := c.accepted.Peer.Call(ctx, &rpc.Call{Method: "ask"}, nil)
		return raw(string(answer)), err
	}}})
	close(ready)
	c.send(`{"jsonrpc":"2.0","id":"x","method":"tell"}` + "\n")
	progress := `{"jsonrpc":"2.0","method":"notifications/progress"}`
	c.want(progress, progress, progress)
	var id int
	if _, err := fmt.Sscanf(c.line(), `{"jsonrpc":"2.0","id":%d,"method":"ask"}`, &id); err != nil {
		t.Fatal(err)
	}
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"n":1}}`+"\n", id))
	c.want(`{"jsonrpc":"2.0","id":"x","result":{"n":1}}`)
}

// full is a client whose side of the stream takes nothing, as a file on a full disk.
type full struct{ io.Reader }

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }
func (full) Close() error              { return nil }

// An answer that cannot be written is an error, also where the client has ended its side.
func TestAcceptedCannotWrite(t *testing.T) {
	a, err := newDialer(t).Accept(t.Context(), Accept{
		Name: "test", Handler: answers{request: echo},
		Stream: full{strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"echo","params":{}}` + "\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	<-a.Done()
	if err := a.Err(); !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
}
