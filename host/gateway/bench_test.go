package gateway_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/gateway"
	"github.com/wharf-mcp/wharf/internal/testenv"
	"github.com/wharf-mcp/wharf/plugins"
)

// BenchmarkCall is a call of a legacy client to a legacy server, both within the program: through
// the plugins of both sides.
func BenchmarkCall(b *testing.B) {
	for _, size := range []int{100, 10_000, 1_000_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			in, out := benchClient(b)
			text := strings.Repeat("x", size)
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				n++
				fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t","arguments":{"text":"%s"}}}`+"\n", n, text)
				if line, err := in.ReadSlice('\n'); err != nil || !bytes.Contains(line[:60], []byte(`"result":`)) {
					b.Fatalf("%.200s, %v", line, err)
				}
			}
		})
	}
}

// benchClient connects a client to a server that repeats params.
func benchClient(b testing.TB) (*bufio.Reader, io.Writer) {
	h, err := host.New(b.Context(), host.Config{
		Plugins: plugins.Builtin(), CacheDir: testenv.CodeDir(), Files: map[string]config.Plugin{"socket": {Name: "socket", File: socketFile}},
		Streams: map[string]func(context.Context) (io.ReadWriteCloser, error){
			"files": func(context.Context) (io.ReadWriteCloser, error) {
				ours, theirs := testenv.NewDuplex()
				go repeat(theirs)
				return ours, nil
			},
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	g, err := gateway.New(h, gateway.Config{Servers: []host.Server{host.Server{Name: "files", Transport: "socket", Address: "memory:files", Protocol: legacy}}, Bare: true})
	if err != nil {
		b.Fatal(err)
	}
	ours, theirs := testenv.NewDuplex()
	go g.ServeConn(context.Background(), ours)
	b.Cleanup(func() {
		theirs.Close()
		g.Close()
		h.Close()
	})
	in := bufio.NewReaderSize(theirs, 2<<20)
	io.WriteString(theirs, initialize("0", legacy, `{}`)+"\n")
	in.ReadSlice('\n')
	return in, theirs
}

// repeat answers each request with its params.
func repeat(conn io.ReadWriter) {
	in := bufio.NewReaderSize(conn, 2<<20)
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return
		}
		_, rest, ok := bytes.Cut(line, []byte(`"id":`))
		id, _, _ := bytes.Cut(rest, []byte(","))
		_, params, _ := bytes.Cut(line, []byte(`"params":`))
		switch {
		case !ok:
		case bytes.Contains(line[:60], []byte("initialize")):
			fmt.Fprintf(conn, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}`+"\n", id)
		default:
			fmt.Fprintf(conn, `{"jsonrpc":"2.0","id":%s,"result":%s`+"\n", id, bytes.TrimSuffix(params, []byte("\n")))
		}
	}
}
