package telemetry

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

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

var propagator = propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})

// carrier holds the members of _meta that carry a trace (2026-07-28/basic/index#general-fields, SEP-414). It is a
// [propagation.TextMapCarrier].
type carrier struct{ traceparent, tracestate, baggage string }

var propagated = []string{"traceparent", "tracestate", "baggage"}

// at returns where a member is kept, or nil for any other.
func (c *carrier) at(name string) *string {
	switch name {
	case "traceparent":
		return &c.traceparent
	case "tracestate":
		return &c.tracestate
	case "baggage":
		return &c.baggage
	}
	return nil
}

func (c *carrier) Get(name string) string {
	if member := c.at(name); member != nil {
		return *member
	}
	return ""
}

func (c *carrier) Set(name, value string) {
	if member := c.at(name); member != nil {
		*member = value
	}
}

func (*carrier) Keys() []string { return propagated }

// join returns a context that continues the trace in the _meta of a client's params. Members that are
// not valid count as none.
func join(ctx context.Context, params json.RawMessage) context.Context {
	var c carrier
	r := strictjson.Read(params)
	for name := range r.Object() {
		if string(name) != "_meta" || r.Kind() != '{' {
			continue
		}
		for name := range r.Object() {
			if member := c.at(string(name)); member != nil && r.Kind() == '"' {
				*member = r.String()
			}
		}
	}
	if r.Err() != nil || c == (carrier{}) {
		return ctx
	}
	return propagator.Extract(ctx, &c)
}

// metaOf returns the members of _meta that name the span of a context: an object.
func metaOf(ctx context.Context) json.RawMessage {
	var c carrier
	propagator.Inject(ctx, &c)
	meta := append(make([]byte, 0, 96), '{')
	for _, name := range propagated {
		if value := c.Get(name); value != "" {
			if len(meta) > 1 {
				meta = append(meta, ',')
			}
			meta = strictjson.AppendString(append(strictjson.AppendString(meta, name), ':'), value)
		}
	}
	return append(meta, '}')
}

// ofKind are the options of spans, by their kinds. They are made once, since each costs an allocation.
var ofKind = map[trace.SpanKind][]trace.SpanStartOption{
	trace.SpanKindServer: {trace.WithSpanKind(trace.SpanKindServer)},
	trace.SpanKindClient: {trace.WithSpanKind(trace.SpanKindClient)},
}

// begin begins a span for a request on one side.
func (t *Tracer) begin(ctx context.Context, kind trace.SpanKind, r *observe.Request) (context.Context, trace.Span) {
	name := r.Method
	switch {
	case r.Tool != "":
		name += " " + r.Tool
	case r.Prompt != "":
		name += " " + r.Prompt
	}
	ctx, span := t.tracer.Start(ctx, name, ofKind[kind]...)
	if span.IsRecording() {
		describe(span, r) // afterwards: options would be copied once more
	}
	return ctx, span
}

// lists are lists of attributes, for describe.
var lists = sync.Pool{New: func() any { return new([8]attribute.KeyValue) }}

// describe sets the attributes of a span, which copies them.
func describe(span trace.Span, r *observe.Request) {
	list := lists.Get().(*[8]attribute.KeyValue)
	attributes := append(list[:0], attribute.String("mcp.method.name", r.Method))
	add := func(key, value string) {
		if value != "" {
			attributes = append(attributes, attribute.String(key, value))
		}
	}
	switch {
	case r.Tool != "":
		add("gen_ai.tool.name", r.Tool)
		add("gen_ai.operation.name", "execute_tool")
	case r.Prompt != "":
		add("gen_ai.prompt.name", r.Prompt)
	}
	add("mcp.resource.uri", r.URI)
	add("mcp.protocol.version", r.Revision)
	add("mcp.session.id", r.Session)
	add("jsonrpc.request.id", r.ID)
	add("wharf.server", r.Server)
	span.SetAttributes(attributes...)
	clear(list[:]) // it would hold the texts
	lists.Put(list)
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
