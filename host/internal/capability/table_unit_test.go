package capability

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/hostio"
)

// heard is a sink that writes down what it hears. A Data of "hold" calls held.
type heard struct {
	said []string
	held func()
}

func (h *heard) say(format string, args ...any) {
	h.said = append(h.said, fmt.Sprintf(format, args...))
}

func (h *heard) Opened()            { h.say("opened") }
func (h *heard) Sealed(blob []byte) { h.say("sealed %s", blob) }
func (h *heard) Head(status int, headers []abi.Pair, length int64, body []byte, last bool) {
	h.say("head %d %d %s %v", status, length, body, last)
}
func (h *heard) Data(p []byte, last bool) {
	if string(p) == "hold" {
		h.held()
	}
	h.say("data %s %v", p, last)
}
func (h *heard) End()                                 { h.say("end") }
func (h *heard) Exit(code int, detail string, _ bool) { h.say("exit %d %s", code, detail) }
func (h *heard) Error(status abi.Status, err error)   { h.say("error %v %v", status, err) }
func (h *heard) Drained()                             { h.say("drained") }

func (h *heard) want(t *testing.T, said ...string) {
	t.Helper()
	if !slices.Equal(h.said, said) {
		t.Errorf("heard %q, want %q", h.said, said)
	}
	h.said = nil
}

func TestEmitterPassesOn(t *testing.T) {
	h := &heard{}
	e := &Emitter{sink: h}
	e.Sealed(nil)
	e.Sealed([]byte("blob"))
	e.Head(200, nil, 5, []byte("hello"), false)
	e.Data([]byte("a"), true)
	e.End()
	h.want(t, "opened", "sealed blob", "head 200 5 hello false", "data a true", "end")
}

// Nothing is said after the last call, and after a handle was muted.
func TestEmitterIsMuted(t *testing.T) {
	for name, mute := range map[string]func(e *Emitter){
		"exit 3 status": func(e *Emitter) { e.Exit(3, "status", false) },
		fmt.Sprintf("error %v why", abi.TimedOut): func(e *Emitter) { e.Error(abi.TimedOut, errors.New("why")) },
		"": func(e *Emitter) { e.muted.Store(true) },
	} {
		h := &heard{}
		e := &Emitter{sink: h}
		e.Opened()
		h.said = nil
		mute(e)
		if name != "" {
			h.want(t, name)
		}
		e.Opened()
		e.Sealed([]byte("blob"))
		e.Head(200, nil, 0, nil, true)
		e.Data([]byte("a"), false)
		e.End()
		e.Drained()
		e.Exit(1, "", false)
		e.Error(abi.Reset, io.EOF)
		h.want(t)
	}
}

// Drained waits for the opening and for a call that is under way, and is said once.
func TestDrainedWaitsItsTurn(t *testing.T) {
	for _, open := range []func(e *Emitter){
		(*Emitter).Opened, func(e *Emitter) { e.Sealed([]byte("x")) }, func(e *Emitter) { e.Head(204, nil, 0, nil, false) },
	} {
		h := &heard{}
		e := &Emitter{sink: h}
		e.Drained()
		e.Drained()
		h.want(t)
		if open(e); len(h.said) != 2 || h.said[1] != "drained" {
			t.Errorf("heard %q", h.said)
		}
		h.said = nil
		if e.End(); len(h.said) != 1 {
			t.Errorf("said twice: %q", h.said)
		}
	}
	h := &heard{}
	e := &Emitter{sink: h}
	e.AllowDrained()
	e.Drained()
	h.want(t, "drained")
	h.held = e.Drained
	e.Data([]byte("hold"), false)
	h.want(t, "data hold false", "drained")
	h.held = func() { e.Drained(); e.muted.Store(true) } // closed meanwhile
	e.Data([]byte("hold"), false)
	h.want(t, "data hold false")
}

// fake is a target whose handles do nothing until the test ends them.
type fake struct {
	kind   abi.OpenKind
	refuse error
	closed atomic.Int32
}

func (f *fake) Kind() abi.OpenKind    { return f.kind }
func (f *fake) Opener(*Limits) Opener { return f }
func (f *fake) Close()                { f.closed.Add(1) }
func (f *fake) Open(o Opening, _ *abi.OpenRequest) (Handle, abi.Status, error) {
	if f.refuse != nil {
		return nil, abi.Malformed, f.refuse
	}
	h := &fakeHandle{}
	h.Init(o)
	return h, abi.OK, nil
}

type fakeHandle struct {
	Slot
	started int
}

func (h *fakeHandle) Write([]byte, bool) {}
func (h *fakeHandle) Flush()             {}
func (h *fakeHandle) Queued() int        { return 0 }
func (h *fakeHandle) Close()             { h.End() }
func (h *fakeHandle) Start()             { h.started++ }

var _ hostio.Stream = (*fakeHandle)(nil)

// tableOf is a table with a grant of each kind, on a clock of its own.
func tableOf(l Limits) (t *Table, now *time.Time) {
	clock := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	t = NewTable(Config{Limits: l, Now: func() time.Time { return clock }, Grants: []Grant{
		{"main", &fake{kind: abi.OpenProcess}}, {"main", &fake{kind: abi.OpenStream}}, {"main", &fake{kind: abi.OpenHTTP}}, {"other", &fake{kind: abi.OpenProcess}},
		{"wrong", &fake{kind: abi.OpenStream, refuse: errors.New("wrong")}},
	}})
	return t, &clock
}

// open opens a grant. want is part of the refusal, empty for none.
func open(t *testing.T, table *Table, kind abi.OpenKind, name, want string) *fakeHandle {
	t.Helper()
	s, status, err := table.Open(kind, &abi.OpenRequest{Grant: name}, &heard{})
	if want != "" {
		if s != nil || status != abi.LimitReached || !strings.Contains(err.Error(), want) {
			t.Fatalf("opened %v, %v, %v; want %s", s, status, err, want)
		}
		return nil
	}
	if status != abi.OK || err != nil {
		t.Fatalf("refused: %v, %v", status, err)
	}
	h := s.(*fakeHandle)
	if h.started != 1 {
		t.Fatalf("started %d times", h.started)
	}
	return h
}

// Exchanges have a limit of their own, and take no place of other handles.
func TestHandlesAndExchangesAreCountedApart(t *testing.T) {
	table, _ := tableOf(Limits{Handles: 2, Exchanges: 3, Burst: 100})
	var exchanges []*fakeHandle
	for range 3 {
		exchanges = append(exchanges, open(t, table, abi.OpenHTTP, "main", ""))
	}
	open(t, table, abi.OpenHTTP, "main", "3 exchanges are under way")
	first := open(t, table, abi.OpenStream, "main", "")
	open(t, table, abi.OpenProcess, "main", "")
	open(t, table, abi.OpenStream, "main", "2 handles are open")
	if u := table.Usage(); u.Handles != 5 || u.Exchanges != 3 {
		t.Errorf("%+v", u)
	}
	first.End() // closed is not gone
	open(t, table, abi.OpenStream, "main", "2 handles are open")
	first.Remove()
	open(t, table, abi.OpenStream, "main", "")
	open(t, table, abi.OpenHTTP, "main", "3 exchanges")
	exchanges[1].Remove()
	open(t, table, abi.OpenHTTP, "main", "")
	if u := table.Usage(); u.Handles != 5 || u.Exchanges != 3 {
		t.Errorf("%+v", u)
	}
}

// Requests without an answer are rated as opens are, past the burst.
func TestUnansweredRequestsAreRated(t *testing.T) {
	table, now := tableOf(Limits{Burst: 2, Refill: time.Second})
	h := open(t, table, abi.OpenHTTP, "main", "")
	h.Requested(false)
	for range 3 { // 2 in a row, the one before the first included
		open(t, table, abi.OpenHTTP, "main", "")
	}
	h.Requested(false)
	open(t, table, abi.OpenHTTP, "main", "")
	open(t, table, abi.OpenHTTP, "main", "")
	open(t, table, abi.OpenHTTP, "main", "the last 3 requests had no answer: one each 1s")
	*now = now.Add(time.Second)
	open(t, table, abi.OpenHTTP, "main", "")
	open(t, table, abi.OpenHTTP, "main", "the last 3 requests")
	h.Requested(true)
	open(t, table, abi.OpenHTTP, "main", "")
	if h.Requested(false); table.unanswered.Load() != 1 {
		t.Errorf("%d had no answer", table.unanswered.Load())
	}
	ended := open(t, table, abi.OpenHTTP, "main", "")
	ended.End()
	if ended.Requested(false); table.unanswered.Load() != 2 {
		t.Errorf("one that ended behind one without an answer: %d", table.unanswered.Load())
	}
	h.Requested(true)
	if ended.Requested(false); table.unanswered.Load() != 0 {
		t.Errorf("one that ended behind an answer: %d", table.unanswered.Load())
	}
}

// Opens are rated by the clock of the table.
func TestOpensAreRatedByTheClock(t *testing.T) {
	table, now := tableOf(Limits{Burst: 2, Refill: time.Second})
	open(t, table, abi.OpenStream, "main", "")
	open(t, table, abi.OpenStream, "main", "")
	open(t, table, abi.OpenStream, "main", "one each 1s is allowed after the first 2")
	*now = now.Add(time.Second - 1)
	open(t, table, abi.OpenStream, "main", "too many opens")
	*now = now.Add(1)
	open(t, table, abi.OpenStream, "main", "")
	open(t, table, abi.OpenStream, "main", "too many opens")
}

// A part of a refill counts until all is given back, and not beyond that.
func TestPartsOfARefill(t *testing.T) {
	type step struct {
		at   time.Duration // in ms
		want bool
	}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for burst, steps := range map[int][]step{
		2: {{0, true}, {1500, true}, {1500, true}, {1500, false}, {2000, false}, {2499, false}, {2500, true}, {2500, false}},
		3: {{0, true}, {0, true}, {0, true}, {1500, true}, {1500, false}, {2000, true}, {2999, false}, {3000, true}, {9000, true}, {9000, true}, {9000, true}, {9000, false}},
	} {
		a := rateLimiter{burst: burst, refill: time.Second}
		for i, step := range steps {
			if got := a.allow(start.Add(step.at * time.Millisecond)); got != step.want {
				t.Errorf("of %d at once, step %d, after %d ms: %v", burst, i, step.at, got)
			}
		}
	}
}

// A process that is gone leaves the place of the one after it alone.
func TestProcessesFollowEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, _ := tableOf(Limits{})
		first := open(t, table, abi.OpenProcess, "main", "")
		open(t, table, abi.OpenProcess, "main", "its process is still running")
		open(t, table, abi.OpenProcess, "other", "").End()
		open(t, table, abi.OpenStream, "main", "")
		first.End()
		second := open(t, table, abi.OpenProcess, "main", "")
		second.End()
		third := open(t, table, abi.OpenProcess, "main", "")
		turns := make(chan string, 3)
		go func() { turns <- fmt.Sprint("second ", second.AwaitTurn()); second.Remove() }()
		go func() { turns <- fmt.Sprint("third ", third.AwaitTurn()) }()
		synctest.Wait()
		if len(turns) > 0 {
			t.Errorf("%s, while the first is there", <-turns)
		}
		first.Remove()
		synctest.Wait()
		if got := []string{<-turns, <-turns}; !slices.Equal(got, []string{"second false", "third true"}) {
			t.Errorf("got %q", got)
		}
		open(t, table, abi.OpenProcess, "main", "its process is still running")
		third.Remove()
		open(t, table, abi.OpenProcess, "main", "")
	})
}

// The bodies of a table may have as many bytes as its limit, and no more.
func TestBodiesAreCounted(t *testing.T) {
	table, _ := tableOf(Limits{Bodies: 10})
	a, b := open(t, table, abi.OpenHTTP, "main", ""), open(t, table, abi.OpenHTTP, "main", "")
	if !a.HoldBody(4) || !b.HoldBody(6) || a.HoldBody(1) || table.Usage().Bodies != 11 {
		t.Errorf("%d bytes", table.Usage().Bodies)
	}
	a.ReleaseBody()
	a.ReleaseBody()
	if table.Usage().Bodies != 6 || !a.HoldBody(4) || b.HoldBody(1) {
		t.Errorf("%d bytes", table.Usage().Bodies)
	}
}

// Close ends what is open, and is over when nothing is left; what is left it names.
func TestCloseOfATable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, _ := tableOf(Limits{})
		process, stream := open(t, table, abi.OpenProcess, "main", ""), open(t, table, abi.OpenStream, "main", "")
		begun := time.Now()
		err := table.Close(t.Context())
		if err == nil || err.Error() != `close: still not over: process "main", stream "main"` || time.Since(begun) != 9*time.Second {
			t.Errorf("after %s: %v", time.Since(begun), err)
		}
		if !process.Ended() || !stream.Ended() {
			t.Error("not all were told to end")
		}
		select {
		case <-process.Forced():
		default:
			t.Error("no force after the graces")
		}
		if _, status, err := table.Open(abi.OpenStream, &abi.OpenRequest{Grant: "main"}, &heard{}); status != abi.Closed || err == nil {
			t.Errorf("opened in a closed table: %v, %v", status, err)
		}
		stream.Remove()
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		begun = time.Now()
		if err := table.Close(ended); err == nil || time.Since(begun) != 5*time.Second {
			t.Errorf("without graces, after %s: %v", time.Since(begun), err)
		}
		go func() { time.Sleep(3 * time.Second); process.Remove() }()
		begun = time.Now()
		if err := table.Close(t.Context()); err != nil || time.Since(begun) != 3*time.Second {
			t.Errorf("after %s: %v", time.Since(begun), err)
		}
		if table.grants[0].To.(*fake).closed.Load() == 0 {
			t.Error("an opener was not closed")
		}
	})
}

// A writer for stderr that does not return is what Close waits for, and says.
func TestCloseBehindASlowWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &slowWriter{entered: make(chan struct{}), release: make(chan struct{})}
		table := NewTable(Config{Stderr: w})
		table.stderr.Write([]byte("x"))
		<-w.entered
		if err := table.Close(t.Context()); err == nil || !strings.Contains(err.Error(), "writer for stderr") {
			t.Errorf("says %v", err)
		}
		close(w.release)
		if err := table.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// What a target refuses has its own status, and takes no place.
func TestOpenOfWhatATargetRefuses(t *testing.T) {
	table, _ := tableOf(Limits{Handles: 1})
	s, status, err := table.Open(abi.OpenStream, &abi.OpenRequest{Grant: "wrong"}, &heard{})
	if s != nil || status != abi.Malformed || err.Error() != `open stream "wrong": wrong` || table.Usage().Handles != 0 {
		t.Errorf("%v, %v, %v, %+v", s, status, err, table.Usage())
	}
}

// What a table holds at most, within the default limits.
func TestHeldOfATable(t *testing.T) {
	handles, exchange := MaxHeld()
	if handles != 64*(64<<10+4<<10)+2*64<<10 || exchange != 64<<10+64<<10+16<<10 {
		t.Errorf("%d bytes for handles, %d for an exchange", handles, exchange)
	}
}

type jobFunc func()

func (f jobFunc) Complete() { f() }

// A goroutine that is done with a job takes the next, and a few wait for one.
func TestWorkersWaitForJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newWorkerPool()
		done, busy := 0, make(chan struct{})
		for range maxIdleWorkers + 3 {
			p.run(jobFunc(func() { <-busy }))
		}
		synctest.Wait()
		close(busy)
		synctest.Wait()
		if len(p.idle) != maxIdleWorkers {
			t.Errorf("%d wait", len(p.idle))
		}
		p.run(jobFunc(func() { done++ }))
		synctest.Wait()
		if done != 1 || len(p.idle) != maxIdleWorkers {
			t.Errorf("%d done, %d wait", done, len(p.idle))
		}
		p.close()
		p.close()
		if len(p.idle) != 0 {
			t.Errorf("%d wait after the end", len(p.idle))
		}
	})
}

// TestOpenersAreClosedOnce closes a table from several goroutines, of which each returns
// when its opener was closed.
func TestOpenersAreClosedOnce(t *testing.T) {
	f := &fake{kind: abi.OpenStream}
	table := NewTable(Config{Grants: []Grant{{"main", f}}})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if err := table.Close(t.Context()); err != nil || f.closed.Load() != 1 {
				t.Errorf("%v, and its opener was closed %d times", err, f.closed.Load())
			}
		})
	}
	wg.Wait()
	if n := f.closed.Load(); n != 1 {
		t.Errorf("its opener was closed %d times", n)
	}
}
