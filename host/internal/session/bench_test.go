package session

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// echo is a transport whose server answers every request before Send returns.
type echo struct {
	peer   *rpc.Peer
	result string
	buffer []byte
	done   chan struct{}
}

func (e *echo) Send(_ context.Context, m *rpc.Message) error {
	if m.Kind == abi.Request {
		result := e.result
		switch m.Method {
		case mcp.MethodInitialize:
			result = initializeResult(mcp.LatestLegacy)
		case mcp.MethodDiscover:
			result = discoverResult
		case mcp.MethodListTools:
			result = `{"tools":[` + regional + `]}`
		}
		e.buffer = append(e.buffer[:0], `{"jsonrpc":"2.0","id":`...)
		e.buffer = strconv.AppendUint(e.buffer, uint64(m.Exchange()), 10)
		e.buffer = append(append(append(e.buffer, `,"result":`...), result...), '}')
		e.peer.Deliver(0, e.buffer, false)
	}
	m.Free()
	return nil
}

func (e *echo) Cancel(uint32) bool                   { return false }
func (e *echo) AfterEnd(f func()) (stop func() bool) { return afterEnd(e.done, f) }
func (e *echo) Done() <-chan struct{}                { return e.done }
func (e *echo) Err() error                           { return nil }
func (e *echo) Shutdown(context.Context) error       { return nil }
func (e *echo) Leave(context.Context) error          { return nil }

func textResult(text string) string {
	return `{"content":[{"type":"text","text":` + strconv.Quote(text) + `}]}`
}

func newEcho(tb testing.TB, result string) (*Session, *rpc.Peer) {
	tb.Helper()
	e := &echo{result: result, done: make(chan struct{})}
	s, err := Open(context.Background(), setup{
		Config: Config{Name: "files", Client: mcp.Implementation{Name: "wharf", Version: "1"}},
		ConnectOptions: ConnectOptions{Protocol: LegacyOnly, Dial: func(_ context.Context, h rpc.Handler) (*Dialed, error) {
			e.peer = rpc.NewPeer(rpc.Config{Link: e, Handler: h})
			return &Dialed{Peer: e.peer, Transport: e}, nil
		}},
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.Close() })
	return s, e.peer
}

var sizes = []struct {
	name string
	text string
}{
	{"100B", strings.Repeat("hello ", 16)},
	{"10KB", strings.Repeat("hello ", 10<<10/6)},
	{"1MB", strings.Repeat("hello ", 1<<20/6)},
	{"1MB-escaped", strings.Repeat("hello\n ", 1<<20/8)},
}

// BenchmarkCallWithHeaderParams calls a tool of a modern server behind HTTP, with two
// arguments that headers show.
func BenchmarkCallWithHeaderParams(b *testing.B) {
	e := &echo{result: textResult(sizes[0].text), done: make(chan struct{})}
	s, err := Open(context.Background(), setup{
		Config: Config{Name: "far", Client: mcp.Implementation{Name: "wharf", Version: "1"}},
		ConnectOptions: ConnectOptions{Dial: func(_ context.Context, h rpc.Handler) (*Dialed, error) {
			e.peer = rpc.NewPeer(rpc.Config{Link: e, Handler: h})
			return &Dialed{Peer: e.peer, Transport: e, Probe: abi.ProbeHTTP}, nil
		}},
	})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	args := map[string]any{"region": "us-west", "n": 42}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.CallTool(b.Context(), "echo", args); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPeer is the floor of BenchmarkCallTool: the same call without a session.
func BenchmarkPeer(b *testing.B) {
	for _, size := range sizes {
		b.Run(size.name, func(b *testing.B) {
			_, peer := newEcho(b, textResult(size.text))
			params := written([]byte(`{"name":"echo","arguments":{"message":"hello"}}`))
			b.SetBytes(int64(len(size.text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := peer.Call(b.Context(), &rpc.Call{Method: mcp.MethodCallTool, Name: "echo"}, params); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCallTool(b *testing.B) {
	for _, size := range sizes {
		b.Run(size.name, func(b *testing.B) {
			s, _ := newEcho(b, textResult(size.text))
			args := map[string]any{"message": "hello"}
			b.SetBytes(int64(len(size.text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.CallTool(b.Context(), "echo", args); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkReadCall(b *testing.B) {
	for _, size := range sizes {
		b.Run(size.name, func(b *testing.B) {
			text := []byte(textResult(size.text))
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := readCall(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAppendCall(b *testing.B) {
	args := map[string]any{"message": sizes[0].text}
	meta := []byte(`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`)
	buffer := make([]byte, 0, 1<<10)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := appendCall(buffer, "echo", args, meta); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadPage(b *testing.B) {
	tool := `{"name":"tool-%","description":"does a thing with files","inputSchema":{"type":"object","properties":{"path":{"type":"string"}}}}`
	var tools []string
	for i := range 50 {
		tools = append(tools, strings.Replace(tool, "%", strconv.Itoa(i), 1))
	}
	text := []byte(`{"tools":[` + strings.Join(tools, ",") + `]}`)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		list := newToolList(false)
		if _, err := list.add(text, dialect{era: mcp.Legacy}); err != nil {
			b.Fatal(err)
		}
	}
}
