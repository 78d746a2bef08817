// Package otlptest is a receiver of traces for tests. It reads what a program sends by OTLP over HTTP with
// the types of the service itself.
package otlptest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Receiver keeps all spans that are sent to it.
type Receiver struct {
	URL string // the base, for OTEL_EXPORTER_OTLP_ENDPOINT

	mu       sync.Mutex
	requests []*http.Request
	batches  []*tracepb.ResourceSpans
	status   int
}

// New returns a receiver on the loopback interface, which ends with the test.
func New(t testing.TB) *Receiver {
	r := &Receiver{status: http.StatusOK}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		batch := &collectorpb.ExportTraceServiceRequest{}
		if err == nil {
			err = proto.UnmarshalOptions{DiscardUnknown: false}.Unmarshal(body, batch)
		}
		if err != nil || len(batch.ProtoReflect().GetUnknown()) > 0 {
			t.Errorf("the receiver cannot read %d bytes: %v", len(body), err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.requests = append(r.requests, request)
		if r.status == http.StatusOK {
			r.batches = append(r.batches, batch.ResourceSpans...)
		}
		w.WriteHeader(r.status)
	}))
	t.Cleanup(s.Close)
	r.URL = s.URL
	return r
}

// Answer makes the receiver answer with a status. It keeps nothing of what it does not answer with 200.
func (r *Receiver) Answer(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status = status
}

// Requests returns the requests that have come. Their bodies are read.
func (r *Receiver) Requests() []*http.Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]*http.Request(nil), r.requests...)
}

// Span is a span, with its attributes as a map.
type Span struct {
	*tracepb.Span
	Attributes map[string]string
	Service    string
}

// Spans returns the spans that have come.
func (r *Receiver) Spans() (all []Span) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range r.batches {
		service := texts(b.Resource.Attributes)["service.name"]
		for _, scope := range b.ScopeSpans {
			for _, s := range scope.Spans {
				all = append(all, Span{s, texts(s.Attributes), service})
			}
		}
	}
	return all
}

func texts(attributes []*commonpb.KeyValue) map[string]string {
	m := make(map[string]string)
	for _, a := range attributes {
		m[a.Key] = a.Value.GetStringValue()
	}
	return m
}
