package guest

import (
	"bytes"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/hostio"
)

// discardStream is a stream that takes everything.
type discardStream struct{}

func (discardStream) Write([]byte, bool) {}
func (discardStream) Flush()             {}
func (discardStream) Queued() int        { return 0 }
func (discardStream) Close()             {}

// benchHost opens nowhere and keeps the sink.
type benchHost struct {
	fakeHost
	sink hostio.Sink
}

func (w *benchHost) Open(_ abi.OpenKind, _ *abi.OpenRequest, sink hostio.Sink) (hostio.Stream, abi.Status, error) {
	w.sink = sink
	return discardStream{}, abi.OK, nil
}

// discardInbox is a receiver that only counts.
type discardInbox struct{ *inbox }

func (discardInbox) Deliver(uint32, []byte, bool) abi.Verdict { return abi.VerdictAnswer }
func (discardInbox) Done(uint32)                              {}

// benchInstance returns an instance of the stdio plugin with nothing behind it.
func benchInstance(b *testing.B) (*Instance, hostio.Sink) {
	return benchInstanceOf(b, Config{Module: module(b, stdioPackage)})
}

func benchInstanceOf(b *testing.B, c Config) (*Instance, hostio.Sink) {
	c.Plugin = "stdio"
	inst, err := New(b.Context(), c)
	if err != nil {
		b.Fatal(err)
	}
	w := &benchHost{}
	inst.Open(&abi.Settings{Server: "bench", Grants: inst.Manifest().Grants}, nil, w, discardInbox{newInbox()})
	w.sink.Opened()
	b.Cleanup(func() { inst.Close(b.Context()) })
	return inst, w.sink
}

// httpBenchInstance returns an instance of the http plugin with nothing behind it, and
// the world that has the sink of the handle opened last.
func httpBenchInstance(b *testing.B) (*Instance, *benchHost) {
	inst, err := New(b.Context(), Config{Plugin: "http", Module: module(b, httpPackage)})
	if err != nil {
		b.Fatal(err)
	}
	w := &benchHost{}
	inst.Open(&abi.Settings{Server: "bench", Grants: inst.Manifest().Grants}, nil, w, discardInbox{newInbox()})
	b.Cleanup(func() { inst.Close(b.Context()) })
	return inst, w
}

// BenchmarkAnswer is what a call over HTTP pays for the sandbox: MESSAGE, and the
// HEAD that has the whole answer with it. The fuel of the two, host prices
// included, is the same on every machine.
func BenchmarkAnswer(b *testing.B) {
	for _, media := range []string{"application/json", "text/event-stream"} {
		b.Run(media, func(b *testing.B) {
			inst, w := httpBenchInstance(b)
			headers := []abi.Pair{{Key: "content-type", Value: media}}
			body := []byte(`data: {"jsonrpc":"2.0","id":1,"result":{}}` + "\n\n")
			m := newTestMessage(1, strings.Repeat("x", 200), nil)
			m.tell(&abi.Facts{
				Kind: abi.Request, ID: "1", Method: "tools/call", Name: "echo", Version: "2026-07-28",
				Headers: []abi.Pair{{Key: "mcp-method", Value: "tools/call"}, {Key: "mcp-name", Value: "echo"}},
			})
			var out, in int64
			b.ReportAllocs()
			for b.Loop() {
				if err := inst.Send(b.Context(), m); err != nil {
					b.Fatal(err)
				}
				out += inst.executor.Used()
				w.sink.Head(200, headers, int64(len(body)), body, true)
				in += inst.executor.Used()
			}
			b.ReportMetric(float64(out)/float64(b.N), "fuel/message")
			b.ReportMetric(float64(in)/float64(b.N), "fuel/head")
		})
	}
}

// BenchmarkHop is what a message pays for the sandbox, one way: the event, the
// guest, its host calls, and nothing else.
func BenchmarkHop(b *testing.B) {
	for _, size := range []int{200, 10_000, 64_000} {
		line := append(bytes.Repeat([]byte("x"), size-1), '\n')
		b.Run("in/"+unit(size), func(b *testing.B) {
			_, sink := benchInstance(b)
			b.ReportAllocs()
			for b.Loop() {
				sink.Data(line, false)
			}
		})
		b.Run("out/"+unit(size), func(b *testing.B) {
			inst, _ := benchInstance(b)
			m := newTestMessage(1, strings.Repeat("x", size), nil)
			b.ReportAllocs()
			for b.Loop() {
				if err := inst.Send(b.Context(), m); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("in/400x160B", func(b *testing.B) {
		_, sink := benchInstance(b)
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
