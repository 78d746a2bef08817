//go:build unix

package connect

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
)

// servers are three ways to serve the tool "echo" to a client at the other end of a stream.
var servers = []struct {
	name  string
	serve func(b *testing.B, stream io.ReadWriteCloser)
}{
	{"plugin", servePlugin},
	{"native", serveNative},
	{"sdk", serveSDK},
}

// servePlugin has the stdio plugin frame the messages.
func servePlugin(b *testing.B, s io.ReadWriteCloser) {
	accepted, err := newDialer(b).Accept(b.Context(), Accept{Name: "bench", Stream: s, Handler: answers{request: echoTool}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { accepted.Shutdown(context.Background()) })
}

// serveNative frames the messages here, by lines.
func serveNative(b *testing.B, s io.ReadWriteCloser) {
	p := rpc.NewPeer(rpc.Config{Serving: true, Link: lineLink{s}, Handler: answers{request: echoTool}})
	b.Cleanup(func() { p.Close(nil); s.Close() })
	go func() {
		in := bufio.NewReaderSize(s, 64<<10)
		var line []byte
		for {
			part, err := in.ReadSlice('\n')
			line = append(line, part...)
			if err == bufio.ErrBufferFull {
				continue
			}
			if err != nil {
				return
			}
			p.Deliver(0, bytes.TrimSuffix(line, []byte{'\n'}), false)
			line = line[:0]
		}
	}()
}

type lineLink struct{ to io.Writer }

func (l lineLink) Send(_ context.Context, m *rpc.Message) error {
	defer m.Free()
	_, err := l.to.Write(append(m.Body(), '\n'))
	return err
}

func (lineLink) Cancel(uint32) bool { return false }

// echoTool is the tool, for a peer.
func echoTool(_ context.Context, in *rpc.Incoming) (rpc.Appender, error) {
	if in.Method == "initialize" {
		return raw(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"echo","version":"1"}}`), nil
	}
	_, text, _ := bytes.Cut(in.Params, []byte(`"text":`))
	text = bytes.TrimSuffix(text, []byte("}}"))
	return func(dst []byte) ([]byte, error) {
		dst = append(dst, `{"content":[{"type":"text","text":`...)
		return append(append(dst, text...), "}]}"...), nil
	}, nil
}

func serveSDK(b *testing.B, s io.ReadWriteCloser) {
	server := mcp.NewServer(&mcp.Implementation{Name: "echo", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "echo", InputSchema: map[string]any{"type": "object"}},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var args struct{ Text string }
			if err := json.Unmarshal(r.Params.Arguments, &args); err != nil {
				return nil, err
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: args.Text}}}, nil
		})
	session, err := server.Connect(b.Context(), &mcp.IOTransport{Reader: s, Writer: s}, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { session.Close() })
}

// pipes is a stream of two pipes, as a program has that an editor started.
type pipes struct{ in, out *os.File }

func (p pipes) Read(b []byte) (int, error)  { return p.in.Read(b) }
func (p pipes) Write(b []byte) (int, error) { return p.out.Write(b) }
func (p pipes) Close() error                { p.in.Close(); return p.out.Close() }

// streams are what a client may be connected by.
var streams = []struct {
	name string
	open func(b *testing.B) (ours, theirs io.ReadWriteCloser)
}{
	{"socket", func(b *testing.B) (ours, theirs io.ReadWriteCloser) {
		l, err := net.Listen("unix", b.TempDir()+"/s")
		if err != nil {
			b.Fatal(err)
		}
		defer l.Close()
		if theirs, err = net.Dial("unix", l.Addr().String()); err != nil {
			b.Fatal(err)
		}
		if ours, err = l.Accept(); err != nil {
			b.Fatal(err)
		}
		return ours, theirs
	}},
	{"pipes", func(b *testing.B) (ours, theirs io.ReadWriteCloser) {
		r1, w1, err := os.Pipe()
		if err != nil {
			b.Fatal(err)
		}
		r2, w2, err := os.Pipe()
		if err != nil {
			b.Fatal(err)
		}
		return pipes{r1, w2}, pipes{r2, w1}
	}},
}

// BenchmarkServe measures a call, from the client's write to its read. cpu-µs/op is the processor
// time of the whole process, client included.
func BenchmarkServe(b *testing.B) {
	for _, stream := range streams {
		for _, size := range []int{100, 10 << 10, 1 << 20} {
			for _, server := range servers {
				b.Run(fmt.Sprintf("%s/%dB/%s", stream.name, size, server.name), func(b *testing.B) {
					ours, theirs := stream.open(b)
					b.Cleanup(func() { theirs.Close() })
					server.serve(b, ours)
					benchCalls(b, theirs, size)
				})
			}
		}
	}
}

func benchCalls(b *testing.B, s io.ReadWriteCloser, size int) {
	in := bufio.NewReaderSize(s, 2<<20)
	ask := func(text string) []byte {
		if _, err := io.WriteString(s, text+"\n"); err != nil {
			b.Fatal(err)
		}
		line, err := in.ReadSlice('\n')
		if err != nil {
			b.Fatal(err)
		}
		return line
	}
	ask(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"b","version":"1"}}}`)
	io.WriteString(s, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	text := strings.Repeat("x", size)
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"` + text + `"}}}`
	var got struct{ Result json.RawMessage }
	if err := json.Unmarshal(ask(call), &got); err != nil {
		b.Fatal(err)
	}
	if want := `{"content":[{"type":"text","text":"` + text + `"}]}`; string(got.Result) != want {
		b.Fatalf("answered %.200s", got.Result)
	}
	before := processorTime()
	for b.Loop() {
		ask(call)
	}
	b.ReportMetric(float64((processorTime()-before).Nanoseconds())/1000/float64(b.N), "cpu-µs/op")
}

func processorTime() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
