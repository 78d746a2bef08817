package telemetry

import (
	"context"
	"encoding/json"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/wharf-mcp/wharf/host/observe"
)

// Observer makes spans and metrics of requests. Either may be nil.
type Observer struct {
	Tracer  *Tracer
	Metrics *Metrics
}

// Serve implements [observe.Observer].
func (o *Observer) Serve(ctx context.Context, r *observe.Request) (context.Context, func(observe.Outcome)) {
	if o.Tracer != nil {
		ctx = join(ctx, r.Params)
	}
	return o.begin(ctx, trace.SpanKindServer, r)
}

// Send implements [observe.Observer].
func (o *Observer) Send(ctx context.Context, r *observe.Request) (context.Context, json.RawMessage, func(observe.Outcome)) {
	ctx, end := o.begin(ctx, trace.SpanKindClient, r)
	if o.Tracer == nil {
		return ctx, nil, end
	}
	return ctx, metaOf(ctx), end
}

func (o *Observer) begin(ctx context.Context, kind trace.SpanKind, r *observe.Request) (context.Context, func(observe.Outcome)) {
	began := time.Now()
	var span trace.Span
	if o.Tracer != nil {
		ctx, span = o.Tracer.begin(ctx, kind, r)
	}
	return ctx, func(outcome observe.Outcome) {
		if span != nil {
			endSpan(span, outcome)
		}
		if o.Metrics != nil {
			o.Metrics.add(kind, r, outcome, time.Since(began))
		}
	}
}
