package guest

import (
	"context"
	"errors"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
)

// mostOrders is how many host calls of an input are made.
const mostOrders = 64

// FuzzCalls has a puppet make any host calls with any arguments, over two events.
// Whatever they are, the guest goes on or is stopped for a reason of its own; no
// call is an error of the host, and what the connection held is given back at its
// end.
func FuzzCalls(f *testing.F) {
	for c, all := range forgeries {
		for _, forged := range append(pointers(c), all...) {
			f.Add(script(append(forged.first, order{c, forged.args})...))
		}
	}
	f.Add(script(opening, closing, opening, order{abi.CallWrite, args{main | 1<<8, 0, 4096, 1}}, order{abi.CallDeliver, args{7, 0, 9, 0}}))
	m := load(f, "puppet", scripted(never, nil))
	f.Fuzz(func(t *testing.T, payload []byte) {
		payload = payload[:min(len(payload), mostOrders*orderSize)]
		r := openScripted(t, Config{Module: m, Limits: hasty, Trace: func([]byte, []byte) {}, Observer: &callResults{}, Save: func([]byte) {}, Log: func(abi.Level, string) {}})
		for range 2 {
			r.host.stream(0).sink.Data(payload, false)
		}
		r.Close(context.Background())
		<-r.inbox.closed
		var trap *wasm.Trap
		switch cause := r.inbox.cause; {
		case errors.As(cause, &trap) && trap.Kind == wasm.TrapOther:
			t.Errorf("an error of the host's own: %v", cause)
		case !errors.As(cause, &trap) && !errors.Is(cause, ErrClosed) && !errors.As(cause, new(*PluginError)):
			t.Errorf("ended with %v", cause)
		}
		for n, s := range r.host.streams {
			if !s.closed {
				t.Errorf("stream %d is still open", n)
			}
		}
	})
}
