package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// message is one that a server received.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *rpc.Error      `json:"error"`
}

// act is what a server does about a message.
type act func(p *process, m message)

// server is a scripted MCP server. What it has no act for it refuses, and
// notifications it takes silently.
type server struct {
	boot   time.Duration // before it reads anything
	banner string        // printed then
	away   time.Duration // what is sent to it waits so long, and then there is no server
	on     map[string]act
}

// with returns a copy of s that acts differently on a method.
func (s server) with(method string, a act) server {
	on := map[string]act{method: a}
	for name, old := range s.on {
		if name != method {
			on[name] = old
		}
	}
	s.on = on
	return s
}

func (s server) slow(boot time.Duration) server { s.boot = boot; return s }

// process is a server that runs: link and transport of one connection.
type process struct {
	launcher *launcher
	server   server
	peer     *rpc.Peer
	in       chan message
	done     chan struct{}

	release sync.Once

	mu   sync.Mutex
	err  error
	seen []string // methods in order; replies as "reply"
	raw  []message

	sent     int // messages, whether or not it has read them
	prompted int // requests that say so
}

// Send queues a message, as a pipe does.
func (p *process) Send(_ context.Context, m *rpc.Message) error {
	defer m.Free()
	var got message
	if err := json.Unmarshal(m.Body(), &got); err != nil {
		p.launcher.t.Errorf("sent %s: %v", m.Body(), err)
	}
	p.mu.Lock()
	if p.sent++; m.Solicited() && m.Kind == abi.Request {
		p.prompted++
	}
	p.mu.Unlock()
	if p.exited() {
		return errors.New("broken pipe")
	}
	if exchange := m.Exchange(); p.server.away > 0 {
		time.AfterFunc(p.server.away, func() {
			p.peer.Failed(exchange, rpc.ErrNotSent)
			p.exit(errors.New("you are not welcome"))
		})
		return nil
	}
	p.in <- got
	return nil
}

func (p *process) Cancel(uint32) bool { return false }

func (p *process) Done() <-chan struct{} { return p.done }

func (p *process) AfterEnd(f func()) (stop func() bool) { return afterEnd(p.done, f) }

// afterEnd has f run once done is closed.
func afterEnd(done <-chan struct{}, f func()) (stop func() bool) {
	stopped := make(chan struct{})
	go func() {
		select {
		case <-done:
			f()
		case <-stopped:
		}
	}()
	return func() bool { close(stopped); return true }
}

func (p *process) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// Shutdown is what releases a process, even one that has exited.
func (p *process) Shutdown(context.Context) error {
	p.exit(errors.New("shut down"))
	p.release.Do(func() { p.launcher.count(-1) })
	return nil
}

func (p *process) Leave(ctx context.Context) error { return p.Shutdown(ctx) }

// exit ends the process. The peer may hear of it first.
func (p *process) exit(err error) {
	p.mu.Lock()
	if p.err != nil {
		p.mu.Unlock()
		return
	}
	p.err = err
	p.mu.Unlock()
	p.peer.Close(err)
	close(p.done)
}

func (p *process) run() {
	select {
	case <-time.After(p.server.boot):
	case <-p.done:
		return
	}
	if p.server.banner != "" {
		p.print("%s", p.server.banner)
	}
	for {
		select {
		case m := <-p.in:
			p.handle(m)
		case <-p.done:
			return
		}
	}
}

func (p *process) exited() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

func (p *process) handle(m message) {
	if p.exited() {
		return
	}
	name := m.Method
	if name == "" {
		name = "reply"
	}
	p.mu.Lock()
	p.seen, p.raw = append(p.seen, name), append(p.raw, m)
	p.mu.Unlock()
	switch a := p.server.on[name]; {
	case a != nil:
		a(p, m)
	case m.Method != "" && m.ID != nil:
		refuse(mcp.CodeMethodNotFound, "no "+m.Method, "")(p, m)
	}
}

func (p *process) print(format string, args ...any) {
	p.peer.Deliver(0, fmt.Appendf(nil, format, args...), false)
}

// received returns the methods seen so far, in order.
func (p *process) received() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.seen, " ")
}

// find returns the messages of a method.
func (p *process) find(method string) (found []message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, name := range p.seen {
		if name == method {
			found = append(found, p.raw[i])
		}
	}
	return found
}

func answer(result string) act {
	return func(p *process, m message) { p.print(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result) }
}

func refuse(code int, text, data string) act {
	if data != "" {
		data = `,"data":` + data
	}
	return func(p *process, m message) {
		p.print(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q%s}}`, m.ID, code, text, data)
	}
}

func silent(*process, message) {}

func exit(why string) act {
	return func(p *process, _ message) { p.exit(errors.New(why)) }
}

func after(d time.Duration, a act) act {
	return func(p *process, m message) { time.AfterFunc(d, func() { a(p, m) }) }
}

func both(acts ...act) act {
	return func(p *process, m message) {
		for _, a := range acts {
			a(p, m)
		}
	}
}

// launcher starts processes: the first with the first server, and so on; the last
// server serves all that follow.
type launcher struct {
	t       *testing.T
	servers []server

	mu        sync.Mutex
	processes []*process
	live      int
}

func (d *launcher) dial(ctx context.Context, h rpc.Handler) (*Dialed, error) {
	d.mu.Lock()
	n := len(d.processes)
	p := &process{
		launcher: d,
		server:   d.servers[min(n, len(d.servers)-1)],
		in:       make(chan message, 4096),
		done:     make(chan struct{}),
	}
	p.peer = rpc.NewPeer(rpc.Config{Link: p, Handler: h})
	d.processes = append(d.processes, p)
	d.mu.Unlock()
	d.count(1)
	go p.run()
	return &Dialed{Peer: p.peer, Transport: p}, nil
}

// count keeps the rule that a server never runs twice.
func (d *launcher) count(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.live += n; d.live > 1 {
		d.t.Errorf("%d processes at once", d.live)
	}
}

func (d *launcher) started() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.processes)
}

func (d *launcher) process(n int) *process {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.processes[n]
}

// received returns what each process saw, in order.
func (d *launcher) received() (seen []string) {
	for n := range d.started() {
		seen = append(seen, d.process(n).received())
	}
	return seen
}

// empty fails the test if a process is left.
func (d *launcher) empty() {
	d.t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.live != 0 {
		d.t.Errorf("%d processes left", d.live)
	}
}

func (d *launcher) config() setup {
	return setup{ConnectOptions: ConnectOptions{Dial: d.dial}, Config: Config{
		Name:   "files",
		Client: mcp.Implementation{Name: "wharf", Version: "1"},
		Warn:   func(text string) { d.t.Logf("warning: %s", text) },
	}}
}

// open opens a session that the test closes at its end.
func (d *launcher) open(change ...func(*setup)) *Session {
	d.t.Helper()
	cfg := d.config()
	for _, f := range change {
		f(&cfg)
	}
	s, err := Open(d.t.Context(), cfg)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { s.Close(); d.empty() })
	return s
}

// bubble runs a test in a world of its own, where time costs nothing and what
// is left behind is an error.
func bubble(t *testing.T, f func(t *testing.T, launcher func(...server) *launcher)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f(t, func(servers ...server) *launcher { return &launcher{t: t, servers: servers} })
	})
}

const (
	echoResult     = `{"content":[{"type":"text","text":"hi"}]}`
	discoverResult = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},` +
		`"instructions":"be kind","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"new","version":"2"}}}`
)

func initializeResult(version string) string {
	return `{"protocolVersion":` + strconv.Quote(version) + `,"capabilities":{"tools":{}},` +
		`"serverInfo":{"name":"old","title":"Old","version":"1"},"instructions":"be kind"}`
}

// oldServer speaks the legacy era and refuses the probe with -32601.
func oldServer() server {
	return server{on: map[string]act{
		"initialize": answer(initializeResult(mcp.LatestLegacy)),
		"tools/call": answer(echoResult),
	}}
}

// newServer speaks the modern era and refuses initialize with -32601.
func newServer() server {
	return server{on: map[string]act{
		"server/discover": answer(discoverResult),
		"tools/call":      answer(echoResult),
	}}
}
