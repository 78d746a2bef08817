package replay

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/guest"
	"github.com/wharf-mcp/wharf/host/internal/hostio"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		os.RemoveAll(cache())
		os.Exit(code)
	}))
}

// cache keeps compiled plugins for all tests.
var cache = sync.OnceValue(func() string {
	dir, err := os.MkdirTemp("", "record")
	if err != nil {
		panic(err)
	}
	return dir
})

// builds are those of the variant, each made once.
var builds sync.Map

// variant returns the plugin of testdata/variant, in one of its builds.
func variant(t testing.TB, build string) []byte {
	t.Helper()
	once, _ := builds.LoadOrStore(build, sync.OnceValues(func() ([]byte, error) {
		dir, err := os.MkdirTemp("", "variant")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		out := filepath.Join(dir, "variant.wasm")
		cmd := exec.Command("go", "build", "-buildmode=c-shared", "-ldflags=-s -w -X main.build="+build, "-o", out, "./testdata/variant")
		cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=")
		if said, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%w: %s", err, said)
		}
		return os.ReadFile(out)
	}))
	binary, err := once.(func() ([]byte, error))()
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

// engines run what is recorded: all of it shares one.
var engine = sync.OnceValues(func() (*wasm.Engine, error) {
	return wasm.NewEngine(context.Background(), wasm.Config{CacheDir: cache(), ABI: guest.Surface()})
})

// sheet is a file in memory.
type sheet struct{ bytes.Buffer }

func (*sheet) Close() error { return nil }

// stage is a world without anything behind it, and whoever the messages are for.
type stage struct {
	sink hostio.Sink
	got  []string
}

func (s *stage) Open(_ abi.OpenKind, _ *abi.OpenRequest, sink hostio.Sink) (hostio.Stream, abi.Status, error) {
	s.sink = sink
	return s, abi.OK, nil
}
func (s *stage) Timers(func(uint32)) hostio.Timers      { return s }
func (*stage) Set(uint32, time.Duration) abi.Status     { return abi.OK }
func (*stage) Claim(uint32) bool                        { return false }
func (*stage) Stop()                                    {}
func (*stage) Write([]byte, bool)                       {}
func (*stage) Flush()                                   {}
func (*stage) Queued() int                              { return 0 }
func (*stage) Close()                                   {}
func (*stage) TooBig(uint32, []byte)                    {}
func (*stage) Done(uint32)                              {}
func (*stage) Failed(uint32, error)                     {}
func (*stage) Expired(uint32)                           {}
func (*stage) OfferInline(uint32, hostio.InlineIO) bool { return false }
func (s *stage) Deliver(_ uint32, m []byte, _ bool) abi.Verdict {
	s.got = append(s.got, string(m))
	return abi.VerdictAnswer
}

// audience is the stage as the receiver of a guest that is recorded.
type audience struct {
	*stage
	take *Connection
}

func (a audience) Close(err error) { a.take.Ended(err) }

// letter is an outgoing message.
type letter struct {
	payload []byte
	start   int
}

func (l *letter) Exchange() uint32       { return 1 }
func (l *letter) Payload() ([]byte, int) { return l.payload, l.start }
func (l *letter) Urgent() bool           { return false }
func (l *letter) Prompted() bool         { return false }
func (l *letter) Hold()                  {}
func (l *letter) Free()                  {}

// script is what happens in a session: what is sent, and what comes, piece by piece.
type script struct {
	settings []abi.Pair
	sent     string
	came     []string
}

var small = script{
	sent: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"message":"hello"}}}`,
	came: []string{`{"jsonrpc":"2.0","id":1,"re`, "sult\":{}}\n", "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n"},
}

// play runs a session with a build of the variant, and records it.
func play(t testing.TB, r *Recorder, build string, s script) {
	t.Helper()
	e, err := engine()
	if err != nil {
		t.Fatal(err)
	}
	m, err := e.Load(t.Context(), "variant", variant(t, build))
	if err != nil {
		t.Fatal(err)
	}
	take := r.Connect("theatre", "variant", m.Hash())
	inst, err := guest.New(t.Context(), guest.Config{
		Plugin: "variant", Module: m, SingleThreaded: true, Observer: take, Now: take.Now, Random: take,
	})
	if err != nil {
		t.Fatal(err)
	}
	w := &stage{}
	inst.Open(&abi.Settings{Server: "theatre", Values: s.settings, Grants: inst.Manifest().Grants, MessageCap: 1 << 20}, nil, w, audience{w, take})
	w.sink.Opened()
	payload := abi.AppendFacts(nil, &abi.Facts{Kind: abi.Request, ID: "1", Method: "tools/call", Headers: []abi.Pair{{Key: "Mcp-Param-Token", Value: "short"}}})
	if err := inst.Send(t.Context(), &letter{append(payload, s.sent...), len(payload)}); err != nil {
		t.Error(err)
	}
	for _, piece := range s.came {
		w.sink.Data([]byte(piece), false)
	}
	inst.SendClose()
	inst.Close(t.Context())
}

// record plays a session once and returns the recording.
func record(t testing.TB, build string, s script, secrets ...string) string {
	t.Helper()
	var out sheet
	r := NewRecorder(&out)
	r.Secrets().Hide(secrets...)
	play(t, r, build, s)
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	return out.String()
}

// replay runs a recording with a build.
func replayWith(t testing.TB, recording, build string, o Options) *Report {
	t.Helper()
	if !o.Interpreted {
		o.CacheDir = cache()
	}
	report, err := Run(t.Context(), strings.NewReader(recording), variant(t, build), o)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

var all = Options{Logs: true, Reads: true}

func TestTheSameBuildDoesTheSame(t *testing.T) {
	for _, build := range []string{"plain", "logs", "xor", "crlf", "spin"} {
		recording := record(t, build, small)
		for _, interpreted := range []bool{false, true} {
			o := all
			o.Interpreted = interpreted
			r := replayWith(t, recording, build, o)
			if !r.Same || !r.SameFile || r.Incomplete || r.Connections != 1 || r.Events < 5 || r.Skipped > 0 {
				t.Errorf("%s, interpreted %v: %+v %+v", build, interpreted, r, r.First)
			}
		}
	}
}

// Another build differs in what it does, and that is said; what it logs and how it
// reads is its own affair, unless somebody wants to know.
func TestOtherBuilds(t *testing.T) {
	recording := record(t, "plain", small)
	for _, tt := range []struct {
		build   string
		options Options
		kind    string
		want    string
		got     string
		event   int
	}{
		{build: "logs"},
		{build: "logs", options: Options{Logs: true}, kind: Extra, got: "  <-- log(INFO, 18)\n    | \"it heard something\"", event: 5},
		{build: "looks"},
		{build: "looks", options: Options{Reads: true}, kind: Extra, got: "  <-- take(0, 27) = 27", event: 5},
		{build: "crlf", kind: Changed, want: "  <-- write(1, 1) = OK\n    | \"\\n\"", got: "  <-- write(1, 2) = OK\n    | \"\\r\\n\"", event: 4},
		{build: "twice", kind: Extra, got: "  <-- forward(1, 67, 103) = OK", event: 4},
		{build: "open", kind: Missing, want: "  <-- write(1, 1) = OK\n    | \"\\n\"", event: 4},
		{build: "later", kind: Result, want: "--> = 1", got: "--> = 0", event: 4},
		{build: "spin", kind: Missing, want: "  <-- deliver(0, 0, 27) = PENDING", event: 5},
	} {
		r := replayWith(t, recording, tt.build, tt.options)
		if r.SameFile || r.Same != (tt.kind == "") {
			t.Errorf("%s %+v: %+v", tt.build, tt.options, r)
			continue
		}
		if d := r.First; d != nil && (d.Kind != tt.kind || d.Want != tt.want || d.Got != tt.got || d.Event != tt.event || len(d.Before) == 0) {
			t.Errorf("%s: got %+v; want %+v", tt.build, *d, tt)
		}
	}
}

// A guest that spins is stopped, and what it does not get to see any more is told.
func TestStoppedPlugin(t *testing.T) {
	r := replayWith(t, record(t, "plain", small), "spin", Options{})
	if r.Skipped != 3 || len(r.Differences) != 2 || r.Differences[0] != (Summary{Stopped, "DATA", 1}) {
		t.Errorf("got %+v", r)
	}
	r = replayWith(t, record(t, "spin", small), "plain", Options{})
	if r.Same || r.First.Kind != Extra || r.Differences[0] != (Summary{Stopped, "DATA", 1}) {
		t.Errorf("got %+v, %+v", r, r.First)
	}
}
