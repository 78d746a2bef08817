package gateway_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/gateway"
	"github.com/wharf-mcp/wharf/internal/testenv"
	"github.com/wharf-mcp/wharf/plugins"
)

func TestMain(m *testing.M) {
	testenv.Parallel(4)
	goleak.VerifyTestMain(m)
}

// end is one end of a connection in lines of JSON. The test plays that end: each line that comes is
// expected, and each that goes is written out.
type end struct {
	t     *testing.T
	name  string
	conn  io.ReadWriteCloser
	lines chan string
	vars  map[string]string // what was captured, for both ends of a scene
}

func newEnd(t *testing.T, name string, conn io.ReadWriteCloser, vars map[string]string) *end {
	e := &end{t: t, name: name, conn: conn, lines: make(chan string, 1000), vars: vars}
	go func() {
		defer close(e.lines)
		for in := bufio.NewReader(conn); ; {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			e.lines <- strings.TrimSuffix(line, "\n")
		}
	}()
	t.Cleanup(func() { conn.Close() })
	return e
}

var variable = regexp.MustCompile(`\\?\$[a-z]+`)

// send writes lines. $name stands for what want has captured.
func (e *end) send(lines ...string) {
	e.t.Helper()
	for _, line := range lines {
		line = variable.ReplaceAllStringFunc(line, func(name string) string { return e.vars[name[1:]] })
		if _, err := io.WriteString(e.conn, line+"\n"); err != nil {
			e.t.Fatalf("%s: %v", e.name, err)
		}
	}
}

// want reads lines and compares them byte for byte. $name captures a number, or a string without
// its quotes; the same name again stands for the same text.
func (e *end) want(lines ...string) {
	e.t.Helper()
	for _, want := range lines {
		if got := e.read(); !e.match(got, want) {
			e.t.Fatalf("%s:\n got %s\nwant %s\nwith %v", e.name, got, want, e.vars)
		}
	}
}

// wantAny is want for lines that come in any order.
func (e *end) wantAny(lines ...string) {
	e.t.Helper()
	for len(lines) > 0 {
		got := e.read()
		at := slices.IndexFunc(lines, func(want string) bool { return e.match(got, want) })
		if at < 0 {
			e.t.Fatalf("%s:\n got %s\nwant one of %s\nwith %v", e.name, got, strings.Join(lines, "\n"), e.vars)
		}
		lines = slices.Delete(lines, at, at+1)
	}
}

func (e *end) read() string {
	e.t.Helper()
	line, ok := <-e.lines
	if !ok {
		e.t.Fatalf("%s: the connection has ended", e.name)
	}
	return line
}

// match compares a line, and stores what it captures if it fits.
func (e *end) match(got, want string) bool {
	var names []string
	pattern := variable.ReplaceAllStringFunc(regexp.QuoteMeta(want), func(name string) string {
		name = strings.TrimLeft(name, `\$`)
		if known, ok := e.vars[name]; ok {
			return regexp.QuoteMeta(known)
		}
		names = append(names, name)
		return `([\w.-]+)`
	})
	found := regexp.MustCompile(`^` + pattern + `$`).FindStringSubmatch(got)
	for i, name := range names {
		if found != nil {
			e.vars[name] = found[i+1]
		}
	}
	return found != nil
}

// closeWrite ends the side of this end.
func (e *end) closeWrite() { e.conn.(*testenv.Duplex).CloseWrite() }

// scene is a gateway to one server, and what is on its sides.
type scene struct {
	t       *testing.T
	host    *host.Host
	gateway *gateway.Gateway
	servers chan *testenv.Duplex // the server's ends of connections, in their order
	vars    map[string]string
}

// The revisions of the server's entry.
const (
	legacy = "2025-11-25"
	modern = "2026-07-28"
)

const socketFile = "../../examples/transport-socket-c/socket.wasm"

func newScene(t *testing.T, protocol string, change ...func(*host.Config, *gateway.Config)) *scene {
	t.Helper()
	s := &scene{t: t, servers: make(chan *testenv.Duplex, 16), vars: map[string]string{}}
	hc := host.Config{
		Plugins: plugins.Builtin(), CacheDir: testenv.CodeDir(), StartTimeout: -1, Ping: -1, Event: func(e host.Event) {
			if e.Warning != "" {
				t.Log(e.Warning)
			}
		},
		Files:     map[string]config.Plugin{"socket": {Name: "socket", File: socketFile}},
		Reconnect: config.Reconnect{Backoff: []time.Duration{}, Failures: -1},
		Streams: map[string]func(context.Context) (io.ReadWriteCloser, error){
			"files": func(context.Context) (io.ReadWriteCloser, error) {
				ours, theirs := testenv.NewDuplex()
				s.servers <- theirs
				return ours, nil
			},
		},
	}
	gc := gateway.Config{Servers: []host.Server{host.Server{Name: "files", Transport: "socket", Address: "memory:files", Protocol: protocol}}, Bare: true}
	for _, f := range change {
		f(&hc, &gc)
	}
	h, err := host.New(t.Context(), hc)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	s.host = h
	if s.gateway, err = gateway.New(h, gc); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.gateway.Close() })
	return s
}

// client connects another client.
func (s *scene) client() *end {
	s.t.Helper()
	ours, theirs := testenv.NewDuplex()
	done := make(chan error, 1)
	go func() { done <- s.gateway.ServeConn(context.Background(), ours) }()
	s.t.Cleanup(func() {
		theirs.Close()
		<-done
	})
	return newEnd(s.t, "client", theirs, s.vars)
}

// server waits until the server is dialled.
func (s *scene) server() *end { return newEnd(s.t, "server", <-s.servers, s.vars) }

// Handshakes.
const (
	capabilities = `{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"logging":{}}`
	initialized  = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	serverInfo   = `{"name":"raw","version":"1","x-more":[1.50]}`
)

func initialize(id, version, capabilities string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"initialize","params":{"protocolVersion":%q,"capabilities":%s,"clientInfo":{"name":"editor","version":"2"}}}`, id, version, capabilities)
}

func (e *end) greetLegacy(offered string) {
	e.t.Helper()
	e.want(`{"jsonrpc":"2.0","id":$hello,"method":"initialize","params":{"capabilities":` + offered + `,"clientInfo":{"name":"editor","version":"2"},"protocolVersion":"2025-11-25"}}`)
	e.send(`{"jsonrpc":"2.0","id":$hello,"result":{"protocolVersion":"2025-11-25","capabilities":` + capabilities + `,"serverInfo":` + serverInfo + `,"instructions":"be brief"}}`)
	e.want(initialized)
}

const discovered = `{"supportedVersions":["2026-07-28"],"capabilities":` + capabilities + `,"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":` + serverInfo + `},"instructions":"be brief","ttlMs":0,"cacheScope":"private"}`

// modernMeta returns the _meta of a client, and of the same client upstream.
func modernMeta(capabilities, more string) string {
	return `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"editor","version":"2","x":1.0},"io.modelcontextprotocol/clientCapabilities":` + capabilities + more + `}`
}

// greet answers the handshake of either era, whatever is offered, and waits for its end. The server
// declares nothing.
func (e *end) greet(protocol string) {
	e.t.Helper()
	e.answerHandshake(protocol)
	if protocol == legacy {
		e.want(initialized)
	}
}

func (e *end) answerHandshake(protocol string) {
	e.t.Helper()
	result := `{"supportedVersions":["2026-07-28"],"capabilities":{}}`
	if protocol == legacy {
		result = `{"protocolVersion":"2025-11-25","capabilities":{}}`
	}
	id := regexp.MustCompile(`"id":(\d+)`).FindStringSubmatch(e.read())[1]
	e.send(`{"jsonrpc":"2.0","id":` + id + `,"result":` + result + `}`)
}
