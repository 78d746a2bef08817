package host_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/status"
	"github.com/wharf-mcp/wharf/internal/testenv"
	"github.com/wharf-mcp/wharf/plugins"
)

// socketFile is a transport in lines of JSON over any byte stream.
const socketFile = "../examples/transport-socket-c/socket.wasm"

// A program connects to a server that is part of it: no process and no socket, and
// the same transport that would carry it over one.
func ExampleConfig_streams() {
	type input struct {
		Name string `json:"name"`
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "greeter", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "greet"}, func(_ context.Context, _ *mcp.CallToolRequest, in input) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "Ahoy, " + in.Name}}}, nil, nil
	})

	ctx := context.Background()
	h, err := host.New(ctx, host.Config{
		Files: map[string]config.Plugin{"socket": {Name: "socket", File: socketFile}},
		Streams: map[string]func(context.Context) (io.ReadWriteCloser, error){
			"greeter": func(context.Context) (io.ReadWriteCloser, error) {
				ours, theirs := net.Pipe()
				_, err := server.Connect(ctx, &mcp.IOTransport{Reader: theirs, Writer: theirs}, nil)
				return ours, err
			},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()

	s, err := h.Connect(ctx, host.Server{Name: "greeter", Transport: "socket", Address: "memory:greeter"})
	if err != nil {
		log.Fatal(err)
	}
	result, err := s.CallTool(ctx, "greet", map[string]any{"name": "Ada"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Content[0].Text)
	// Output: Ahoy, Ada
}

// newMemoryHost is a host with a server in the same process, and the server's ends of its
// connections.
func newMemoryHost(t testing.TB) (h *host.Host, ends <-chan net.Conn) {
	t.Helper()
	peers := make(chan net.Conn, 8)
	h = newHost(t, host.Config{Files: pluginFile("socket", socketFile), Streams: map[string]func(context.Context) (io.ReadWriteCloser, error){
		"loft": func(context.Context) (io.ReadWriteCloser, error) {
			ours, theirs := net.Pipe()
			go serveConn(bufio.NewReader(theirs), bufio.NewWriter(theirs), true) // until either end is closed
			peers <- theirs
			return ours, nil
		},
		"asleep": func(context.Context) (io.ReadWriteCloser, error) { return nil, errors.New("it is asleep") },
	}})
	return h, peers
}

func within(name string) host.Server {
	return host.Server{Name: "loft", Transport: "socket", Address: "memory:" + name, Protocol: "2026-07-28"}
}

// A server that hangs up is connected anew by the next call.
func TestServerWithinTheProgram(t *testing.T) {
	h, ends := newMemoryHost(t)
	s := connect(t, h, within("loft"))
	w := h.Watch()
	defer w.Close()
	for range 3 {
		say(t, s)
		(<-ends).Close()
		for n, err := w.Next(t.Context()); n.State == status.Connected; n, err = w.Next(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	say(t, s)
}

func TestStreamsThatLeadNowhere(t *testing.T) {
	h, _ := newMemoryHost(t)
	sealed := within("loft")
	sealed.Auth = config.Auth{Provider: "bearer", Blob: true, Settings: map[string]any{"token": "t"}}
	for _, tt := range []struct {
		entry host.Server
		kind  error
		want  string
	}{
		{within("attic"), host.ErrConfig, `address "memory:attic": this program has no such stream (it has asleep, loft)`},
		{within(""), host.ErrConfig, "this program has no such stream"},
		{within("asleep"), host.ErrUnreachable, "open memory:asleep: it is asleep"},
		{sealed, host.ErrConfig, "there is no sign-in on memory:loft"},
	} {
		_, err := h.Connect(t.Context(), tt.entry)
		if !errors.Is(err, tt.kind) || !strings.Contains(fmt.Sprint(err), tt.want) {
			t.Errorf("%s: %v, want %q", tt.entry.Address, err, tt.want)
		}
	}
}

// BenchmarkMemory is a tool call and its answer within the process, for comparison
// with BenchmarkCall of host/benchmark.
func BenchmarkMemory(b *testing.B) {
	h, _ := newMemoryHost(b)
	s := connect(b, h, within("loft"))
	args := map[string]any{"message": strings.Repeat("x", 100)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.CallTool(b.Context(), "echo", args); err != nil {
			b.Fatal(err)
		}
	}
}

// The plugin stdio carries a stream within the program. The end of the stream ends the calls at once: no
// process is behind it whose end the plugin would wait for.
func TestStdioOverAStream(t *testing.T) {
	code := testenv.CodeDir()
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := testenv.NewDuplex()
		h, err := host.New(t.Context(), host.Config{
			Plugins: plugins.Builtin(), CacheDir: code,
			Streams: map[string]func(context.Context) (io.ReadWriteCloser, error){"loft": func(context.Context) (io.ReadWriteCloser, error) { return ours, nil }},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		go func() {
			in := bufio.NewReader(theirs)
			in.ReadString('\n')
			io.WriteString(theirs, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"loft","version":"1"}}}`+"\n")
			in.ReadString('\n')
			in.ReadString('\n') // the call
			theirs.Close()
		}()
		s, err := h.Connect(t.Context(), host.Server{Name: "loft", Transport: "stdio", Address: "memory:loft", Protocol: "legacy"})
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		var result any
		if err := s.Call(t.Context(), "tools/call", map[string]any{"name": "x"}, &result); !host.MaybeSent(err) {
			t.Error(err)
		}
		if took := time.Since(begun); took > 0 {
			t.Errorf("the call ended %v after the stream", took)
		}
	})
}
