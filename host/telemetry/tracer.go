package telemetry

import (
	"context"
	"encoding/json"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/wharf-mcp/wharf/host/internal/strictjson"
	"github.com/wharf-mcp/wharf/host/observe"
)

// Tracer makes the spans of a program. Its methods may be called from any goroutine.
type Tracer struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
}

// NewTracer returns a tracer that sends spans where [Variables] say, or nil if they name no receiver.
// version is that of the program. report is told when spans are lost; it may be called from any
// goroutine.
func NewTracer(getenv func(string) string, version string, report func(error)) (*Tracer, error) {
	to, err := readReceiver(getenv)
	if err != nil || to == nil {
		return nil, err
	}
	return newTracer(newExporter(to, report), version)
}

func newTracer(e sdktrace.SpanExporter, version string) (*Tracer, error) {
	// The first wins: the name from the environment before ours.
	about, err := resource.New(context.Background(),
		resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", "wharf"), attribute.String("service.version", version)),
		resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	t := &Tracer{provider: sdktrace.NewTracerProvider(sdktrace.WithBatcher(e), sdktrace.WithResource(about))}
	t.tracer = t.provider.Tracer("github.com/wharf-mcp/wharf", trace.WithInstrumentationVersion(version))
	return t, nil
}

// Close sends the spans that have ended, for as long as ctx lasts.
func (t *Tracer) Close(ctx context.Context) error { return t.provider.Shutdown(ctx) }

// propagated are the members of _meta that carry a trace
// (2026-07-28/basic/index#general-fields, SEP-414).
var propagated = []string{"traceparent", "tracestate", "baggage"}

var propagator = propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})

// join returns a context that continues the trace in the _meta of a client's params. Members that are
// not valid count as none.
func join(ctx context.Context, params json.RawMessage) context.Context {
	carrier := propagation.MapCarrier{}
	r := strictjson.Read(params)
	for name := range r.Object() {
		if string(name) != "_meta" || r.Kind() != '{' {
			continue
		}
		for name := range r.Object() {
			for _, p := range propagated {
				if string(name) == p && r.Kind() == '"' {
					carrier[p] = r.String()
				}
			}
		}
	}
	if r.Err() != nil || len(carrier) == 0 {
		return ctx
	}
	return propagator.Extract(ctx, carrier)
}

// metaOf returns the members of _meta that name the span of a context: an object.
func metaOf(ctx context.Context) json.RawMessage {
	carrier := propagation.MapCarrier{}
	propagator.Inject(ctx, carrier)
	meta, err := json.Marshal(carrier)
	if err != nil {
		return nil // strings always marshal
	}
	return meta
}

// begin begins a span for a request on one side.
func (t *Tracer) begin(ctx context.Context, kind trace.SpanKind, r *observe.Request) (context.Context, trace.Span) {
	name := r.Method
	attributes := append(make([]attribute.KeyValue, 0, 8), attribute.String("mcp.method.name", r.Method))
	add := func(key, value string) {
		if value != "" {
			attributes = append(attributes, attribute.String(key, value))
		}
	}
	switch {
	case r.Tool != "":
		name += " " + r.Tool
		add("gen_ai.tool.name", r.Tool)
		add("gen_ai.operation.name", "execute_tool")
	case r.Prompt != "":
		name += " " + r.Prompt
		add("gen_ai.prompt.name", r.Prompt)
	}
	add("mcp.resource.uri", r.URI)
	add("mcp.protocol.version", r.Revision)
	add("mcp.session.id", r.Session)
	add("jsonrpc.request.id", r.ID)
	add("wharf.server", r.Server)
	return t.tracer.Start(ctx, name, trace.WithSpanKind(kind), trace.WithAttributes(attributes...))
}

// endSpan ends a span with the outcome of its request. A tool that failed is an error of the span too.
// The span has no text of an error: that may hold what only the caller should read.
func endSpan(s trace.Span, o observe.Outcome) {
	if o != observe.OK {
		s.SetAttributes(attribute.String("error.type", string(o)))
		s.SetStatus(codes.Error, "")
	}
	s.End()
}
