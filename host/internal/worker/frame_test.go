package worker

import (
	"bytes"
	"io"
	"reflect"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/guest"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
)

// frame is what every kind of frame has; those with a tail are written without it.
type frame interface{ append([]byte) []byte }

// Each frame is read as it was written.
func TestFrames(t *testing.T) {
	for _, c := range []struct {
		wrote, empty frame
		tail         []byte
		read         func(frame, tag, []byte) error
	}{
		{
			&begin{pages: 7, remoteSources: true, observed: true, cache: "/a/folder", module: []byte("module")}, &begin{}, []byte("module"),
			func(f frame, _ tag, b []byte) error { return f.(*begin).decode(b) },
		},
		{
			&event{budget: 1 << 40, Event: guest.Event{Kind: 7, Handle: 257, Arg: 1 << 31, Size: 5, Payload: []byte("hello")}}, &event{}, []byte("hello"),
			func(f frame, _ tag, b []byte) error { return f.(*event).decode(b) },
		},
		{
			&answer{result: -5, charge: 1 << 33}, &answer{}, nil,
			func(f frame, _ tag, b []byte) error { return f.(*answer).decode(b) },
		},
		{
			&call{op: abi.CallWrite, args: [5]uint32{1, 16, 5, 1}, left: 99, named: true, carried: []byte("hello")}, &call{}, []byte("hello"),
			func(f frame, _ tag, b []byte) error { return f.(*call).decode(b) },
		},
		{
			&call{op: abi.CallClose, args: [5]uint32{1}, left: 99, carried: []byte{}}, &call{}, nil,
			func(f frame, _ tag, b []byte) error { return f.(*call).decode(b) },
		},
		{
			&observed{op: abi.CallScan, args: [5]uint32{1, 2}, result: -1}, &observed{}, nil,
			func(f frame, _ tag, b []byte) error { return f.(*observed).decode(b) },
		},
		{
			&eventEnd{result: -5, used: 12, pages: 3}, &eventEnd{}, nil,
			func(f frame, t tag, b []byte) error { return f.(*eventEnd).decode(t, b) },
		},
		{
			&eventEnd{trap: &wasm.Trap{Kind: wasm.TrapExit, Code: 3}, used: 12, pages: 3}, &eventEnd{}, nil,
			func(f frame, t tag, b []byte) error { return f.(*eventEnd).decode(t, b) },
		},
	} {
		f := reader(bytes.NewReader(append(c.wrote.append(nil), c.tail...)))
		tag, body, err := f.next()
		if err == nil {
			err = c.read(c.empty, tag, body)
		}
		if err != nil || !reflect.DeepEqual(c.empty, c.wrote) {
			t.Errorf("%#v was read as %#v, %v", c.wrote, c.empty, err)
		}
	}
}

// FuzzMachine has a worker say anything. The host neither panics nor waits, keeps
// to the memory of a guest, and its own count of fuel to the budget.
func FuzzMachine(f *testing.F) {
	for _, seed := range [][]byte{
		(&eventEnd{result: 1, pages: 1}).append(nil),
		(&eventEnd{trap: &wasm.Trap{Kind: wasm.TrapFuel}}).append(nil),
		asks(abi.CallWrite, 1000, "hello", 1, 16, 5, 0),
		asks(abi.CallReport, 1000, "", 1, 0, 0, 16, 0),
		(&observed{op: abi.CallTake}).append(nil),
		bare(tagStderr, []byte("hello")...), bare(tagAsk, 8, 0, 0, 0), bare(tagRefused, []byte("no")...),
		claims(tagCall, 1<<20),
	} {
		f.Add(seed)
		f.Add(append(seed, (&eventEnd{}).append(nil)...))
		f.Add(seed[:len(seed)-1])
	}
	f.Fuzz(func(t *testing.T, said []byte) {
		const budget = 100_000
		var charged int64
		berth := guest.Callbacks{
			Now: time.Now, Random: zeros{new([]string)},
			Observed: func(abi.Call, []uint32, int32) {},
			Answer: func(m guest.Executor, c abi.Call, args []uint32) int32 {
				if len(args) != c.Params() {
					t.Errorf("%v with %d arguments", c, len(args))
				}
				if at := guest.PointerArg(c); at >= 0 {
					charged += int64(len(guest.Bytes(m, args[at], args[at+1])))
				}
				return 0
			},
		}
		m, _ := listen(said, io.Discard, berth)
		defer m.Close()
		if _, err := m.Run(budget, guest.Event{Kind: abi.EventData, Size: 5, Payload: []byte("hello")}); err == nil && m.Used() > budget {
			t.Errorf("an event took %d units of %d", m.Used(), budget)
		}
		if charged > budget || m.Pages() > 1 {
			t.Errorf("%d bytes for %d units, %d pages", charged, budget, m.Pages())
		}
	})
}
