package guest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
)

// slow is a stream that says how much it has not sent.
type slow struct {
	quiet
	left, flushes int
}

func (s *slow) Queued() int { return s.left }
func (s *slow) Flush()      { s.flushes++ }

// accounts returns what an instance counts as queued, of that its callers' part, and the
// same of its handles together.
func accounts(i *Instance) (sums [4]int) {
	sums = [4]int{i.queued, i.callerBytes}
	for n := range i.handles {
		sums[2] += i.handles[n].queued
		sums[3] += i.handles[n].callerBytes
	}
	return sums
}

// What is queued is counted at the handle and for all, each byte of a message once for
// its caller, until the system has taken it.
func TestAccountsOfHandles(t *testing.T) {
	m, first, second := &counting{}, &slow{}, &slow{}
	i := &Instance{caller: m, config: Config{Limits: Limits{Quota: 100, HighWater: 20}.withDefaults()}}
	i.handles = []handle{{stream: first}, {stream: second, generation: abi.MaxGeneration}}
	want := func(when string, queued, callers, space int) {
		t.Helper()
		if got := accounts(i); got != [4]int{queued, callers, queued, callers} || i.space() != space {
			t.Errorf("%s: %v are counted, with room for %d; want %d, %d and %d", when, got, i.space(), queued, callers, space)
		}
	}
	a, b := &i.handles[0], &i.handles[1]
	i.inbound.total = 7
	i.write(a, make([]byte, 30), false)
	want("written by the guest", 30, 0, 63)

	i.current.payload = make([]byte, 10)
	i.chargeCaller(a, 6)
	i.write(a, make([]byte, 6), false)
	i.chargeCaller(b, 6)
	i.write(b, make([]byte, 6), false)
	i.chargeCaller(b, 6)
	i.write(b, make([]byte, 6), false)
	want("forwarded, and more than once", 48, 10, 55)

	first.left, second.left = 20, 3
	i.flushHandle(a)
	i.flushHandle(b)
	want("in part taken", 23, 9, 79)
	if a.backpressured || b.backpressured {
		t.Error("held back at the high-water mark")
	}
	first.left = 21
	a.unsent = true
	i.flushHandle(a)
	i.flushHandle(a)
	if !a.backpressured || i.backpressured != 1 || first.flushes != 2 {
		t.Errorf("above the high-water mark: held back %v, %d flushes", a.backpressured, first.flushes)
	}
	want("above the mark", 24, 9, 78)

	i.write(b, make([]byte, 78), false)
	want("full", 102, 9, 0)
	err := trapped(m, func() { i.write(b, []byte("x"), false) })
	if err == nil || !strings.Contains(err.Error(), "more than 100 bytes: 94 bytes wait because the other side does not read them, and 7 bytes belong") {
		t.Error(err)
	}

	second.left = 80
	i.release(b)
	want("one is closed", 21, 6, 78)
	if b.stream != nil || b.generation != 0 || !second.closed {
		t.Errorf("a closed handle is %+v", b)
	}
	i.release(a)
	want("both are closed", 0, 0, 93)
	if i.backpressured != 0 || a.generation != 1 || i.opened != -2 {
		t.Errorf("%d are held back, %d open", i.backpressured, i.opened)
	}
	i.flushHandle(a) // which is not open
}

// A stash begins with room for twice what is put into it.
func TestRoomOfAStash(t *testing.T) {
	var i Instance
	i.stash(make([]byte, 3000))
	if cap(i.stashed) != 6000 {
		t.Errorf("room for %d", cap(i.stashed))
	}
}

// A message without end is let go so many times over, and then it is given up.
func TestEndlessMessage(t *testing.T) {
	i := &Instance{config: Config{Limits: Limits{MessageCap: 1}.withDefaults()}}
	for range 2*maxOverrun - 1 {
		i.deliver(0, []byte("xx")[:1], abi.More)
	}
	i.deliver(0, []byte("x"), abi.More)
	if i.failure != nil {
		t.Errorf("too early: %v", i.failure)
	}
	i.deliver(0, []byte("x"), abi.More)
	if !errors.Is(i.failure, errEndless) {
		t.Errorf("%v", i.failure)
	}
}

// Whose fault the end of a connection is: the server's, if something came from there.
func TestFaultOfAnEnd(t *testing.T) {
	gone := &ExitError{Code: 3}
	for _, test := range []struct {
		kind   abi.Kind
		cause  error
		text   string
		server bool
		want   string
	}{
		{abi.EventExit, gone, "no license", true, "no license: server exited with code 3"},
		{abi.EventExit, gone, "", true, "server exited with code 3"},
		{abi.EventError, gone, "it broke", true, "server exited with code 3"},
		{abi.EventData, nil, "it broke", false, "server exited with code 3"},
	} {
		i := &Instance{config: Config{Plugin: "stdio"}, current: item{kind: test.kind, cause: test.cause}}
		err := i.connectError(gone, abi.Unavailable, test.text)
		var ended *EndedError
		if errors.As(err, &ended) != test.server || !strings.HasSuffix(err.Error(), test.want) {
			t.Errorf("%v with %q: %v", test.kind, test.text, err)
		}
	}
	for status, final := range map[abi.Status]bool{abi.Unauthorized: true, abi.Malformed: true, abi.Unavailable: false} {
		if (&StatusError{Status: status}).Final() != final {
			t.Errorf("%v: final is %v", status, !final)
		}
	}
	if got := (&ExitError{Code: 1, Detail: "killed"}).Error(); got != "server exited: killed" {
		t.Error(got)
	}
}

func TestFuelOfAPayload(t *testing.T) {
	for size, want := range map[int]int64{
		0: 0, 1: wasm.FuelPerPayloadByte, pieceSize: pieceSize * wasm.FuelPerPayloadByte,
		pieceSize + 1000: pieceSize*wasm.FuelPerPayloadByte + 1000*bulkFuel,
	} {
		if got := Budget(size) - wasm.EventBudget; got != want {
			t.Errorf("%d bytes earn %d, want %d", size, got, want)
		}
	}
}

// A bucket is full at first, fills by its rate, and may be emptied to its last unit.
func TestFuelBucket(t *testing.T) {
	now := time.Now()
	b := fuelBucket{rate: 100, level: 100}
	if !b.spend(100, nil) { // the clock is not looked at
		t.Error("a full bucket")
	}
	for n, step := range []struct {
		passes time.Duration
		spends int64
		want   bool
	}{
		{0, 100, true}, // a second has passed before the first look
		{0, 1, false},
		{10 * time.Millisecond, 0, true},
		{10 * time.Millisecond, 1, true},
		{time.Hour, 101, false}, // no more than a second counts
		{0, -1000, true},
		{0, 100, true},
		{0, 1, false},
	} {
		now = now.Add(step.passes)
		if got := b.spend(step.spends, func() time.Time { return now }); got != step.want {
			t.Errorf("step %d: %v, %d are left", n, got, b.level)
		}
	}
}

// The bounds of a connection, as SECURITY.md and HOSTILE.md give them.
func TestWhatIsHeldForAGuest(t *testing.T) {
	l := Limits{}.withDefaults()
	if l != (Limits{MessageCap: 16 << 20, Mailbox: 32 << 20, HighWater: 256 << 10, Quota: 18 << 20, MemoryPages: 256, CloseGrace: 2 * time.Second, FuelRate: 4 * wasm.EventBudget}) {
		t.Errorf("%+v", l)
	}
	const own = 128<<10 + 256<<10 + maxPartials*256 + abi.MaxHandles*512 + abi.MaxTimers*512 + abi.MaxSavedState
	if got := (Limits{}).MaxHeld(); got != 16<<20+18<<20+(9<<20)/2+own {
		t.Errorf("%d bytes are held", got)
	}
}

// A mailbox may be filled to its last byte; one that is empty takes any message.
func TestRoomOfAMailbox(t *testing.T) {
	left, leave := context.WithCancel(t.Context())
	leave()
	for _, test := range []struct {
		sizes []int
		full  int // at which of them, from 0
	}{
		{[]int{6, 4, 1}, 2},
		{[]int{10, 1}, 1},
		{[]int{20, 1}, 1},
		{[]int{6, 5}, 1},
	} {
		i := &Instance{owned: true, config: Config{Limits: Limits{Mailbox: 10}.withDefaults()}}
		for n, size := range test.sizes {
			err := i.Send(left, &testMessage{payload: make([]byte, size)})
			if full := errors.Is(err, context.Canceled); full != (n == test.full) || !full && err != nil {
				t.Errorf("%v, number %d: %v", test.sizes, n, err)
			}
		}
	}
}

// Messages are taken out of a queue from anywhere, and the others keep their order.
func TestQueueWithoutOne(t *testing.T) {
	for out := range uint32(5) {
		var q queue
		for n := range uint32(6) {
			q.push(item{arg: n})
		}
		q.pop(new(item))
		if _, ok := q.remove(0); ok {
			t.Error("one that was taken is still there")
		}
		if it, ok := q.remove(out + 1); !ok || it.arg != out+1 {
			t.Errorf("took out %d, %v", it.arg, ok)
		}
		var rest strings.Builder
		for it := new(item); q.pop(it); {
			fmt.Fprint(&rest, it.arg)
		}
		if want := strings.ReplaceAll("12345", fmt.Sprint(out+1), ""); rest.String() != want || !q.empty() {
			t.Errorf("without %d: %s", out+1, rest.String())
		}
	}
}

// Kinds that the ABI has, or the host uses inside, are not sent as unknown ones.
func TestUnknownKinds(t *testing.T) {
	for kind, want := range map[abi.Kind]bool{abi.EventClose: false, abi.EventClose + 1: true, eventDrained - 1: true, eventDrained: false, eventStop: false} {
		i := &Instance{owned: true}
		i.SendUnknown(kind, 0, 0, nil)
		if sent := !i.urgent.empty(); sent != want {
			t.Errorf("kind %d: sent is %v", kind, sent)
		}
	}
}

// carrier is an executor with memory, and an observer of what is carried.
type carrier struct {
	counting
	Observer
	carried []byte
}

func (c *carrier) Memory(ptr, size uint32) ([]byte, bool) {
	return []byte("0123456789")[ptr : ptr+size], true
}
func (c *carrier) Call(_ abi.Call, _ []uint32, carried []byte, _ int32) { c.carried = carried }

func TestObserverSeesWhatIsSaved(t *testing.T) {
	c := &carrier{}
	i := &Instance{caller: c, config: Config{Observer: c}}
	for call, args := range map[abi.Call][]uint32{abi.CallSave: {1, 2}, abi.CallWrite: {9, 1, 2}, abi.CallOpen: {9, 9, 1, 2}, abi.CallReport: {9, 9, 9, 1, 2}} {
		if i.observeCall(call, args, 0); string(c.carried) != "12" {
			t.Errorf("%v: %q is carried", call, c.carried)
		}
	}
	for call, args := range map[abi.Call][]uint32{abi.CallTake: {9, 1, 2}, abi.CallForward: {9, 1, 2, 0}, abi.CallClose: {1}} {
		if i.observeCall(call, args, 0); c.carried != nil {
			t.Errorf("%v: %q is carried", call, c.carried)
		}
	}
}

// A sealed payload has been used when some of it was forwarded, to its own handle.
func TestUseOfASealedPayload(t *testing.T) {
	own, other := abi.MakeHandle(1, 0), abi.MakeHandle(2, 0)
	i := &Instance{config: Config{Limits: Limits{}.withDefaults()}, caller: &counting{}, current: item{kind: abi.EventOpened, arg: abi.Sealed, handle: own, payload: []byte("blob")}}
	i.handles = []handle{{stream: &quiet{}}, {stream: &quiet{}}}
	for _, test := range []struct {
		handle uint32
		size   uint32
		want   abi.Status
		used   bool
	}{{other, 4, abi.Denied, false}, {own, 0, abi.OK, false}, {own, 1, abi.OK, true}, {own, 0, abi.OK, true}} {
		if got := abi.Status(i.callForward(args{test.handle, 0, test.size})); got != test.want || i.current.forwarded != test.used {
			t.Errorf("%d bytes to %d: %v, used %v", test.size, test.handle, got, i.current.forwarded)
		}
	}
}

// A chunk is one event up to the size of a piece, and two beyond it.
func TestPiecesOfAChunk(t *testing.T) {
	r := open(t, stdioPackage, Config{SingleThreaded: true})
	s := r.host.stream(0)
	s.sink.Opened()
	for size, want := range map[int]uint64{1: 1, pieceSize: 1, pieceSize + 1: 2, 2 * pieceSize: 2} {
		before := r.idle.events
		s.sink.Data(make([]byte, size), false)
		if got := r.idle.events - before; got != want {
			t.Errorf("%d bytes are %d events", size, got)
		}
	}
}
