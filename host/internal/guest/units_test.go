package guest

import (
	"bytes"
	"strconv"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/hostio"
)

// passer is a receiver that remembers the last message it was passed, and how.
type passer struct {
	inbox
	msg   []byte
	owned bool
}

func (r *passer) Deliver(_ uint32, msg []byte, owned bool) abi.Verdict {
	r.msg, r.owned = msg, owned
	return abi.VerdictNote
}

// A whole message is passed on where it lies, as long as the cap allows; one that came
// in parts is given away if it is too long for the buffer that is used again.
func TestWhereMessagesArePassedOn(t *testing.T) {
	const limit = 1 << 20
	for _, exchange := range []uint32{0, 7} {
		r := &passer{}
		fresh := func() *Instance {
			return &Instance{receiver: r, config: Config{Limits: Limits{MessageCap: limit}.withDefaults()}}
		}
		i, whole := fresh(), make([]byte, limit)
		if v := i.deliver(exchange, whole, abi.End); v != abi.VerdictNote || &r.msg[0] != &whole[0] || r.owned {
			t.Errorf("exchange %d: a whole message: %v, owned %v", exchange, v, r.owned)
		}
		for size, owned := range map[int]bool{spareSize: false, spareSize + 1: true} {
			i := fresh() // a long message before it would leave more room than it needs
			i.deliver(exchange, whole[:size], abi.More)
			if v := i.deliver(exchange, nil, abi.End); v != abi.VerdictNote || len(r.msg) != size || r.owned != owned {
				t.Errorf("exchange %d: %d bytes in parts: %v, %d passed on, owned %v", exchange, size, v, len(r.msg), r.owned)
			}
		}
		i.deliver(exchange, whole[:1], abi.More)
		if v := i.deliver(exchange, whole[1:], abi.End); v != abi.VerdictNote || len(r.msg) != limit {
			t.Errorf("exchange %d: just the cap, in parts: %v, %d passed on", exchange, v, len(r.msg))
		}
		i.deliver(exchange, whole, abi.More)
		if v := i.deliver(exchange, whole[:1], abi.End); v != abi.VerdictTooBig {
			t.Errorf("exchange %d: one byte more: %v", exchange, v)
		}
		if i.inbound.started(exchange) {
			t.Errorf("exchange %d: something is left", exchange)
		}
		i.deliver(exchange, append(whole, 1), abi.More)
		if v := i.deliver(exchange, []byte("}"), abi.End); v != abi.VerdictTooBig {
			t.Errorf("exchange %d: what is dropped ends as %v", exchange, v)
		}
	}
}

// So many messages may be under way, and each of them goes on.
func TestNumberOfPartials(t *testing.T) {
	var a partials
	for exchange := range uint32(maxPartials) {
		if a.open(exchange+1) == nil {
			t.Fatalf("number %d is refused", exchange+1)
		}
	}
	if a.open(maxPartials+1) != nil {
		t.Error("one more is accepted")
	}
	if a.open(maxPartials) == nil || a.open(0) == nil {
		t.Error("one that is under way is refused")
	}
}

// Needles that repeat are looked for like others.
func TestScanOfRepeatedNeedles(t *testing.T) {
	for _, test := range []struct {
		hay, needles string
		at, looked   int
	}{
		{"xxb", "aaaa", -1, 3}, {"xab", "aaaa", 1, 1}, {"xxb", "abaa", 2, 3}, {"xxb", "aaba", 2, 3}, {"xxb", "aaab", 2, 3},
		{"xxb", "baaa", 2, 3}, {"", "ab", -1, 0},
	} {
		n := uint32(0)
		for k, c := range []byte(test.needles) {
			n |= uint32(c) << (8 * k)
		}
		if len(test.needles) < 4 {
			n = abi.PackNeedles(test.needles)
		}
		if at, looked := scan([]byte(test.hay), n); at != test.at || looked != test.looked {
			t.Errorf("%q in %q: at %d, %d looked at", test.needles, test.hay, at, looked)
		}
	}
	hay := append(bytes.Repeat([]byte("x"), 2*scanStep), 'b')
	if at, looked := scan(hay, abi.PackNeedles("ab")); at != 2*scanStep || looked != len(hay) {
		t.Errorf("at %d, %d looked at", at, looked)
	}
}

// A quarter of a stash is put into it, and more is not.
func TestWhatIsStashed(t *testing.T) {
	for size, want := range map[int]bool{keepStash / 4: true, keepStash/4 + 1: false} {
		var i Instance
		i.stash(make([]byte, size))
		if stashed := i.stashed != nil; stashed != want {
			t.Errorf("%d bytes are stashed: %v", size, stashed)
		}
	}
}

func TestLargeHeadIsNotKept(t *testing.T) {
	for size, want := range map[int]bool{keepStash: true, keepStash + 1: false} {
		b := make([]byte, 0, size)
		freeHead(&b)
		if kept := b != nil; kept != want {
			t.Errorf("a buffer of %d bytes is kept: %v", size, kept)
		}
	}
}

// quiet is a stream that takes everything.
type quiet struct{ closed bool }

func (s *quiet) Write([]byte, bool) {}
func (s *quiet) Flush()             {}
func (s *quiet) Queued() int        { return 0 }
func (s *quiet) Close()             { s.closed = true }

var _ hostio.Stream = (*quiet)(nil)

// What was opened for an exchange is closed with it, and nothing else is. The status of
// one exchange is not that of another.
func TestHandlesOfAnExchange(t *testing.T) {
	var i Instance
	streams := []*quiet{{}, {}, {}}
	for n, s := range streams {
		i.handles = append(i.handles, handle{stream: s, exchange: uint32(n), status: 200 + n})
	}
	i.handles = append(i.handles, handle{stream: &quiet{}, exchange: 3})
	for exchange, want := range []int{200, 201, 202, 0, 0} {
		if got, _ := i.Status(uint32(exchange)); got != want {
			t.Errorf("the status of exchange %d is %d", exchange, got)
		}
	}
	i.closeExchange(0)
	i.closeExchange(2)
	for n, s := range streams {
		if s.closed != (n == 2) {
			t.Errorf("the stream of exchange %d: closed is %v", n, s.closed)
		}
	}
	if got, _ := i.Status(2); got != 0 {
		t.Errorf("a closed handle has the status %d", got)
	}
}

// TestEndOfAHandle has each event that may end a handle meet each kind of it.
func TestEndOfAHandle(t *testing.T) {
	for _, test := range []struct {
		kind  abi.Kind
		arg   uint32
		frees string // kinds of handles that hold no messages back any more: http, process, stream
		ends  string // kinds of essential handles that end the connection
	}{
		{abi.EventOpened, 0, "", ""},
		{abi.EventHead, 200, "", ""},
		{abi.EventHead, 200 | abi.HeadLast, "h", "hs"},
		{abi.EventData, 0, "", ""},
		{abi.EventData, abi.Last, "h", "hs"},
		{abi.EventEnd, 0, "h", "hs"},
		{abi.EventError, 0, "hps", "hps"},
		{abi.EventExit, 0, "hps", "hps"},
	} {
		for letter, kind := range map[string]abi.OpenKind{"h": abi.OpenHTTP, "p": abi.OpenProcess, "s": abi.OpenStream} {
			for _, essential := range []bool{false, true} {
				i := &Instance{backpressured: 1}
				h, it := &handle{stream: &quiet{}, kind: kind, essential: essential, backpressured: true}, &item{kind: test.kind, arg: test.arg}
				i.markEnding(h, it)
				frees, ends := bytes.Contains([]byte(test.frees), []byte(letter)), bytes.Contains([]byte(test.ends), []byte(letter))
				if h.backpressured == frees || it.essential != (ends && essential) {
					t.Errorf("%v %s of a %v handle: held back %v, ends %v", test.kind, strconv.Itoa(int(test.arg)), kind, h.backpressured, it.essential)
				}
			}
		}
	}
}

// counting is an executor that only keeps count.
type counting struct {
	Executor
	charged int64
	trapped error
	closed  bool
}

func (m *counting) Charge(n int64) { m.charged += n }
func (m *counting) Trap(err error) { m.trapped = err; panic(err) }
func (m *counting) Close() error   { m.closed = true; return nil }

// trapped returns why f was ended.
func trapped(m *counting, f func()) (err error) {
	defer func() {
		_ = recover()
		err = m.trapped
	}()
	f()
	return nil
}

func TestManifestIsCharged(t *testing.T) {
	m := &counting{}
	i := &Instance{caller: m, current: item{kind: abi.EventDescribe}}
	block := bytes.Repeat([]byte{0xff}, 100)
	if trapped(m, func() { i.reportManifest(block) }) == nil || m.charged != 100*DecodePrice {
		t.Errorf("%d were charged for %d bytes", m.charged, len(block))
	}
}

func TestWindowOutsideThePayload(t *testing.T) {
	m := &counting{}
	i := &Instance{caller: m, current: item{payload: []byte("abc")}}
	if got := i.window(1, 2); string(got) != "bc" || m.charged != 2 {
		t.Errorf("%q for %d", got, m.charged)
	}
	if err := trapped(m, func() { i.window(1, 3) }); err == nil || err.Error() != "bytes 1 to 4 of a payload of 3" {
		t.Error(err)
	}
}

// Of what waits when a guest ends, the messages have failed, and no other event has.
func TestWhatWaitsAtTheEnd(t *testing.T) {
	b, m := newInbox(), &counting{}
	i := &Instance{executor: m, receiver: b, done: make(chan struct{})}
	i.urgent.push(item{kind: abi.EventTimer, arg: 7})
	i.normal.push(item{kind: abi.EventMessage, msg: &testMessage{}, arg: 8})
	i.finish()
	if len(b.failed) != 1 || b.failed[8] == nil || !m.closed {
		t.Errorf("failed: %v", b.failed)
	}
}

// A caller that had its answer may be about to send: others are let go first, once.
func TestAnswersAreCounted(t *testing.T) {
	i := &Instance{receiver: newInbox()} // which takes everything for an answer
	if i.yieldOnce() {
		t.Error("there was no answer")
	}
	i.deliverWhole(1, []byte("{}"), false)
	i.deliverWhole(2, []byte("{}"), false)
	i.finishEvent(&item{msg: &testMessage{}})
	if i.answered != 1 || !i.yieldOnce() || i.yieldOnce() {
		t.Errorf("%d callers may be about to send", i.answered)
	}
	i.receiver = &passer{}
	if i.deliverWhole(3, nil, false); i.yieldOnce() {
		t.Error("a notification is no answer")
	}
}

// What leaves the normal lane makes room for those who wait.
func TestRoomInTheMailbox(t *testing.T) {
	i := &Instance{waiting: 10}
	room := i.room.Next()
	i.tookLocked(4)
	if i.waiting != 6 || i.room.Awaited() {
		t.Errorf("%d bytes wait", i.waiting)
	}
	select {
	case <-room:
	default:
		t.Error("the senders are not told")
	}
	if i.tookLocked(6); i.waiting != 0 {
		t.Errorf("%d bytes wait", i.waiting)
	}
}

// An error may be about the connection, which has no handle. Any other event is for an
// open handle.
func TestEventsWithoutAHandle(t *testing.T) {
	open := uint32(abi.MakeHandle(1, 3))
	for _, test := range []struct {
		kind   abi.Kind
		handle uint32
		want   bool
	}{
		{abi.EventError, 0, true}, {abi.EventError, open, true}, {abi.EventError, uint32(abi.MakeHandle(1, 2)), false}, {abi.EventError, uint32(abi.MakeHandle(2, 3)), false},
		{abi.EventData, 0, false}, {abi.EventData, open, true}, {abi.EventEnd, 0, false}, {abi.EventExit, 0, false}, {eventDrained, 0, false}, {eventDrained, open, false},
		{abi.EventCancel, 0, true}, {abi.EventClose, 0, true},
	} {
		i := &Instance{handles: []handle{{stream: &quiet{}, generation: 3}}}
		if got := i.admit(&item{kind: test.kind, handle: test.handle}); got != test.want {
			t.Errorf("%v of handle %d is heard: %v", test.kind, test.handle, got)
		}
	}
}
