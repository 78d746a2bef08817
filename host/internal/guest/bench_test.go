package guest

import (
	"bytes"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
)

// nowhere is a stream that takes everything.
type nowhere struct{}

func (nowhere) Write([]byte, bool) {}
func (nowhere) Flush()             {}
func (nowhere) Queued() int        { return 0 }
func (nowhere) Close()             {}

// deskWorld opens nowhere and keeps the sink.
type deskWorld struct {
	fakeWorld
	sink Sink
}

func (w *deskWorld) Open(_ abi.OpenKind, _ *abi.OpenRequest, sink Sink) (Stream, abi.Status, error) {
	w.sink = sink
	return nowhere{}, abi.OK, nil
}

// deaf is a receiver that only counts.
type deaf struct{ *inbox }

func (deaf) Deliver(uint32, []byte, bool) abi.Verdict { return abi.VerdictAnswer }

// desk returns an instance of the stdio plugin with nothing behind it.
func desk(b *testing.B) (*Instance, Sink) {
	inst, err := New(b.Context(), Config{Plugin: "stdio", Module: module(b, stdioPackage)})
	if err != nil {
		b.Fatal(err)
	}
	w := &deskWorld{}
	inst.Open(&abi.Settings{Server: "bench", Grants: inst.Manifest().Grants}, nil, w, deaf{newInbox()})
	w.sink.Opened()
	b.Cleanup(func() { inst.Close(b.Context()) })
	return inst, w.sink
}

// BenchmarkHop is what a message pays for the sandbox, one way: the event, the
// guest, its host calls, and nothing else.
func BenchmarkHop(b *testing.B) {
	for _, size := range []int{200, 10_000, 64_000} {
		line := append(bytes.Repeat([]byte("x"), size-1), '\n')
		b.Run("in/"+unit(size), func(b *testing.B) {
			_, sink := desk(b)
			b.ReportAllocs()
			for b.Loop() {
				sink.Data(line, false)
			}
		})
		b.Run("out/"+unit(size), func(b *testing.B) {
			inst, _ := desk(b)
			m := newLetter(1, strings.Repeat("x", size), nil)
			b.ReportAllocs()
			for b.Loop() {
				if err := inst.Send(b.Context(), m); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("in/400x160B", func(b *testing.B) {
		_, sink := desk(b)
		chunk := bytes.Repeat(append(bytes.Repeat([]byte("x"), 159), '\n'), 400)
		b.ReportAllocs()
		for b.Loop() {
			sink.Data(chunk, false)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/400, "ns/message")
	})
}

func unit(n int) string {
	switch n {
	case 200:
		return "200B"
	case 10_000:
		return "10KB"
	}
	return "64KB"
}
