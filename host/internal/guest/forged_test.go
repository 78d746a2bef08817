package guest

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/hostio"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
	"github.com/wharf-mcp/wharf/internal/testenv"
)

// forgery is a host call that no truthful guest makes, and what it is told: a
// result, or in a trap, words.
type forgery struct {
	about string
	bad   int // the argument that is a lie; state is none of them
	args  args
	want  int32
	trap  string
	first []order // what the guest does before
}

// state is the lie of a call that is right by itself, at another time.
const state = -1

const (
	none  = uint32(1<<32 - 1)
	above = puppetSize - 4 // fewer bytes are there than are asked for
	main  = uint32(1)      // the handle of the stream
)

const (
	noMemory = "a pointer outside its memory"
	noBytes  = "of a payload of"
)

// scriptSize is how long the payload of a single order is.
const scriptSize = orderSize + 4

var (
	closing = order{abi.CallClose, args{main}}
	opening = order{abi.CallOpen, args{uint32(abi.OpenStream), 0, puppetRequest, uint32(len(mainRequest))}}

	mainRequest = abi.AppendOpenRequest(nil, &abi.OpenRequest{Grant: "main"})
)

// forgeries has the lies that can be told with each host call. Every argument of
// every call has one at least, and so has its state; but for the pointers, which
// are all tried alike.
var forgeries = map[abi.Call][]forgery{
	abi.CallTake: {
		{about: "from past the payload", bad: 0, args: args{none, puppetPayload, 4}, want: 0},
		{about: "more than there is", bad: 2, args: args{0, puppetPayload, none}, want: scriptSize},
		{about: "more than there is, to where there is no room", bad: 1, args: args{0, above, none}, trap: noMemory},
	},
	abi.CallScan: {
		{about: "from past the payload", bad: 0, args: args{none, 0}, want: -1},
		{about: "for what is not there", bad: 1, args: args{scriptSize - 1, 0x77777777}, want: -1},
	},
	abi.CallDeliver: {
		{about: "for an exchange that there is not", bad: 0, args: args{4711, 0, 4, abi.End}, want: int32(abi.VerdictLate)},
		{about: "from past the payload", bad: 1, args: args{0, none, 1, 0}, trap: noBytes},
		{about: "from one past the payload", bad: 1, args: args{0, scriptSize, 1, 0}, trap: noBytes},
		{about: "more than the payload", bad: 2, args: args{0, 1, none, 0}, trap: noBytes},
		{about: "with flags that there are not", bad: 3, args: args{0, 0, 4, 1 << 31}, want: int32(abi.VerdictPending)},
	},
	abi.CallDeliverMem: {
		{about: "for an exchange that there is not", bad: 0, args: args{4711, 0, 4, abi.End}, want: int32(abi.VerdictLate)},
		{about: "with flags that there are not", bad: 3, args: args{0, 0, 4, 1 << 31}, want: int32(abi.VerdictPending)},
	},
	abi.CallForward: {
		{about: "to no handle", bad: 0, args: args{0, 0, 4, 0}, want: int32(abi.Closed)},
		{about: "to a handle that was never opened", bad: 0, args: args{none, 0, 4, 0}, want: int32(abi.Closed)},
		{about: "to a handle of another generation", bad: 0, args: args{main | 1<<8, 0, 4, 0}, want: int32(abi.Closed)},
		{about: "to a handle that is closed", bad: 0, first: []order{closing}, args: args{main, 0, 4, 0}, want: int32(abi.Closed)},
		{about: "to a handle whose place is taken", bad: 0, first: []order{closing, opening}, args: args{main, 0, 4, 0}, want: int32(abi.Closed)},
		{about: "from past the payload", bad: 1, args: args{main, none, 1, 0}, trap: noBytes},
		{about: "more than the payload", bad: 2, args: args{main, 1, none, 0}, trap: noBytes},
		{about: "more than the payload, to no handle", bad: 2, args: args{0, 1, none, 0}, trap: noBytes},
		{about: "with flags that there are not", bad: 3, args: args{main, 0, 4, 1 << 31}, want: int32(abi.OK)},
	},
	abi.CallWrite: {
		{about: "to no handle", bad: 0, args: args{0, 0, 4, 0}, want: int32(abi.Closed)},
		{about: "to a handle that was never opened", bad: 0, args: args{none, 0, 4, 0}, want: int32(abi.Closed)},
		{about: "to a handle whose place is taken", bad: 0, first: []order{closing, opening}, args: args{main, 0, 4, 0}, want: int32(abi.Closed)},
		{about: "with flags that there are not", bad: 3, args: args{main, 0, 4, 1 << 31}, want: int32(abi.OK)},
	},
	abi.CallOpen: {
		{about: "a kind that there is not", bad: 0, args: args{99, 0, puppetRequest, uint32(len(mainRequest))}, want: int32(abi.Unavailable)},
		{about: "kind 0", bad: 0, args: args{0, 0, puppetRequest, uint32(len(mainRequest))}, want: int32(abi.Unavailable)},
		{about: "for an exchange that there is not", bad: 1, args: args{uint32(abi.OpenStream), none, puppetRequest, uint32(len(mainRequest))}, want: 2},
		{about: "with a block that is cut", bad: 3, args: args{uint32(abi.OpenStream), 0, puppetRequest, uint32(len(mainRequest)) - 1}, trap: "open request"},
		{about: "with no block", bad: 3, args: args{uint32(abi.OpenStream), 0, puppetRequest, 0}, trap: "open request"},
		{about: "with a block of something else", bad: 2, args: args{uint32(abi.OpenStream), 0, puppetPayload, orderSize}, trap: "open request"},
	},
	abi.CallClose: {
		{about: "no handle", bad: 0, args: args{0}, want: int32(abi.Closed)},
		{about: "a handle that was never opened", bad: 0, args: args{none}, want: int32(abi.Closed)},
		{about: "a handle past the last place", bad: 0, args: args{255}, want: int32(abi.Closed)},
		{about: "a handle twice", bad: 0, first: []order{closing}, args: args{main}, want: int32(abi.Closed)},
		{about: "the handle before", bad: 0, first: []order{closing, opening}, args: args{main}, want: int32(abi.Closed)},
	},
	abi.CallTimer: {
		{about: "with a number that no timer had", bad: 0, args: args{none, 0}, want: int32(abi.OK)},
		{about: "in seven weeks", bad: 1, args: args{1, none}, want: int32(abi.OK)},
	},
	abi.CallReport: {
		{about: "what there is not", bad: 0, args: args{99, 0, 0, 0, 0}, want: int32(abi.Unavailable)},
		{about: "nothing", bad: 0, args: args{0, 0, 0, 0, 0}, want: int32(abi.Unavailable)},
		{about: "a second manifest", bad: 0, args: args{uint32(abi.ReportManifest), 0, 0, puppetManifest, 4}, want: int32(abi.Unavailable)},
		{about: "an exchange done that there is not", bad: 1, args: args{uint32(abi.ReportDone), none, 0, 0, 0}, want: int32(abi.OK)},
		{about: "an exchange failed that there is not", bad: 1, args: args{uint32(abi.ReportFailed), none, 0, 0, 0}, want: int32(abi.OK)},
		{about: "a session expired that there is not", bad: 1, args: args{uint32(abi.ReportExpired), none, 0, 0, 0}, want: int32(abi.OK)},
		{about: "a failure for no reason that there is", bad: 2, args: args{uint32(abi.ReportFailed), 7, 1 << 31, 0, 0}, want: int32(abi.OK)},
		{about: "a text outside of its memory", bad: 4, args: args{uint32(abi.ReportFailed), 7, none, 0, puppetSize}, want: int32(abi.OK)},
	},
	abi.CallSave: {
		{about: "more than is kept", bad: 1, args: args{0, abi.MaxSavedState + 1}, want: int32(abi.TooLarge)},
		{about: "all of its memory", bad: 1, args: args{0, puppetSize}, want: int32(abi.TooLarge)},
	},
	abi.CallLog: {
		{about: "on a level that there is not", bad: 0, args: args{none, 0, 4}},
	},
}

// early is what a call is told that is made when there is no connection yet, at
// _initialize and DESCRIBE alike. What has no entry ends the guest.
var early = map[abi.Call]int32{
	abi.CallTake:    0,                 // there is no payload
	abi.CallScan:    -1,                //
	abi.CallForward: int32(abi.Closed), // there are no handles
	abi.CallWrite:   int32(abi.Closed), //
	abi.CallClose:   int32(abi.Closed), //
	abi.CallLog:     0,                 // it may
}

// callResults is an observer of the last call of a guest.
type callResults struct {
	calls  int
	result int32
}

func (h *callResults) Event(abi.Kind, uint32, uint32, uint32, []byte) {}
func (h *callResults) Return(int32, error)                            {}
func (h *callResults) Call(_ abi.Call, _ []uint32, _ []byte, result int32) {
	h.calls, h.result = h.calls+1, result
}

// TestForgedCalls tells every lie with every host call. A lie about memory or the
// payload is the end of the guest, whatever a truthful one can run into is a
// status, and nothing is an error of the host's own. A call that the ABI gains needs
// its forgeries here.
func TestForgedCalls(t *testing.T) {
	m := load(t, "puppet", scripted(never, nil))
	for _, c := range abi.Calls() {
		tried := map[int]bool{}
		for _, f := range append(pointers(c), forgeries[c]...) {
			tried[f.bad] = true
			for place, config := range map[string]Config{"here": {Module: m}, "apart": {Remote: apart(scripted(never, nil))}} {
				t.Run(c.String()+" "+f.about+", "+place, func(t *testing.T) {
					r, h := runScript(t, config, append(f.first, order{c, f.args})...)
					f.judge(t, r.inbox, h, len(f.first)+1)
				})
			}
		}
		for n := range c.Params() {
			if !tried[n] {
				t.Errorf("no lie is told with argument %d of %s", n, c)
			}
		}
	}
}

// pointers are the lies that are told with every argument that is an address.
func pointers(c abi.Call) []forgery {
	at := PointerArg(c)
	switch {
	case at < 0:
		return nil
	case c == abi.CallTake: // whose length is cut to the payload before it is looked at
		return []forgery{{about: "at the end of the address space", bad: at, args: args{0, none - 15, 4}, trap: noMemory}}
	}
	lie := func(about string, bad int, ptr, n uint32) forgery {
		f := forgery{about: about, bad: bad, trap: noMemory}
		f.args[at], f.args[at+1] = ptr, n
		return f
	}
	return []forgery{
		lie("at the end of the address space", at, none-15, 16),
		lie("past the end of memory", at, puppetSize, 1),
		lie("across the end of memory", at, above, 5),
		lie("with a length that wraps around", at+1, 16, none),
		lie("with more than all of memory", at+1, 0, puppetSize+1),
	}
}

// TestForgedStates makes every host call before there is a connection.
func TestForgedStates(t *testing.T) {
	for when, op := range map[moment]string{atStart: "start", atDescribe: "describe"} {
		for _, c := range abi.Calls() {
			right := order{call: c}
			if c == abi.CallReport {
				right.args[0] = uint32(abi.ReportUp)
			}
			binary := scripted(when, script(right))
			for place, config := range map[string]Config{"here": {Module: load(t, "puppet", binary)}, "apart": {Remote: apart(binary)}} {
				t.Run(op+" "+c.String()+", "+place, func(t *testing.T) { callEarly(t, c, config) })
			}
		}
	}
}

// callEarly starts a guest that makes a host call before OPEN.
func callEarly(t *testing.T, c abi.Call, config Config) {
	if config.Remote != nil {
		testenv.NeedsWorkers(t)
	}
	h := &callResults{}
	config.Plugin, config.Observer = "puppet", h
	inst, err := New(t.Context(), config)
	if err == nil {
		inst.Close(context.Background())
	}
	want, may := early[c]
	switch f := (forgery{bad: state, want: want, trap: errBeforeOpen.Error()}); {
	case !may:
		f.trapped(t, err)
	case err != nil || h.calls == 0:
		t.Errorf("it is gone: %v", err)
	}
}

// load loads a module into the engine of the tests.
func load(t testing.TB, name string, binary []byte) *wasm.Module {
	t.Helper()
	e, err := engine()
	if err != nil {
		t.Fatal(err)
	}
	m, err := e.Load(t.Context(), name, binary)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// runScript starts a puppet and has it follow its orders.
func runScript(t *testing.T, c Config, orders ...order) (*rig, *callResults) {
	t.Helper()
	if c.Remote != nil {
		testenv.NeedsWorkers(t)
	}
	h := &callResults{}
	c.Observer, c.Limits = h, hasty
	r := openScripted(t, c)
	h.calls = 0
	r.host.stream(0).sink.Data(script(orders...), false)
	return r, h
}

// openScripted starts a puppet and opens its stream.
func openScripted(t testing.TB, c Config) *rig {
	t.Helper()
	c.Plugin = "puppet"
	inst, err := New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{Instance: inst, host: &fakeHost{}, inbox: newInbox(), freed: make(chan uint32, 16)}
	r.inbox.verdict = func([]byte) abi.Verdict { return abi.VerdictLate }
	inst.Open(&abi.Settings{Grants: inst.Manifest().Grants}, nil, onlyStreams{r.host}, r.inbox)
	t.Cleanup(func() { r.Close(context.Background()) })
	r.host.stream(0).sink.Opened()
	return r
}

// onlyStreams is a world that has nothing else.
type onlyStreams struct{ *fakeHost }

func (w onlyStreams) Open(kind abi.OpenKind, r *abi.OpenRequest, sink hostio.Sink) (hostio.Stream, abi.Status, error) {
	if kind != abi.OpenStream {
		return nil, abi.Unavailable, nil
	}
	return w.fakeHost.Open(kind, r, sink)
}

// judge looks what a guest was told that told this lie as its n-th call: the one
// before is a take, of its orders.
func (f *forgery) judge(t *testing.T, box *inbox, h *callResults, n int) {
	t.Helper()
	over := false
	select {
	case <-box.closed:
		over = true
	default:
	}
	switch {
	case f.trap != "" && !over:
		t.Errorf("it was told %d, want the end with %q", h.result, f.trap)
	case f.trap != "":
		f.trapped(t, box.cause)
	case over:
		t.Errorf("ended with %v, want %d", box.cause, f.want)
	case h.calls != n+1 || h.result != f.want:
		t.Errorf("it was told %d after %d calls, want %d after %d", h.result, h.calls, f.want, n+1)
	}
}

// trapped wants the host to have ended the guest, for the reason of the lie.
func (f *forgery) trapped(t *testing.T, err error) {
	t.Helper()
	var trap *wasm.Trap
	if !errors.As(err, &trap) || trap.Kind != wasm.TrapHost || !strings.Contains(err.Error(), f.trap) {
		t.Errorf("ended with %v, want %q", err, f.trap)
	}
}
