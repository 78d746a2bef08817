package host_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/capability"
	"github.com/wharf-mcp/wharf/host/internal/capability/stream"
	"github.com/wharf-mcp/wharf/host/internal/guest"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
)

// TestWhatIsHeldForAConnection adds up what each package holds at most for a guest: its
// memory, twice the message cap and 8 MiB, and over HTTP so much for each exchange.
// HOSTILE.md has the sum.
func TestWhatIsHeldForAConnection(t *testing.T) {
	const messageCap, memory, most = 16 << 20, 16 << 20, 16<<20 + 2*16<<20 + 8<<20
	handles, exchange := capability.MaxHeld()
	parts := []struct {
		what string
		held int
	}{
		{"its memory and the messages under way", guest.Limits{MessageCap: messageCap}.MaxHeld()},
		{"its instance, beside the memory", wasm.MaxHeld()},
		{"its handles", handles},
	}
	sum := 0
	for _, p := range parts {
		t.Logf("%10d %s", p.held, p.what)
		sum += p.held
	}
	t.Logf("%10d in all, %d may be; %d for each exchange", sum, most, exchange)
	if sum > most {
		t.Errorf("%d bytes may be held for a connection, more than %d", sum, most)
	}
	page, err := os.ReadFile(chartFile)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(string(page)), " ")
	for _, want := range []string{fmt.Sprintf("%d MiB by default", most>>20), fmt.Sprintf("%d KiB for each exchange", exchange>>10)} {
		if !strings.Contains(text, want) {
			t.Errorf("%s does not say %q", chartFile, want)
		}
	}
}

// TestAHoarderStaysWithinItsSum has a plugin hold as much as it can at once: streams
// whose server does not read, with more queued than the system takes, a message that
// does not end, timers, a saved state. It is stopped for it in the end, and before
// that the heap has grown by no more than the sum says.
func TestAHoarderStaysWithinItsSum(t *testing.T) {
	const piece = 1 << 20
	handle := code(num(freeAt), 0x28, 2, 0) // loads it
	queue := code(handle, num(0), num(piece), num(0), invoke(uint32(abi.CallWrite)), opDrop)
	var setTimers []byte
	for id := range int32(abi.MaxTimers) {
		setTimers = append(setTimers, ask(abi.CallTimer, id, 60_000)...)
	}
	opens := code(num(freeAt), hostCall(abi.CallOpen, int32(abi.OpenStream), 0, requestAt, int32(len(mainRequest()))), 0x36, 2, 0,
		many(15, ask(abi.CallOpen, int32(abi.OpenStream), 0, requestAt, int32(len(mainRequest())))))
	ship := hostileGuest{pages: 256, on: map[abi.Kind][]byte{
		abi.EventOpen:   code(ask(abi.CallReport, int32(abi.ReportUp), 0, 0, 0, 0), opens, setTimers, ask(abi.CallSave, 0, abi.MaxSavedState)),
		abi.EventCancel: code(get(2), num(1), 0x71, opIf, voidBlock, ask(abi.CallDeliverMem, 7, 0, piece, 0), opElse, queue, opEnd),
	}}

	e, err := wasm.NewEngine(t.Context(), wasm.Config{ABI: guest.ABI()})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	m, err := e.Load(t.Context(), "hoarder", ship.bytes())
	if err == nil {
		err = m.Compile(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	before := heapInUse()
	w := newDeafTable(t)
	in, err := guest.New(t.Context(), guest.Config{Plugin: "hoarder", Module: m, Limits: guest.Limits{FuelRate: 1 << 40}})
	if err != nil {
		t.Fatal(err)
	}
	ended := &lastWord{over: make(chan struct{})}
	in.Open(&abi.Settings{Server: "deaf"}, nil, w, ended)
	handles, _ := capability.MaxHeld()
	limits := guest.Limits{MessageCap: 16 << 20}
	bound, held := limits.MaxHeld()-16<<20+wasm.MaxHeld()+handles, 0
	for n := uint32(1); !ended.heard(); n++ {
		if n == 64 {
			t.Fatal("it holds whatever it likes")
		}
		held = max(held, heapInUse()-before)
		in.Cancel(n)
	}
	runtime.KeepAlive(in)
	t.Logf("%d bytes were held at most, %d may be: %v", held, bound, ended.err)
	if held > bound || held < 16<<20 || !strings.Contains(ended.err.Error(), "messages under way") {
		t.Errorf("%d bytes were held, %d may be: %v", held, bound, ended.err)
	}
	in.Close(t.Context())
}

func heapInUse() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// newDeafTable grants streams to a server that accepts and does not read.
func newDeafTable(t *testing.T) *capability.Table {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	accepted := make(chan net.Conn, 64)
	go func() {
		defer close(accepted)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- c
		}
	}()
	address, err := stream.ParseAddress("unix:" + path)
	if err != nil {
		t.Fatal(err)
	}
	table := capability.NewTable(capability.Config{
		Grants: []capability.Grant{{Name: "main", To: address}}, Limits: capability.Limits{Stall: time.Hour}, Grace: capability.OneShot(),
	})
	t.Cleanup(func() {
		if err := table.Close(context.Background()); err != nil {
			t.Error(err)
		}
		l.Close()
		for c := range accepted {
			c.Close()
		}
	})
	return table
}

// lastWord is a receiver that hears how it ended.
type lastWord struct {
	guest.Receiver
	over chan struct{}
	err  error
}

func (l *lastWord) Close(err error) {
	l.err = err
	close(l.over)
}

func (l *lastWord) heard() bool {
	select {
	case <-l.over:
		return true
	default:
		return false
	}
}
