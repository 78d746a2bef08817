package guest

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/hostio"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
	"github.com/wharf-mcp/wharf/internal/testenv"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == workerArgument {
		serveWorker()
	}
	goleak.VerifyTestMain(m)
}

// engine is shared by the tests: compiling a guest costs more than a test.
var engine = sync.OnceValues(func() (*wasm.Engine, error) {
	return wasm.NewEngine(context.Background(), wasm.Config{ABI: ABI(), CacheDir: testenv.CodeDir()})
})

var modules sync.Map

// module returns a loaded guest, loading it once.
func module(t testing.TB, pkg string) *wasm.Module {
	t.Helper()
	if m, ok := modules.Load(pkg); ok {
		return m.(*wasm.Module)
	}
	e, err := engine()
	if err != nil {
		t.Fatal(err)
	}
	m, err := e.Load(t.Context(), filepath.Base(pkg), testenv.Module(t, pkg))
	if err != nil {
		t.Fatal(err)
	}
	modules.Store(pkg, m)
	return m
}

// fakeHost is a world of streams that remember what was written to them.
type fakeHost struct {
	mu      sync.Mutex
	streams []*fakeStream
	refuse  abi.Status
	stuck   bool // what is opened takes nothing
	timers  *fakeTimers
	said    []byte // by processes
}

func (w *fakeHost) Stderr() []byte { return w.said }

func (w *fakeHost) Open(kind abi.OpenKind, r *abi.OpenRequest, sink hostio.Sink) (hostio.Stream, abi.Status, error) {
	if w.refuse != 0 {
		return nil, w.refuse, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	request := *r
	request.Headers = slices.Clone(r.Headers)
	s := &fakeStream{kind: kind, request: request, sink: sink, stuck: w.stuck, took: make(chan struct{}, 1<<16)}
	w.streams = append(w.streams, s)
	return s, abi.OK, nil
}

func (w *fakeHost) Timers(fire func(uint32)) hostio.Timers {
	w.timers = &fakeTimers{fire: fire}
	return w.timers
}

// stream returns the n-th stream that was opened.
func (w *fakeHost) stream(n int) *fakeStream {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.streams[n]
}

// fakeTimers arm nothing by themselves: a test fires them.
type fakeTimers struct {
	fire    func(uint32)
	mu      sync.Mutex
	armed   map[uint32]time.Duration
	stopped bool
}

func (f *fakeTimers) Set(id uint32, after time.Duration) abi.Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.armed == nil {
		f.armed = map[uint32]time.Duration{}
	}
	f.armed[id] = after
	return abi.OK
}

func (f *fakeTimers) Claim(id uint32) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, armed := f.armed[id]
	delete(f.armed, id)
	return armed
}

func (f *fakeTimers) Stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stopped = true
}

// fakeStream collects what is flushed to it, unless it is stuck.
type fakeStream struct {
	kind    abi.OpenKind
	request abi.OpenRequest
	sink    hostio.Sink
	took    chan struct{} // a token for each flush that took something

	mu      sync.Mutex
	pending []byte
	written []byte
	flushes int
	stuck   bool
	closed  bool
}

func (s *fakeStream) Write(p []byte, end bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending = append(s.pending, p...)
}

func (s *fakeStream) Flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stuck || len(s.pending) == 0 {
		return
	}
	s.written, s.pending = append(s.written, s.pending...), nil
	s.flushes++
	s.took <- struct{}{}
}

func (s *fakeStream) Queued() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.pending)
}

func (s *fakeStream) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

// setStuck makes the stream take nothing, or take again.
func (s *fakeStream) setStuck(stuck bool) {
	s.mu.Lock()
	s.stuck = stuck
	s.mu.Unlock()
	if !stuck {
		s.Flush()
		s.sink.Drained()
	}
}

func (s *fakeStream) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.written)
}

// inbox is a receiver that remembers what it heard.
type inbox struct {
	mu      sync.Mutex
	got     []string
	big     []string
	done    []uint32
	expired []uint32
	failed  map[uint32]error
	verdict func(msg []byte) abi.Verdict
	closed  chan struct{}
	cause   error
}

func newInbox() *inbox {
	return &inbox{failed: map[uint32]error{}, closed: make(chan struct{})}
}

func (b *inbox) Deliver(exchange uint32, msg []byte, owned bool) abi.Verdict {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.got = append(b.got, string(msg))
	if b.verdict != nil {
		return b.verdict(msg)
	}
	return abi.VerdictAnswer
}

func (b *inbox) TooBig(exchange uint32, head, _ []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.big = append(b.big, string(head))
}

func (b *inbox) Done(exchange uint32) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done = append(b.done, exchange)
}

func (b *inbox) Expired(exchange uint32) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expired = append(b.expired, exchange)
}

func (b *inbox) Failed(exchange uint32, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failed[exchange] = err
}

func (b *inbox) OfferInline(uint32, hostio.InlineIO) bool { return false }

func (b *inbox) Close(err error) {
	b.cause = err
	close(b.closed)
}

func (b *inbox) messages() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.got...)
}

// testMessage is an outgoing message of a test.
type testMessage struct {
	exchange uint32
	payload  []byte
	start    int
	urgent   bool
	held     int
	freed    chan uint32
}

func newTestMessage(exchange uint32, body string, freed chan uint32) *testMessage {
	payload := abi.AppendFacts(nil, &abi.Facts{Kind: abi.Request, Method: "ping"})
	return &testMessage{exchange: exchange, start: len(payload), payload: append(payload, body...), freed: freed}
}

// tell gives l other facts.
func (l *testMessage) tell(f *abi.Facts) {
	facts := abi.AppendFacts(nil, f)
	l.payload, l.start = append(facts, l.payload[l.start:]...), len(facts)
}

func (l *testMessage) Exchange() uint32       { return l.exchange }
func (l *testMessage) Payload() ([]byte, int) { return l.payload, l.start }
func (l *testMessage) Urgent() bool           { return l.urgent }
func (l *testMessage) Solicited() bool        { return l.urgent }
func (l *testMessage) Placed()                {}
func (l *testMessage) Hold()                  { l.held++ }
func (l *testMessage) Free() {
	if l.freed != nil {
		l.freed <- l.exchange
	}
}

// rig is an instance with everything around it.
type rig struct {
	*Instance
	host  *fakeHost
	inbox *inbox
	freed chan uint32
}

const (
	stdioPackage   = "../../../examples/transport-stdio"
	hostilePackage = "./testdata/hostile"
)

// open starts a guest with settings, on a world of its own.
func open(t testing.TB, pkg string, c Config, values ...abi.Pair) *rig {
	t.Helper()
	c.Plugin = filepath.Base(pkg)
	if c.Remote == elsewhere {
		testenv.NeedsWorkers(t)
		c.Remote = apart(testenv.Module(t, pkg))
	} else {
		c.Module = module(t, pkg)
	}
	if pkg == hostilePackage && c.Limits.CloseGrace == 0 {
		c.Limits.CloseGrace = 20 * time.Millisecond // it never says ENDED
	}
	inst, err := New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{Instance: inst, host: &fakeHost{}, inbox: newInbox(), freed: make(chan uint32, 1<<16)}
	r.idle.armed = !c.SingleThreaded // no timer becomes the owner during a test, see tires
	inst.Open(&abi.Settings{Server: "test", Values: values, Grants: inst.Manifest().Grants}, nil, r.host, r.inbox)
	t.Cleanup(func() { r.Close(context.Background()) })
	return r
}

// send sends a message from this goroutine.
func (r *rig) send(t testing.TB, exchange uint32, body string) {
	t.Helper()
	if err := r.Send(context.Background(), newTestMessage(exchange, body, r.freed)); err != nil {
		t.Fatal(err)
	}
}
