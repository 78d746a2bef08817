package gateway_test

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/gateway"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/observe"
	"github.com/wharf-mcp/wharf/host/telemetry"
	"github.com/wharf-mcp/wharf/internal/otlptest"
)

// newTelemetry returns an observer of a program that sends its traces to r.
func newTelemetry(t *testing.T, r *otlptest.Receiver) *telemetry.Observer {
	t.Helper()
	tracer, err := telemetry.NewTracer(func(name string) string {
		if name == "OTEL_EXPORTER_OTLP_ENDPOINT" {
			return r.URL
		}
		return ""
	}, "1", func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tracer.Close(context.Background()) })
	return &telemetry.Observer{Tracer: tracer}
}

// TestOneTrace: the spans of the client, of both sides of the gateway and of the server are one trace, each
// below the one before, in each era and across them. What the gateway sends has its own span and what else
// the client had in its _meta.
func TestOneTrace(t *testing.T) {
	for _, c := range []struct{ name, client, server string }{
		{"legacy", legacy, legacy}, {"modern", modern, modern}, {"modern client", modern, legacy}, {"legacy client", legacy, modern},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := otlptest.New(t)
			client, gate, server := newTelemetry(t, r), newTelemetry(t, r), newTelemetry(t, r)
			s := newScene(t, c.server, func(h *host.Config, _ *gateway.Config) { h.Observer = gate })
			peer := s.client()
			about := &observe.Request{Method: mcp.MethodCallTool, Tool: "t"}
			_, meta, endClient := client.Send(t.Context(), about)
			inner := `"x/y":[1.0],` + strings.Trim(string(meta), "{}")
			params := `"_meta":{` + inner + `}`
			if c.client == modern {
				params = modernMeta(`{}`, ","+inner)
			} else {
				peer.send(initialize("0", legacy, `{}`))
			}
			call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t",` + params + `}}`
			if c.client == modern {
				peer.send(call) // starts the server
			}
			srv := s.server()
			srv.greet(c.server)
			if c.client == legacy {
				peer.read()
				peer.send(initialized, call)
			}
			serveTraced(t, srv, server, about)
			if answer := peer.read(); !strings.Contains(answer, `"content":[]`) {
				t.Fatal(answer)
			}
			endClient(observe.OK)
			for _, o := range []*telemetry.Observer{client, gate, server} {
				o.Tracer.Close(t.Context())
			}
			checkChain(t, r.Spans())
		})
	}
}

// serveTraced answers a call of a tool as a server that makes a span of it.
func serveTraced(t *testing.T, srv *end, o *telemetry.Observer, about *observe.Request) {
	t.Helper()
	var asked struct {
		Params json.RawMessage
	}
	line := srv.read()
	for !strings.Contains(line, mcp.MethodCallTool) {
		line = srv.read() // the gateway listens for changes
	}
	if err := json.Unmarshal([]byte(line), &asked); err != nil || !strings.Contains(line, `"x/y":[1.0]`) {
		t.Fatal(line, err)
	}
	_, end := o.Serve(t.Context(), &observe.Request{Method: about.Method, Tool: about.Tool, Params: asked.Params})
	end(observe.OK)
	id := regexp.MustCompile(`"id":(\d+)`).FindStringSubmatch(line)[1]
	srv.send(`{"jsonrpc":"2.0","id":` + id + `,"result":{"content":[]}}`)
}

// checkChain checks that the spans of calls are one chain of four.
func checkChain(t *testing.T, all []otlptest.Span) {
	t.Helper()
	parent, trace := "", ""
	for _, kind := range []tracepb.Span_SpanKind{
		tracepb.Span_SPAN_KIND_CLIENT, tracepb.Span_SPAN_KIND_SERVER, tracepb.Span_SPAN_KIND_CLIENT, tracepb.Span_SPAN_KIND_SERVER,
	} {
		found := 0
		next := ""
		for _, s := range all {
			if s.Name == "tools/call t" && s.Kind == kind && string(s.ParentSpanId) == parent && (trace == "" || trace == string(s.TraceId)) {
				found++
				next, trace = string(s.SpanId), string(s.TraceId)
			}
		}
		if found != 1 {
			t.Fatalf("%d spans %v below %x", found, kind, parent)
		}
		parent = next
	}
}
