package telemetry

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// resourceSpans encodes the spans of one program: all have the same resource, and the scope of this
// package.
func resourceSpans(spans []sdktrace.ReadOnlySpan) []*tracepb.ResourceSpans {
	if len(spans) == 0 {
		return nil
	}
	scope := &tracepb.ScopeSpans{Scope: scopeOf(spans[0].InstrumentationScope()), Spans: make([]*tracepb.Span, len(spans))}
	for i, s := range spans {
		scope.Spans[i] = encode(s)
	}
	return []*tracepb.ResourceSpans{{
		Resource:   &resourcepb.Resource{Attributes: attributes(spans[0].Resource().Attributes())},
		ScopeSpans: []*tracepb.ScopeSpans{scope},
	}}
}

func scopeOf(s instrumentation.Scope) *commonpb.InstrumentationScope {
	return &commonpb.InstrumentationScope{Name: s.Name, Version: s.Version}
}

func encode(s sdktrace.ReadOnlySpan) *tracepb.Span {
	id, spanID := s.SpanContext().TraceID(), s.SpanContext().SpanID()
	out := &tracepb.Span{
		TraceId: id[:], SpanId: spanID[:],
		TraceState:             s.SpanContext().TraceState().String(),
		Flags:                  uint32(s.SpanContext().TraceFlags()),
		Name:                   s.Name(),
		Kind:                   kinds[s.SpanKind()],
		StartTimeUnixNano:      uint64(s.StartTime().UnixNano()),
		EndTimeUnixNano:        uint64(s.EndTime().UnixNano()),
		Attributes:             attributes(s.Attributes()),
		DroppedAttributesCount: uint32(s.DroppedAttributes()),
		Status:                 &tracepb.Status{Code: statuses[s.Status().Code], Message: s.Status().Description},
	}
	if parent := s.Parent(); parent.SpanID().IsValid() {
		id := parent.SpanID()
		out.ParentSpanId = id[:]
	}
	return out
}

var kinds = map[trace.SpanKind]tracepb.Span_SpanKind{
	trace.SpanKindServer: tracepb.Span_SPAN_KIND_SERVER,
	trace.SpanKindClient: tracepb.Span_SPAN_KIND_CLIENT,
}

var statuses = map[codes.Code]tracepb.Status_StatusCode{
	codes.Ok:    tracepb.Status_STATUS_CODE_OK,
	codes.Error: tracepb.Status_STATUS_CODE_ERROR,
}

// attributes encodes attributes. Those of spans and of the resource are strings, numbers and booleans;
// a list is written as text.
func attributes(set []attribute.KeyValue) []*commonpb.KeyValue {
	out := make([]*commonpb.KeyValue, len(set))
	for i, a := range set {
		value := &commonpb.AnyValue{}
		switch a.Value.Type() {
		case attribute.BOOL:
			value.Value = &commonpb.AnyValue_BoolValue{BoolValue: a.Value.AsBool()}
		case attribute.INT64:
			value.Value = &commonpb.AnyValue_IntValue{IntValue: a.Value.AsInt64()}
		case attribute.FLOAT64:
			value.Value = &commonpb.AnyValue_DoubleValue{DoubleValue: a.Value.AsFloat64()}
		default:
			value.Value = &commonpb.AnyValue_StringValue{StringValue: a.Value.String()}
		}
		out[i] = &commonpb.KeyValue{Key: string(a.Key), Value: value}
	}
	return out
}
