package telemetry

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// exporter sends spans to a receiver by OTLP over HTTP, in protobuf. The exporter of OpenTelemetry does
// the same and brings gRPC, which is 5.8 MB of program (RATIONALE.md).
//
// A batch that cannot be sent is lost. The first loss, and the first after a success, are reported.
type exporter struct {
	to      *receiver
	client  *http.Client
	report  func(error)
	failing atomic.Bool
}

func newExporter(to *receiver, report func(error)) *exporter {
	return &exporter{
		to: to, report: report,
		client: &http.Client{Timeout: to.timeout, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // the headers may hold a key, which is for this address alone
		}},
	}
}

// ExportSpans implements [sdktrace.SpanExporter].
func (e *exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	// TracesData is on the wire what the service calls ExportTraceServiceRequest, without gRPC.
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: resourceSpans(spans)})
	if err == nil {
		err = e.post(ctx, body)
	}
	if err == nil {
		e.failing.Store(false)
	} else if !e.failing.Swap(true) {
		e.report(fmt.Errorf("traces: %d spans were not sent to %s: %w", len(spans), e.to.url.Redacted(), err))
	}
	return nil // it is reported, and the SDK would print it as well
}

func (e *exporter) post(ctx context.Context, body []byte) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.to.url.String(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	for name, values := range e.to.headers {
		r.Header[name] = values
	}
	r.Header.Set("Content-Type", "application/x-protobuf")
	response, err := e.client.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10)) // so that the connection can be used again
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("the receiver answered %s", response.Status)
	}
	return nil
}

// Shutdown implements [sdktrace.SpanExporter].
func (e *exporter) Shutdown(context.Context) error {
	e.client.CloseIdleConnections()
	return nil
}
