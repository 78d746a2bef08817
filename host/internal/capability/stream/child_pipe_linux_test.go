package stream

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/wharf-mcp/wharf/host/internal/hostio"
)

// listener records what a pipe passes on.
type listener struct {
	in    *ChildPipe
	out   *os.File
	mu    sync.Mutex
	heard bytes.Buffer
	news  chan struct{} // has a token when something came
	ended chan error
}

func followed(t *testing.T) *listener {
	t.Helper()
	in, out, err := OpenChildPipe()
	if err != nil {
		t.Fatal(err)
	}
	l := &listener{in: in, out: out, news: make(chan struct{}, 1), ended: make(chan error, 2)}
	in.Follow(func(p []byte) {
		l.mu.Lock()
		l.heard.Write(p)
		l.mu.Unlock()
		select {
		case l.news <- struct{}{}:
		default:
		}
	}, func(err error) { l.ended <- err })
	t.Cleanup(func() {
		out.Close()
		in.Cut()
		<-l.ended
		in.Close()
	})
	return l
}

func (l *listener) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.heard.String()
}

// await returns when want was heard.
func (l *listener) await(want string) {
	for l.text() != want {
		<-l.news
	}
}

// waiter waits until over.
type waiter struct {
	over   func() bool
	others func() bool // nil for none
}

func (w *waiter) Over() bool   { return w.over() }
func (w *waiter) Others() bool { return w.others != nil && w.others() }

// until returns who waits for text.
func (l *listener) until(text string) hostio.Waiter {
	return &waiter{over: func() bool { return l.text() == text }}
}

// A caller passes on its answer itself, and what comes later is heard without a caller.
func TestACallerReadsItsAnswer(t *testing.T) {
	l := followed(t)
	l.in.turn.Lock() // so that only a caller can read
	l.in.unwatch()
	l.in.turn.Unlock()
	l.out.WriteString("answer")
	if l.in.ReadFor(l.until("answer")); l.text() != "answer" {
		t.Fatalf("heard %q", l.text())
	}
	l.out.WriteString(", news")
	l.await("answer, news")
}

// A caller that reads what is not its answer lets those run that it is for, even on the only
// processor of the runtime. Otherwise notifications pile up before a flood has ended.
func TestACallerYieldsBetweenReads(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const enough = 4 // the scheduler may pass over a goroutine once
	l := followed(t)
	var reads int
	var ran atomic.Bool // the goroutine that the first read has started
	l.in.turn.Lock()    // so that only a caller can read
	l.in.unwatch()
	l.in.hear = func([]byte) {
		switch reads++; reads {
		case 1:
			go ran.Store(true)
		case enough:
			if !ran.Load() {
				t.Error("the caller has not yielded")
			}
			return
		}
		l.out.WriteString("flood")
	}
	l.in.turn.Unlock()
	l.out.WriteString("flood")
	l.in.ReadFor(&waiter{over: func() bool { return reads == enough }})
}

// A caller that has its answer sees to it that others get theirs at once, and not only when
// the pipe has rested.
func TestACallerLeavesOthersToTheSet(t *testing.T) {
	l := followed(t)
	l.in.resting = true // which it is not: so nothing would watch it again
	l.out.WriteString("answer")
	l.in.ReadFor(&waiter{over: func() bool { return l.text() == "answer" }, others: func() bool { return l.text() == "answer" }})
	l.out.WriteString(", another")
	l.await("answer, another")
}

// A caller that is not alone has a pipe watched that another caller left to rest: both may have seen each
// other, so that neither reads.
func TestACallerDoesNotWaitForAPipeToRest(t *testing.T) {
	l := followed(t)
	l.in.turn.Lock() // so that only a caller can read
	l.in.unwatch()
	l.in.resting = true // which it is not: so nothing would watch it again
	l.in.turn.Unlock()
	l.out.WriteString("answer")
	l.in.ReadFor(l.until("answer"))
	l.in.ReadFor(&waiter{over: func() bool { return false }, others: func() bool { return true }})
	l.out.WriteString(", another")
	l.await("answer, another")
}

// A caller whose server says nothing leaves the reading to the set.
func TestACallerIsNotPatientForLong(t *testing.T) {
	l := followed(t)
	l.in.ReadFor(l.until("answer"))
	l.out.WriteString("late")
	l.await("late")
}

// A caller keeps the only processor of the runtime while it waits, but not while another caller's
// answer is left to the set.
func TestACallerHoldsTheOnlyProcessor(t *testing.T) {
	silent, l := followed(t), followed(t)
	l.in.turn.Lock() // so that nothing else reads
	l.in.unwatch()
	l.out.WriteString("answer")
	if runtime.GOMAXPROCS(0) > 1 && l.in.hold() {
		t.Error("one of several processors is held")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if !l.in.hold() {
		t.Error("nothing to read")
	}
	silent.in.ReadFor(silent.until("late"))
	silent.in.ReadFor(silent.until("late"))
	if l.in.hold() {
		t.Error("it is held while another caller waits")
	}
	silent.out.WriteString("late")
	silent.await("late")
	if !l.in.hold() {
		t.Error("it is not held after the other caller's answer")
	}
	silent.in.ReadFor(silent.until("later"))
	silent.out.Close()
	silent.ended <- <-silent.ended
	if !l.in.hold() {
		t.Error("it is not held after the end of the other caller's pipe")
	}
	l.in.watch()
	l.in.turn.Unlock()
	l.await("answer")
}

// A caller that asks again as soon as it has the answer that the goroutine of the pipe read finds the
// turn free, to read the next itself. With more processors it may come too early for that.
func TestABusyPipeLetsACallerRead(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	in, out, err := OpenChildPipe()
	if err != nil {
		t.Fatal(err)
	}
	turn, ended := make(chan bool), make(chan error, 1)
	in.Follow(func([]byte) {
		go func() {
			free := false
			in.ReadFor(&waiter{over: func() bool { free = true; return true }})
			turn <- free
		}()
	}, func(err error) { ended <- err })
	free := false
	for tries := 0; !free; tries++ { // the runtime may interrupt drain while it has the turn
		if tries == 5 {
			t.Fatal("the turn is never free")
		}
		out.WriteString("answer")
		free = <-turn
	}
	out.Close()
	<-ended
	in.Close()
}

// After a long read the goroutine of the pipe waits for the next one itself, and does not leave it to
// the set.
func TestABusyPipeWaitsForLongAnswers(t *testing.T) {
	defer func(d time.Duration) { patience = d }(patience)
	patience = time.Minute
	l := followed(t)
	if _, err := unix.FcntlInt(uintptr(l.in.fd), unix.F_SETPIPE_SZ, 2*longRead); err != nil {
		t.Skipf("the system has no pages for a pipe: %v", err)
	}
	l.in.turn.Lock() // so that nothing else reads
	l.in.unwatch()
	l.out.Write(make([]byte, longRead))
	l.in.turn.Unlock()
	left := make(chan struct{})
	go func() { l.in.drain(); close(left) }()
	for patient.Load() == 0 {
		select {
		case <-left:
			t.Fatal("the next read is left to the set")
		default:
			runtime.Gosched()
		}
	}
	l.out.WriteString("more")
	l.await(string(make([]byte, longRead)) + "more")
}

// At most as many goroutines wait in the system as there are processors.
func TestFewWaitInTheSystem(t *testing.T) {
	most := int32(runtime.GOMAXPROCS(0))
	patient.Add(most)
	defer patient.Add(-most)
	l := followed(t)
	l.out.WriteString("answer")
	if l.in.await() {
		t.Error("one more waited")
	}
	l.await("answer")
}

// The end is told once, by a caller or the set, with what came before it.
func TestACallerFindsTheEnd(t *testing.T) {
	l := followed(t)
	l.out.WriteString("last words")
	l.out.Close()
	l.in.ReadFor(l.until("answer"))
	err := <-l.ended
	l.in.ReadFor(l.until("answer"))
	if err != nil || l.text() != "last words" || len(l.ended) > 0 {
		t.Errorf("heard %q, ended %v and %d times more", l.text(), err, len(l.ended))
	}
	l.ended <- nil // for the end of the test
}

// Cut ends a pipe that others hold open, after what is in it.
func TestCutOfAPipeThatIsHeldOpen(t *testing.T) {
	l := followed(t)
	l.out.WriteString("last words")
	l.in.Cut()
	if err := <-l.ended; err != nil || l.text() != "last words" {
		t.Errorf("heard %q, ended %v", l.text(), err)
	}
	l.ended <- nil
}

// However many callers and the set read, all is heard once and in order.
func TestCallersReadInOrder(t *testing.T) {
	l := followed(t)
	const lines = 2000
	var want bytes.Buffer
	for n := range lines {
		fmt.Fprintln(&want, n)
	}
	var done atomic.Bool
	var callers sync.WaitGroup
	for range 3 {
		callers.Go(func() {
			for !done.Load() {
				before := len(l.text())
				l.in.ReadFor(&waiter{over: func() bool { return done.Load() || len(l.text()) > before }, others: func() bool { return len(l.text()) > before && before%2 == 0 }})
			}
		})
	}
	for line := range slices.Values(bytes.SplitAfter(want.Bytes(), []byte("\n"))) {
		l.out.Write(line)
	}
	l.await(want.String())
	done.Store(true)
	callers.Wait()
}

// Read is for an owner that reads itself.
func TestReadOfAChildPipe(t *testing.T) {
	in, out, err := OpenChildPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	go func() {
		out.WriteString("word")
		out.Close()
	}()
	var all []byte
	p := make([]byte, 3)
	for {
		n, err := in.Read(p)
		all = append(all, p[:n]...)
		if err != nil {
			break
		}
	}
	if string(all) != "word" {
		t.Errorf("read %q", all)
	}
}
