package replay

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/guest"
	"github.com/wharf-mcp/wharf/host/internal/hostio"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
	"github.com/wharf-mcp/wharf/internal/testenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// variant returns the plugin of testdata/variant, in one of its builds.
func variant(t testing.TB, build string) []byte {
	t.Helper()
	return testenv.Module(t, "./testdata/variant", "-X main.build="+build)
}

// engine runs all guests that are recorded.
var engine = sync.OnceValues(func() (*wasm.Engine, error) {
	return wasm.NewEngine(context.Background(), wasm.Config{CacheDir: testenv.CodeDir(), ABI: guest.ABI()})
})

// memoryFile is a file in memory.
type memoryFile struct{ bytes.Buffer }

func (*memoryFile) Close() error { return nil }

// fakeHost accepts every host call of a guest, and keeps the messages that it delivers.
type fakeHost struct {
	sink hostio.Sink
	got  []string
}

func (s *fakeHost) Open(_ abi.OpenKind, _ *abi.OpenRequest, sink hostio.Sink) (hostio.Stream, abi.Status, error) {
	s.sink = sink
	return s, abi.OK, nil
}
func (s *fakeHost) Timers(func(uint32)) hostio.Timers      { return s }
func (*fakeHost) Set(uint32, time.Duration) abi.Status     { return abi.OK }
func (*fakeHost) Claim(uint32) bool                        { return false }
func (*fakeHost) Stop()                                    {}
func (*fakeHost) Write([]byte, bool)                       {}
func (*fakeHost) Flush()                                   {}
func (*fakeHost) Queued() int                              { return 0 }
func (*fakeHost) Close()                                   {}
func (*fakeHost) TooBig(uint32, []byte, []byte)            {}
func (*fakeHost) Done(uint32)                              {}
func (*fakeHost) Failed(uint32, error)                     {}
func (*fakeHost) Expired(uint32)                           {}
func (*fakeHost) OfferInline(uint32, hostio.InlineIO) bool { return false }
func (s *fakeHost) Deliver(_ uint32, m []byte, _ bool) abi.Verdict {
	s.got = append(s.got, string(m))
	return abi.VerdictAnswer
}

// fakeReceiver is the receiver of a guest that is recorded.
type fakeReceiver struct {
	*fakeHost
	recording *Connection
}

func (a fakeReceiver) Close(err error) { a.recording.Ended(err) }

// outgoing is a message to the server.
type outgoing struct {
	payload []byte
	start   int
}

func (l *outgoing) Exchange() uint32       { return 1 }
func (l *outgoing) Payload() ([]byte, int) { return l.payload, l.start }
func (l *outgoing) Urgent() bool           { return false }
func (l *outgoing) Solicited() bool        { return false }
func (l *outgoing) Placed()                {}
func (l *outgoing) Hold()                  {}
func (l *outgoing) Free()                  {}

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
	recording := r.Connect("files", "variant", m.Hash())
	inst, err := guest.New(t.Context(), guest.Config{
		Plugin: "variant", Module: m, SingleThreaded: true, Observer: recording, Now: recording.Now, Random: recording,
	})
	if err != nil {
		t.Fatal(err)
	}
	w := &fakeHost{}
	inst.Open(&abi.Settings{Server: "files", Values: s.settings, Grants: inst.Manifest().Grants, MessageCap: 1 << 20}, nil, w, fakeReceiver{w, recording})
	w.sink.Opened()
	payload := abi.AppendFacts(nil, &abi.Facts{Kind: abi.Request, ID: "1", Method: "tools/call", Headers: []abi.Pair{{Key: "Mcp-Param-Token", Value: "short"}}})
	if err := inst.Send(t.Context(), &outgoing{append(payload, s.sent...), len(payload)}); err != nil {
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
	var out memoryFile
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
		o.CacheDir = testenv.CodeDir()
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
			if interpreted && build != "plain" && !testenv.Long() {
				continue
			}
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
// reads is compared only if the options say so.
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
