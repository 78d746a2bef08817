package rpc

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/wharf-mcp/wharf/host/internal/strictjson"
)

func hello(dst []byte) ([]byte, error) {
	dst = append(dst, `{"name":"echo","arguments":{"message":`...)
	dst = strictjson.AppendString(dst, "hello")
	return append(dst, '}', '}'), nil
}

// BenchmarkCall is what a peer costs per call of about 100 bytes: its answer is
// there before Send returns.
func BenchmarkCall(b *testing.B) {
	p, _ := newEcho(Config{Timeout: DefaultTimeout})
	defer p.Close(nil)
	run := func(ctx context.Context) func(b *testing.B) {
		return func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Call(ctx, &Call{Method: "tools/call", Name: "echo"}, hello); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	b.Run("background", run(context.Background()))
	b.Run("cancellable", run(ctx))
}

func BenchmarkCall64(b *testing.B) {
	p, _ := newEcho(Config{Timeout: DefaultTimeout})
	defer p.Close(nil)
	b.ReportAllocs()
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := p.Call(context.Background(), &Call{Method: "tools/call"}, hello); err != nil {
				b.Error(err)
			}
		}
	})
}

// counter counts what it hears.
type counter struct {
	heard atomic.Int64
	bytes int
}

func (c *counter) Request(context.Context, *Incoming) (Appender, error) { return nil, noSuchMethod }

func (c *counter) Notify(in *Incoming) {
	c.bytes += len(in.Params)
	c.heard.Add(1)
}

func (c *counter) Preempt(string, []byte) {}

var progress = []byte(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":12,"total":100}}`)

func BenchmarkDeliverNotification(b *testing.B) {
	var c counter
	p, _ := newEcho(Config{Handler: &c})
	b.ReportAllocs()
	b.SetBytes(int64(len(progress)))
	for b.Loop() {
		p.Deliver(0, progress, false)
	}
	if n := p.Counters(); n.NotesDropped+n.Coalesced > 0 {
		b.Logf("dropped: %+v", n)
	}
	p.Close(nil)
}

func BenchmarkDeliverUnknownID(b *testing.B) {
	p, _ := newEcho(Config{})
	msg := []byte(`{"jsonrpc":"2.0","id":123456789,"result":` + smallResult + `}`)
	b.ReportAllocs()
	for b.Loop() {
		p.Deliver(0, msg, false)
	}
	p.Close(nil)
}

func BenchmarkParse(b *testing.B) {
	msg := []byte(`{"jsonrpc":"2.0","id":123,"result":` + smallResult + `}`)
	b.ReportAllocs()
	for b.Loop() {
		if err := new(envelope).parse(msg); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPipelined answers on another goroutine, as a reader would.
func BenchmarkPipelined(b *testing.B) {
	l := &piped{requests: make(chan uint32, 1024)}
	p := NewPeer(Config{Link: l, Timeout: DefaultTimeout})
	var wg sync.WaitGroup
	wg.Go(func() {
		for id := range l.requests {
			msg := append([]byte(nil), `{"jsonrpc":"2.0","id":`...)
			msg = strconv.AppendUint(msg, uint64(id), 10)
			p.Deliver(0, append(msg, `,"result":`+smallResult+`}`...), false)
		}
	})
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := p.Call(context.Background(), &Call{Method: "tools/call"}, hello); err != nil {
				b.Error(err)
			}
		}
	})
	close(l.requests)
	wg.Wait()
	p.Close(nil)
}

type piped struct{ requests chan uint32 }

func (l *piped) Send(_ context.Context, m *Message) error {
	l.requests <- m.Exchange()
	m.Free()
	return nil
}

func (l *piped) Cancel(uint32) bool { return false }
