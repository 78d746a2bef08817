package control

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/internal/testenv"
	"github.com/wharf-mcp/wharf/plugins"
)

// roleVariable makes the program of the tests a server, or a daemon at a socket.
const roleVariable = "WHARF_BENCHMARK_ROLE"

// play plays the role that the program has, if it has one.
func play() (played bool) {
	role, at, _ := strings.Cut(os.Getenv(roleVariable), " ")
	var err error
	switch role {
	case "":
		return false
	case "server":
		err = repeatText(os.Stdin, os.Stdout)
	case "daemon":
		err = benchDaemon(at)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return true
}

// BenchmarkCall is a call of a tool of a server over stdio: by the library in this process, and by an editor at
// the socket of a daemon. Beside them it measures a socket alone: the request of the editor goes to the process of
// the daemon, and its answer comes back, without a look at them. The three take turns, and medians are
// compared.
func BenchmarkCall(b *testing.B) {
	for _, size := range []int{100, 10_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			text := strings.Repeat("x", size)
			library, editor, socket := benchLibrary(b, text), benchEditor(b, text), benchSocket(b, text)
			var took [3][]time.Duration
			for b.Loop() {
				for i, call := range []func(){library, editor, socket} {
					began := time.Now()
					call()
					took[i] = append(took[i], time.Since(began))
				}
			}
			var median [3]float64
			for i, all := range took {
				slices.Sort(all)
				median[i] = float64(all[len(all)/2].Nanoseconds()) / 1e3
			}
			b.ReportMetric(median[0], "µs/library")
			b.ReportMetric(median[1], "µs/editor")
			b.ReportMetric(median[2], "µs/socket")
			b.ReportMetric(median[1]/(median[0]+median[2]), "editor/(library+socket)")
		})
	}
}

// benchServer is a server that answers with the text of its call.
func benchServer(b testing.TB) host.Server {
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	return host.Server{Name: "echo", Command: self, Protocol: "legacy", Env: map[string]string{roleVariable: "server"}}
}

func benchLibrary(b *testing.B, text string) (call func()) {
	h, err := host.New(b.Context(), host.Config{Plugins: plugins.Builtin(), CacheDir: testenv.CodeDir()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { h.Close() })
	s, err := h.Connect(b.Context(), benchServer(b))
	if err != nil {
		b.Fatal(err)
	}
	args := map[string]any{"message": text}
	return func() {
		if _, err := s.CallTool(b.Context(), "echo", args); err != nil {
			b.Error(err)
		}
	}
}

// benchEditor returns a call of an editor. What it sends and reads is bytes: an editor's own JSON is not measured.
func benchEditor(b *testing.B, text string) (call func()) {
	conn := benchStart(b, "control")
	in := bufio.NewReaderSize(conn, 1<<20)
	ask := func(line string) {
		if _, err := io.WriteString(conn, line); err != nil {
			b.Fatal(err)
		}
		if answer, err := in.ReadSlice('\n'); err != nil || !bytes.Contains(answer, []byte(`"result":`)) {
			b.Fatalf("%.300s, %v", answer, err)
		}
	}
	ask(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocol":[1,1],"client":{"name":"test"}}}` + "\n")
	line := benchRequest(text)
	return func() { ask(line) }
}

func benchRequest(text string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"server":"echo","name":"echo","arguments":{"message":"` + text + `"}}}` + "\n"
}

func benchSocket(b *testing.B, text string) (call func()) {
	conn := benchStart(b, "pump")
	in := bufio.NewReaderSize(conn, 1<<20)
	line := benchRequest(text)
	return func() {
		io.WriteString(conn, line)
		if _, err := in.ReadSlice('\n'); err != nil {
			b.Fatal(err)
		}
	}
}

// benchStart starts a daemon, and connects to one of its sockets.
func benchStart(b *testing.B, socket string) net.Conn {
	dir, err := os.MkdirTemp("", "ctl") // of b.TempDir the path may be too long for a socket
	if err != nil {
		b.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	daemon := exec.Command(self)
	daemon.Env, daemon.Stderr = append(os.Environ(), roleVariable+"=daemon "+dir), os.Stderr
	end, err := daemon.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	ready, err := daemon.StdoutPipe()
	if err == nil {
		err = daemon.Start()
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		end.Close()
		daemon.Wait()
		os.RemoveAll(dir)
	})
	if _, err := bufio.NewReader(ready).ReadString('\n'); err != nil {
		b.Fatal(err)
	}
	conn, err := net.Dial("unix", filepath.Join(dir, socket))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	return conn
}

// benchDaemon serves editors at the socket "control" of a folder, and repeats lines at the socket "pump", until its
// stdin ends.
func benchDaemon(dir string) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c := New(Config{})
	config := host.Config{Plugins: plugins.Builtin(), CacheDir: testenv.CodeDir()}
	c.Install(&config)
	h, err := host.New(ctx, config)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err == nil {
		err = c.Open(h, Configuration{Servers: []host.Server{{Name: "echo", Command: self, Protocol: "legacy", Env: map[string]string{roleVariable: "server"}}}})
	}
	if err != nil {
		return err
	}
	for name, serve := range map[string]func(net.Conn){
		"control": func(conn net.Conn) { c.ServeConn(ctx, conn) },
		"pump":    func(conn net.Conn) { io.Copy(conn, struct{ io.Reader }{conn}) },
	} {
		l, err := net.Listen("unix", filepath.Join(dir, name))
		if err != nil {
			return err
		}
		go func() {
			for conn, err := l.Accept(); err == nil; conn, err = l.Accept() {
				go serve(conn)
			}
		}()
	}
	fmt.Println("ready")
	io.Copy(io.Discard, os.Stdin)
	c.Close()
	return h.Close()
}

// repeatText answers each call with its message.
func repeatText(from io.Reader, to io.Writer) error {
	in := bufio.NewReaderSize(from, 1<<20)
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return nil // the client has ended it
		}
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Arguments struct{ Message string } }
		}
		if err := json.Unmarshal(line, &m); err != nil {
			return err
		}
		switch {
		case m.ID == nil:
		case m.Method == "initialize":
			fmt.Fprintf(to, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"echo","version":"1"}}}`+"\n", m.ID)
		case m.Method == "tools/list":
			fmt.Fprintf(to, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}}`+"\n", m.ID)
		default:
			fmt.Fprintf(to, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%q}]}}`+"\n", m.ID, m.Params.Arguments.Message)
		}
	}
}
