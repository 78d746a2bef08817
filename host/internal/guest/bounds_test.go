package guest

import (
	"bytes"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
)

// What is held for messages under way is in proportion to what came of them,
// however many there are.
func TestPartsHoldLittleMoreThanTheyAre(t *testing.T) {
	r := open(t, stdioPackage, Config{})
	for exchange := range uint32(maxPartials) {
		r.deliver(exchange+1, []byte("{"), abi.More)
	}
	held := 0
	for _, m := range r.inbound.private {
		held += cap(m.data)
	}
	if held > (4<<10)*maxPartials {
		t.Errorf("%d bytes are held for %d", held, maxPartials)
	}
	if r.inbound.total != held {
		t.Errorf("%d bytes are held and %d counted", held, r.inbound.total)
	}
}

// Messages under way are bounded together, and what is let go of them is the
// end: the beginning still tells whose call fails.
func TestPartsAreBoundedTogether(t *testing.T) {
	const limit = 1 << 20
	r := open(t, stdioPackage, Config{Limits: Limits{MessageCap: limit}})
	part := bytes.Repeat([]byte("x"), limit/2)
	for exchange := range uint32(16) {
		r.deliver(exchange+1, part, abi.More)
	}
	if most := limit + limit/8 + 16*headSize; r.inbound.total > most {
		t.Errorf("%d bytes are held, %d may be", r.inbound.total, most)
	}
	if v := r.deliver(16, nil, abi.End); v != abi.VerdictTooBig || len(r.inbox.big) != 1 || len(r.inbox.big[0]) != headSize {
		t.Errorf("the last of them: %v, and the receiver heard of %d", v, len(r.inbox.big))
	}
}

// The end of an exchange is the end of the message that was coming for it.
func TestPartsEndWithTheirExchange(t *testing.T) {
	r := open(t, stdioPackage, Config{})
	for name, end := range map[string]func(){
		"abort":  func() { r.deliver(7, nil, abi.Abort) },
		"cancel": func() { r.Cancel(7) },
		"done":   func() { r.callReport(args{uint32(abi.ReportDone), 7}) },
		"failed": func() { r.callReport(args{uint32(abi.ReportFailed), 7}) },
	} {
		r.deliver(7, []byte(`{"half":`), abi.More)
		end()
		if r.inbound.started(7) || r.inbound.total != 0 {
			t.Errorf("%s: %d bytes of a message that no caller waits for are held", name, r.inbound.total)
		}
	}
}

// A search looks at no more bytes than it is paid for, whichever needle it is
// that is there.
func TestScanStopsAtWhatItFinds(t *testing.T) {
	hay := append([]byte("b"), bytes.Repeat([]byte("x"), 1<<20)...)
	for _, needles := range []string{"b", "ab", "ba", "acdb", "abcd"} {
		at, looked := scan(hay, abi.PackNeedles(needles))
		if at != 0 || looked > scanStep {
			t.Errorf("%q was found at %d after %d bytes", needles, at, looked)
		}
	}
}

// What a plugin says is short, text, and on one line.
func TestWordsOfAPlugin(t *testing.T) {
	var logged string
	r := open(t, hostilePackage, Config{Log: func(_ abi.Level, text string) { logged = text }},
		abi.Pair{Key: "mode", Value: "words"})
	s := r.host.stream(0)
	s.sink.Opened()
	s.sink.Data([]byte("go"), false)
	for what, text := range map[string]string{"failure": r.inbox.failed[7].Error(), "log": logged} {
		if len(text) == 0 || len(text) > 2*maxWords || strings.ContainsFunc(text, cleantext.IsUnsafe) || !strings.Contains(text, "[31m") {
			t.Errorf("the %s has %d bytes: %.40q", what, len(text), text)
		}
	}
}

// However much a plugin writes to its standard error, little is held.
func TestTailHoldsLittle(t *testing.T) {
	var kept stderrTail
	kept.Write([]byte("early"))
	kept.Write(bytes.Repeat([]byte("x"), 1<<20))
	kept.Write([]byte("late"))
	if len(kept.data) != tailSize || cap(kept.data) > 4*tailSize {
		t.Errorf("%d bytes are kept, in %d", len(kept.data), cap(kept.data))
	}
	if !bytes.HasSuffix(kept.data, []byte("xlate")) {
		t.Errorf("it ends with %q", kept.data[tailSize-10:])
	}
	var rude stderrTail
	rude.Write([]byte("\x1b[1mpa\u202enic\nhe\u200bre\nand\nthere"))
	if said, want := rude.lines(), "[1mpa nic; he re; and"; said != want {
		t.Errorf("it says %q, want %q", said, want)
	}
}

// What is written in one event is held once until it is flushed, and the memory that a
// large one needed is given back.
func TestStashHoldsWhatIsWrittenOnce(t *testing.T) {
	for _, piece := range []int{100, 30 << 10, 65 << 10, 1 << 20} {
		r := open(t, stdioPackage, Config{})
		const all = 8 << 20
		part, places := make([]byte, piece), [][]byte{}
		before := heapInUse()
		for range all / piece {
			places = append(places, r.stash(part))
		}
		if held := heapInUse() - before; held > all*3/2 {
			t.Errorf("%d bytes are held for %d that were written in pieces of %d", held, all, piece)
		}
		runtime.KeepAlive(places)
		r.flush()
		if cap(r.stashed) > keepStash {
			t.Errorf("%d bytes wait for another use", cap(r.stashed))
		}
	}
}

// heapInUse is what the heap holds that is of use.
func heapInUse() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// What a guest collects and what it queues is bounded together, and a message of a
// caller is the caller's: it may be as long as it likes.
func TestMessagesUnderWayAreBoundedTogether(t *testing.T) {
	const limit = 64 << 10
	for name, c := range map[string]struct {
		collected, written int
		ends               bool
	}{
		"collected and written":       {limit, limit / 4, true},
		"as much as there may be":     {limit, limit/8 - 1, false}, // and a line break
		"written, and more than that": {0, 2 * limit, true},
	} {
		r := open(t, hostilePackage, Config{Limits: Limits{MessageCap: limit}}, abi.Pair{Key: "mode", Value: "queue"})
		s := r.host.stream(0)
		s.sink.Opened()
		s.setStuck(true)
		r.send(t, 1, strings.Repeat("x", 8*limit)) // which the server does not take
		r.deliver(7, make([]byte, c.collected), abi.More)
		s.sink.Data(make([]byte, c.written), false)
		if r.isDone() != c.ends {
			t.Errorf("%s: ended is %v: %v", name, r.isDone(), r.inbox.cause)
		}
		if !c.ends && r.callerBytes < 8*limit {
			t.Errorf("%s: the caller answers for %d bytes", name, r.callerBytes)
		}
	}
}

// Many handles may not hold together what one may not hold.
func TestQuotaOfAllHandles(t *testing.T) {
	r := open(t, hostilePackage, Config{Limits: Limits{Quota: 2 << 10}}, abi.Pair{Key: "mode", Value: "spread"})
	s := r.host.stream(0)
	s.sink.Opened()
	s.sink.Data([]byte("go"), false)
	var trap *wasm.Trap
	if !r.isDone() || !errors.As(r.inbox.cause, &trap) || trap.Kind != wasm.TrapHost {
		t.Errorf("ended with %v", r.inbox.cause)
	}
}

func TestHandlesAreBounded(t *testing.T) {
	r := open(t, stdioPackage, Config{})
	r.host.stream(0).sink.Opened()
	request := &abi.OpenRequest{Grant: "main"}
	for r.opened <= abi.MaxHandles-spareHandles {
		if !r.passableLocked() {
			t.Fatalf("messages are held back with %d handles", r.opened)
		}
		r.Instance.open(abi.OpenStream, 0, request)
	}
	if r.passableLocked() {
		t.Error("a message may pass that could need the last handles")
	}
	for r.opened < abi.MaxHandles {
		r.Instance.open(abi.OpenStream, 0, request)
	}
	if got := r.Instance.open(abi.OpenStream, 0, request); got != int32(abi.LimitReached) {
		t.Errorf("handle %d was opened", got)
	}
}

func (r *rig) isDone() bool {
	select {
	case <-r.Done():
		return true
	default:
		return false
	}
}

// A long payload does not buy time in proportion.
func TestLongPayloadsEarnLess(t *testing.T) {
	if got, want := earnedBy(pieceSize), int64(pieceSize*wasm.FuelPerPayloadByte); got != want {
		t.Errorf("a piece earns %d, want %d", got, want)
	}
	if got, most := earnedBy(1<<20), 8*int64(wasm.EventBudget); got > most {
		t.Errorf("a message of 1 MiB earns %d, more than %d", got, most)
	}
}
