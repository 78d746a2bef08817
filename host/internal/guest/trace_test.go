package guest

import (
	"bytes"
	"path/filepath"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/hostio"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
	"github.com/wharf-mcp/wharf/internal/testenv"
	"github.com/wharf-mcp/wharf/sdk/sdktest"
)

// The traces that a plugin passes natively, against the fake host, it passes
// in its sandbox against this one: line by line and byte by byte.
func TestTracesInTheSandbox(t *testing.T) {
	for pattern, pkg := range map[string]string{
		"../../../abi/testdata/traces/stdio.trace":            stdioPackage,
		"../../../abi/testdata/traces/http.trace":             httpPackage,
		"../../../abi/testdata/traces/unix.trace":             httpPackage,
		"../../../abi/testdata/traces/sse.trace":              ssePackage,
		"../../../plugins/stdio/testdata/*.trace":             stdioPackage,
		"../../../plugins/http/testdata/*.trace":              httpPackage,
		"../../../examples/transport-socket/testdata/*.trace": socketPackage,
	} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no traces: %v", pattern, err)
		}
		for _, file := range files {
			if filepath.Base(file) == "closed.trace" {
				continue // a handle that closes by itself under the guest's feet is a fake host's doing
			}
			script := sdktest.Read(t, file)
			t.Run(filepath.Base(file), func(t *testing.T) { play(t, pkg, script, nil) })
			t.Run(filepath.Base(file)+", at rest", func(t *testing.T) {
				for range 3 {
					play(t, pkg, script, (*Instance).releaseBuffers)
				}
				wantShared(t, 1)
			})
		}
	}
}

const (
	socketPackage = "../../../examples/transport-socket"
	httpPackage   = "../../../examples/transport-http"
	ssePackage    = "../../../plugins/sse"
)

// stage is what a scripted guest plays on: it answers as the script says, and
// notes what is done.
type stage struct {
	fakeHost
	calls   []sdktest.Call // of the step under way, those that have come off
	entries []sdktest.Entry
}

// next takes the next call of the script with this number.
func (s *stage) next(op abi.Call) (sdktest.Call, bool) {
	for n, c := range s.calls {
		if c.Op == op {
			s.calls = s.calls[n+1:]
			return c, true
		}
	}
	return sdktest.Call{}, false
}

func (s *stage) Open(kind abi.OpenKind, r *abi.OpenRequest, sink hostio.Sink) (hostio.Stream, abi.Status, error) {
	if c, ok := s.next(abi.CallOpen); ok && c.Result < 0 {
		return nil, abi.Status(c.Result), nil
	}
	return s.fakeHost.Open(kind, r, sink)
}

// stageTimers answer as the script says.
type stageTimers struct {
	fakeTimers
	stage *stage
}

func (f *stageTimers) Set(id uint32, after time.Duration) abi.Status {
	if c, ok := f.stage.next(abi.CallTimer); ok && c.Result < 0 {
		return abi.Status(c.Result)
	}
	return f.fakeTimers.Set(id, after)
}

// trace notes a line. Bytes beside a take are no part of a trace's text.
func (s *stage) trace(line, payload []byte) {
	s.entries = append(s.entries, sdktest.Entry{Line: string(line), Bytes: bytes.Clone(payload)})
}

// play runs a script as the owner of an instance, event by event. What is done
// between two events, if anything, must not be seen in any of them.
func play(t *testing.T, pkg string, script *sdktest.Trace, between func(*Instance)) {
	t.Helper()
	playModule(t, module(t, pkg), script, between)
}

func playModule(t *testing.T, m *wasm.Module, script *sdktest.Trace, between func(*Instance)) {
	t.Helper()
	playConfig(t, Config{Module: m}, script, between)
}

func playConfig(t *testing.T, c Config, script *sdktest.Trace, between func(*Instance)) {
	t.Helper()
	if c.Remote != nil {
		testenv.NeedsWorkers(t)
	}
	s := &stage{}
	box := newInbox()
	box.verdict = func(msg []byte) abi.Verdict {
		c, ok := s.next(abi.CallDeliver)
		if !ok {
			c, _ = s.next(abi.CallDeliverMem)
		}
		return abi.Verdict(c.Result)
	}
	c.Plugin, c.Trace = "script", s.trace
	inst, err := New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	inst.host, inst.receiver, inst.timers = s, box, &stageTimers{stage: s}
	t.Cleanup(func() { inst.executor.Close() })
	for n := range script.Steps {
		step := &script.Steps[n]
		if step.Kind != abi.EventDescribe {
			s.calls, s.entries = final(step.Calls), nil
			inst.handleEvent(itemOf(step))
		}
		if diff := sdktest.Diff(step, s.entries); diff != "" {
			t.Fatalf("%s: - is the trace, + is what the guest did\n%s", step.Pos, diff)
		}
		if between != nil {
			between(inst)
		}
	}
}

// final leaves out the calls whose verdict a receiver does not give.
func final(calls []sdktest.Call) (out []sdktest.Call) {
	for _, c := range calls {
		if abi.Verdict(c.Result) != abi.VerdictPending || c.Op == abi.CallOpen || c.Op == abi.CallTimer {
			out = append(out, c)
		}
	}
	return out
}

func itemOf(step *sdktest.Step) *item {
	it := &item{kind: step.Kind, handle: step.Handle, arg: step.Arg, payload: step.Payload}
	if step.Kind == abi.EventMessage {
		it.msg = &testMessage{exchange: step.Arg, payload: step.Payload, start: int(step.Handle)}
	}
	return it
}

// A guest is not disturbed by events that later versions may have.
func TestUnknownEventsAreIgnored(t *testing.T) {
	r := open(t, stdioPackage, Config{})
	r.host.stream(0).sink.Opened()
	for _, kind := range []abi.Kind{abi.EventClose + 1, 99, 1 << 20} {
		r.post(&item{kind: kind, handle: 1, arg: 2, payload: []byte("grease")})
	}
	r.send(t, 1, "{}")
	<-r.host.stream(0).took
}
