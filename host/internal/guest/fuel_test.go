package guest

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
)

// Authors find the figures in the contract.
func TestBudgetsAreAsWritten(t *testing.T) {
	contract, err := os.ReadFile("../../../abi/doc.go")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(strings.ReplaceAll(string(contract), "//", " ")), " ")
	limits := Limits{}.withDefaults()
	for _, want := range []string{
		fmt.Sprintf("memory %d pages of 64 KiB", limits.MemoryPages),
		"_initialize " + thousands(wasm.InitBudget) + " units",
		"an event " + thousands(wasm.EventBudget) + " units",
		fmt.Sprintf("each byte of the first %d KiB %d units more", pieceSize>>10, wasm.FuelPerPayloadByte),
		fmt.Sprintf("each byte after those %d units more", bulkFuel),
		"a connection " + thousands(limits.FuelRate) + " units a second",
		"earn units for the connection: " + thousands(eventFuel) + " each",
		"Each byte of DATA and HEAD pays " + thousands(outsideFuel) + " units in",
		"a host call has a price of 100 to " + thousands(Price(abi.CallOpen)) + " (open)",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("abi/doc.go does not say %q", want)
		}
	}
}

// thousands writes n with commas.
func thousands(n int64) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}

// What an event earns depends on who caused it.
func TestWhatEventsEarn(t *testing.T) {
	const used = 100 * wasm.FuelPerPayloadByte
	message := func(prompted bool) item {
		return item{kind: abi.EventMessage, msg: &testMessage{urgent: prompted}}
	}
	payload := make([]byte, 100)
	for name, c := range map[string]struct {
		event   item
		prepaid int64 // before
		want    int64
		left    int64 // prepaid, after
	}{
		"bytes of the server":      {item{kind: abi.EventData, payload: payload}, 0, eventFuel + used, 100 * outsideFuel},
		"an answer of the server":  {item{kind: abi.EventHead, payload: payload}, 0, eventFuel + used, 100 * outsideFuel},
		"more than may be prepaid": {item{kind: abi.EventData, payload: payload}, prepaidLimit, eventFuel + used, prepaidLimit},
		"a message of the caller":  {message(false), 7, eventFuel + used, 7},
		"a caller that left":       {item{kind: abi.EventCancel}, 7, eventFuel + used, 7},
		"a reply that was paid":    {message(true), eventFuel + used + 7, eventFuel + used, 7},
		"a reply that was not":     {message(true), 0, 0, 0},
		"a reply, paid in part":    {message(true), 7, 7, 0},
		"a timer":                  {item{kind: abi.EventTimer}, 7, 0, 7},
		"a failure":                {item{kind: abi.EventError, payload: payload}, 7, 0, 7},
		"an open":                  {item{kind: abi.EventOpened, payload: payload}, 7, 0, 7},
		"an end":                   {item{kind: abi.EventEnd}, 7, 0, 7},
		"the end of a process":     {item{kind: abi.EventExit, payload: payload}, 7, 0, 7},
		"the beginning":            {item{kind: abi.EventOpen, payload: payload}, 7, 0, 7},
		"a state that was saved":   {item{kind: abi.EventResume, payload: payload}, 7, 0, 7},
		"the wish to end":          {item{kind: abi.EventClose}, 7, 0, 7},
		"the question who it is":   {item{kind: abi.EventDescribe}, 7, 0, 7},
		"a kind that is not there": {item{kind: 99, payload: payload}, 7, 0, 7},
	} {
		b := fuelBucket{prepaid: c.prepaid}
		if got := b.credit(&c.event, used); got != c.want || b.prepaid != c.left {
			t.Errorf("%s earns %d and leaves %d prepaid, want %d and %d", name, got, b.prepaid, c.want, c.left)
		}
	}
}

// greedy gives a connection so little that a few events use it up.
var greedy = Config{Limits: Limits{FuelRate: 1 << 20}}

func (r *rig) wantGreedy(t *testing.T) {
	t.Helper()
	if !r.isDone() {
		t.Fatal("it was not stopped")
	}
	if !errors.Is(r.inbox.cause, errFuel) {
		t.Errorf("ended with %v", r.inbox.cause)
	}
}

// A guest that makes up requests and works when they are answered uses up what its
// connection has, and no more.
func TestMadeUpRequestsEarnNothing(t *testing.T) {
	r := open(t, hostilePackage, greedy, abi.Pair{Key: "mode", Value: "pings"})
	s := r.host.stream(0)
	s.sink.Opened()
	s.sink.Data([]byte("go"), false)
	for n := range uint32(64) {
		r.Send(t.Context(), r.reply(n+1))
	}
	r.wantGreedy(t)
	if made := len(r.inbox.messages()); made < 2 {
		t.Errorf("it made up %d requests", made)
	}
}

func (r *rig) reply(exchange uint32) *testMessage {
	l := newTestMessage(exchange, `{"jsonrpc":"2.0","id":1,"result":{}}`, r.freed)
	l.urgent = true
	return l
}

// A guest that opens what is refused, over and over, does so at its own expense.
func TestFailuresEarnNothing(t *testing.T) {
	r := open(t, hostilePackage, greedy, abi.Pair{Key: "mode", Value: "errors"})
	r.host.stream(0).sink.Opened()
	r.host.stream(0).sink.Data([]byte("go"), false)
	for n := 1; n < 64 && !r.isDone(); n++ {
		r.host.stream(n).sink.Error(abi.Malformed, errors.New("a GET has no body"))
	}
	r.wantGreedy(t)
}

// A server that asks a great deal, in the smallest pieces, is answered as often: its
// requests pay for what the guest does with the answers.
func TestARealServerMayAsk(t *testing.T) {
	r := open(t, hostilePackage, greedy, abi.Pair{Key: "mode", Value: "works"})
	s := r.host.stream(0)
	s.sink.Opened()
	ask := []byte(strings.Repeat(`{"method":"ping","id":1}`+"\n", 16))
	for n := range uint32(2_000) {
		if n%16 == 0 {
			s.sink.Data(ask, false)
		}
		r.Send(t.Context(), r.reply(n+1))
	}
	if r.isDone() {
		t.Errorf("ended with %v", r.inbox.cause)
	}
}
