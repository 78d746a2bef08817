package telemetry

import (
	"context"
	"encoding/json"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/wharf-mcp/wharf/host/gateway"
	"github.com/wharf-mcp/wharf/host/observe"
)

type discard struct{}

func (discard) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { return nil }
func (discard) Shutdown(context.Context) error                             { return nil }

// BenchmarkObserver is what a call of a client takes more: two spans and their counts.
func BenchmarkObserver(b *testing.B) {
	tracer, err := newTracer(discard{}, "1")
	if err != nil {
		b.Fatal(err)
	}
	defer tracer.Close(context.Background())
	metrics := NewMetrics(func() gateway.Metrics { return gateway.Metrics{} })
	params := json.RawMessage(`{"name":"read","arguments":{"path":"/tmp"},"_meta":{"traceparent":"00-` + clientTrace + `-b7ad6b7169203331-01"}}`)
	for name, o := range map[string]*Observer{"traces": {Tracer: tracer}, "metrics": {Metrics: metrics}, "both": {tracer, metrics}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				ctx, endServed := o.Serve(context.Background(), &observe.Request{Server: "files", Method: "tools/call", Tool: "read", Params: params})
				_, _, endSent := o.Send(ctx, &observe.Request{Server: "files", Method: "tools/call", Tool: "read"})
				endSent(observe.OK)
				endServed(observe.OK)
			}
		})
	}
}
