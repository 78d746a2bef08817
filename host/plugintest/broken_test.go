package plugintest

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/wharf-mcp/wharf/host/internal/auth"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
	"github.com/wharf-mcp/wharf/host/internal/worker"
	"github.com/wharf-mcp/wharf/internal/testenv"
)

// shared is the compiler of the tests: loading a guest costs more than a test.
var shared = sharedCompiler{Compiler: worker.Compiler{Cache: worker.CodeCacheIn(testenv.CodeDir())}}

// sharedCompiler keeps what it has loaded, for all tests.
type sharedCompiler struct {
	worker.Compiler
	modules, providers sync.Map // by what they were loaded from
}

func (c *sharedCompiler) Module(ctx context.Context, name string, binary []byte, config wasm.Config) (*wasm.Engine, *wasm.Module, error) {
	key := fmt.Sprint(name, wasm.Hash(binary), config.Unmetered)
	if m, ok := c.modules.Load(key); ok {
		return nil, m.(*wasm.Module), nil
	}
	_, m, err := c.Compiler.Module(ctx, name, binary, config)
	if err == nil {
		c.modules.Store(key, m)
	}
	return nil, m, err
}

func (c *sharedCompiler) Provider(ctx context.Context, e *auth.Engine, fuel int64, name string, binary []byte) (*auth.Plugin, error) {
	key := fmt.Sprintf("%p %d %s %s", e, fuel, name, wasm.Hash(binary))
	if p, ok := c.providers.Load(key); ok {
		return p.(*auth.Plugin), nil
	}
	p, err := c.Compiler.Provider(ctx, e, fuel, name, binary)
	if err == nil {
		c.providers.Store(key, p)
	}
	return p, err
}

// try tests the broken guest, with the framing given: it must not be learned.
func try(t *testing.T, fault string, o Options) *Report {
	t.Helper()
	if o.Settings == nil {
		o.Settings = map[string]string{}
	}
	o.Settings["fault"] = fault
	if o.Profile == nil && !strings.HasPrefix(fault, "web") {
		o.Profile = &Profile{Framing: "ndjson"}
	}
	if !testenv.Long() {
		o.cutEvery = 11
	}
	r, err := runTransport(newChecker(t.Context(), &shared, testenv.Module(t, "./testdata/broken"), o))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestTheGuestWithoutAFaultPasses(t *testing.T) {
	if raceEnabled {
		t.Skip("it is done without the race detector")
	}
	wantOK(t, try(t, "", Options{}))
}

// faults are what makes each check fail, and a part of what it says then. The
// checks of a module before it runs, and of comparisons, are below.
var faults = map[string]struct{ fault, says string }{
	"at-cap":           {"small-buffer-in", "expected the host to get"},
	"backpressure":     {"overwrites", "expected the server to have message 2"},
	"cancel-many":      {"leak-cancel", "the guest was stopped"},
	"cancel-middle":    {"cancel-ends", "cancelled"},
	"cancel-sent":      {"cancel-ends", "cancelled"},
	"cancel-unsent":    {"overwrites", "expected the server to have message 3"},
	"close":            {"never-ended", "expected report(ENDED) within two seconds"},
	"close-pending":    {"never-ended", "expected report(ENDED)"},
	"close-session":    {"never-ended", "expected report(ENDED)"},
	"close-middle":     {"forges", "expected the host to get nothing"},
	"crash-middle":     {"forges", "expected the host to get nothing"},
	"error-response":   {"error-fails", "the server said no"},
	"flood":            {"at-most-100", "expected the server to have message 101"},
	"fuel":             {"spins", "the budget is 10000000"},
	"fuel-size":        {"slow-bytes", "units a byte on its way out"},
	"garbage-answer":   {"web-malformed-fatal", "no message"},
	"garbage-bytes":    {"panics", "the guest was stopped"},
	"garbage-message":  {"malformed-fatal", "MALFORMED"},
	"host-calls":       {"chatty", "103 host calls"},
	"idle":             {"impatient", "nothing came for a minute"},
	"idle-leaves":      {"not-essential", "expected the connection to end with its stream"},
	"interleaved":      {"web-shared", "expected the host to get"},
	"joined":           {"first-only", "expected the host to get"},
	"joined-split":     {"whole-chunks", "expected the host to get"},
	"large-in":         {"small-buffer-in", "expected the host to get"},
	"large-out":        {"small-buffer", "the server got what was not sent"},
	"late-answer":      {"late-fatal", "LATE"},
	"many":             {"leaks-much", "the guest was stopped"},
	"memory-growth":    {"leaks", "and more will add more"},
	"memory-size":      {"copies", "leave its bytes with the host"},
	"notification-in":  {"drops-notes", "expected the host to get"},
	"notification-out": {"note-later", "neither DONE nor FAILED"},
	"opaque":           {"recodes", "expected the host to get"},
	"out-of-order":     {"in-order", "expected the host to get"},
	"over-cap":         {"big-fatal", "TOO_BIG"},
	"plain":            {"opens-http", "beside its byte stream"},
	"progress":         {"drops-notes", "expected the host to get"},
	"refused-call":     {"web-refusal-lost", "expected report(FAILED)"},
	"refused-open":     {"up-anyway", "expected no connection"},
	"request":          {"mangle-out", "the server got what was not sent"},
	"response":         {"mangle-in", "expected the host to get"},
	"revisions":        {"knows-methods", "expected the server to have message 4"},
	"second-answer":    {"late-fatal", "LATE"},
	"server-crashes":   {"not-essential", "its caller would wait"},
	"server-fault":     {"web-fault-fatal", "the server is broken"},
	"server-leaves":    {"not-essential", "its caller would wait"},
	"server-request":   {"drops-requests", "expected the host to get"},
	"split":            {"whole-chunks", "cut after every byte"},
	"split-answer":     {"whole-chunks", "cut after every byte"},
	"subscription":     {"impatient", "nothing came for a minute"},
	"unknown-fields":   {"ascii-only", "the server got what was not sent"},
	"version":          {"error-fails", "the server said no"},
	"wrong-id":         {"web-silent", "its caller would wait"},
}

func TestEveryCheckCanFail(t *testing.T) {
	elsewhere := []string{"module", "describe", "strange-events", "over-cap-shared"}
	for _, c := range comparisons {
		elsewhere = append(elsewhere, c.check.ID)
	}
	ids := map[string]bool{}
	for _, s := range Scenarios() {
		ids[s.ID] = true
	}
	for _, g := range measurements {
		ids[g.check.ID] = true
	}
	for _, id := range elsewhere {
		delete(ids, id)
	}
	for id := range ids {
		if faults[id].fault == "" {
			t.Errorf("no guest makes %s fail", id)
		}
	}
	for id, m := range testenv.Part(faults, 2) {
		t.Run(id, func(t *testing.T) {
			r := try(t, m.fault, Options{Only: []string{id}})
			wantFailure(t, r, id, m.says)
			if strings.HasPrefix(m.fault, "web") && !strings.HasPrefix(r.Check(id).Got, "scenario "+id+" (streamable http, json)") {
				t.Error("it failed for another reason: that guest knows no event streams")
			}
		})
	}
}

// wantFailure wants a check to have failed, with a trace and these words.
func wantFailure(t *testing.T, r *Report, id, says string) {
	t.Helper()
	c := r.Check(id)
	switch {
	case c == nil || c.Result != Failed:
		t.Fatalf("%s did not fail: %+v", id, c)
	case !strings.Contains(c.Got, says):
		t.Errorf("it says\n%s\nwant %q", c.Got, says)
	case c.Expected == "" || c.Level.binding() == r.OK:
		t.Errorf("expected %q, level %s, ok %v", c.Expected, c.Level, r.OK)
	case id != "module" && !strings.Contains(c.Trace, "--> event("):
		t.Errorf("the trace is %q", c.Trace)
	}
}

// With real randomness no two runs are alike.
func TestComparisonsCanFail(t *testing.T) {
	for _, c := range comparisons {
		t.Run(c.check.ID, func(t *testing.T) {
			r := try(t, "random", Options{Only: []string{c.check.ID}, random: func() io.Reader { return rand.Reader }})
			wantFailure(t, r, c.check.ID, "the traces part at line")
		})
	}
}

func TestFilesThatAreNoModules(t *testing.T) {
	for name, module := range map[string][]byte{
		"empty": nil, "text": []byte("hello"), "header": []byte("\x00asm\x01\x00\x00\x00"),
	} {
		r := report(t, module, Options{})
		if wantFailure(t, r, "module", ""); r.OK || r.Check("request").Result != Skipped {
			t.Errorf("%s: the rest is %+v", name, r.Check("request"))
		}
	}
}

func TestDescribeCanFail(t *testing.T) {
	r := report(t, rigid("Broken Guest"), Options{})
	wantFailure(t, r, "describe", `the manifest's name is "Broken Guest"`)
}

// The kit ends whatever a guest does, and its report says what the guest did.
func TestHostile(t *testing.T) {
	for fault, says := range map[string]string{
		"spin": "used up its budget", "web-spin": "used up its budget", "recurse": "the guest was stopped",
		"memory": "the guest was stopped", "log-flood": "used up its budget", "opens": "used up its budget",
		"timer-storm": "", "nearly-spins": "more computing time",
	} {
		t.Run(fault, func(t *testing.T) {
			if fault == "timer-storm" || fault == "nearly-spins" {
				testenv.NeedsLong(t) // these do not stop at the first event
			}
			r := try(t, fault, Options{})
			if r.OK {
				t.Error("it passes")
			}
			found := ""
			for _, c := range r.Checks {
				if c.Result == Failed {
					found += c.Got + "\n"
				}
			}
			if !strings.Contains(found, says) {
				t.Errorf("the report says\n%s", found)
			}
		})
	}
}

// The one scenario for a class that the broken guest is not of: played to it all
// the same, it shows that a message which is lost in silence is seen.
func TestOverCapSharedCanFail(t *testing.T) {
	text := must(files.ReadFile("scenarios/over-cap-shared.txt"))
	s, err := ParseScenario("over-cap-shared", string(text))
	if err != nil {
		t.Fatal(err)
	}
	module := testenv.Module(t, "./testdata/broken")
	k := &kit{checker: newChecker(t.Context(), &shared, module, Options{Settings: map[string]string{"fault": "small-buffer-in"}, Only: []string{"module"}})}
	if !k.load() {
		t.Fatal(k.report.Checks)
	}
	k.wires = []wire{pipeWire("stream", ndjson{}, k.options.Profile)}
	if _, err := k.play(s); err == nil || !strings.Contains(err.Error(), "expected the verdict TOO_BIG") {
		t.Error(err)
	}
}
