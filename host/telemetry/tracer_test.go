package telemetry

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/wharf-mcp/wharf/host/observe"
	"github.com/wharf-mcp/wharf/internal/otlptest"
)

// environment returns a function like os.Getenv.
func environment(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func newTestTracer(t *testing.T, r *otlptest.Receiver, report func(error)) *Tracer {
	t.Helper()
	tracer, err := NewTracer(environment(envEndpoint, r.URL+"/base/", envHeaders, "x-key=a%2Cb"), "1.2.3", report)
	if err != nil {
		t.Fatal(err)
	}
	return tracer
}

const clientTrace = "0af7651916cd43dd8448eb211c80319c"

// TestTracerJoinsTheClientsTrace: a span of the client's trace for the request, and one below it for the
// request to the server, which the server is told.
func TestTracerJoinsTheClientsTrace(t *testing.T) {
	r := otlptest.New(t)
	o := &Observer{Tracer: newTestTracer(t, r, func(err error) { t.Error(err) })}
	ctx, endServed := o.Serve(t.Context(), &observe.Request{
		Server: "files", Method: "tools/call", Tool: "read", ID: "7", Session: "s", Revision: "2025-11-25",
		Params: json.RawMessage(`{"name":"read","_meta":{"traceparent":"00-` + clientTrace + `-b7ad6b7169203331-01","tracestate":"vendor=1","x":{"traceparent":"no"}}}`),
	})
	_, meta, endSent := o.Send(ctx, &observe.Request{Server: "files", Method: "tools/call", Tool: "read"})
	endSent(observe.ToolError)
	endServed(observe.OK)
	if err := o.Tracer.Close(t.Context()); err != nil {
		t.Fatal(err)
	}

	spans := r.Spans()
	if len(spans) != 2 {
		t.Fatalf("%d spans", len(spans))
	}
	sent, served := spans[0], spans[1]
	if hex.EncodeToString(served.TraceId) != clientTrace || hex.EncodeToString(sent.TraceId) != clientTrace {
		t.Errorf("traces %x and %x", served.TraceId, sent.TraceId)
	}
	if hex.EncodeToString(served.ParentSpanId) != "b7ad6b7169203331" || string(sent.ParentSpanId) != string(served.SpanId) {
		t.Errorf("the parents are %x and %x", served.ParentSpanId, sent.ParentSpanId)
	}
	var told struct{ Traceparent, Tracestate string }
	if err := json.Unmarshal(meta, &told); err != nil || told.Traceparent != "00-"+clientTrace+"-"+hex.EncodeToString(sent.SpanId)+"-01" || told.Tracestate != "vendor=1" {
		t.Errorf("the server is told %s", meta)
	}
	if served.Name != "tools/call read" || served.Kind.String() != "SPAN_KIND_SERVER" || sent.Kind.String() != "SPAN_KIND_CLIENT" || served.Service != "wharf" {
		t.Errorf("%v", served)
	}
	for key, want := range map[string]string{
		"mcp.method.name": "tools/call", "gen_ai.tool.name": "read", "mcp.session.id": "s", "mcp.protocol.version": "2025-11-25",
		"jsonrpc.request.id": "7", "wharf.server": "files", "error.type": "",
	} {
		if served.Attributes[key] != want {
			t.Errorf("%s is %q; want %q", key, served.Attributes[key], want)
		}
	}
	if sent.Attributes["error.type"] != "tool_error" || sent.Status.Code.String() != "STATUS_CODE_ERROR" || served.Status.Code.String() != "STATUS_CODE_UNSET" {
		t.Errorf("outcomes %v and %v", sent.Status, served.Status)
	}
	first := r.Requests()[0]
	if first.URL.Path != "/base/v1/traces" || first.Header.Get("X-Key") != "a,b" || first.Header.Get("Content-Type") != "application/x-protobuf" {
		t.Errorf("%s %v", first.URL, first.Header)
	}
}

// TestTracerOfBadParents: what is no trace begins a new one.
func TestTracerOfBadParents(t *testing.T) {
	for _, params := range []string{
		``, `{}`, `{"_meta":5}`, `{"_meta":{}}`, `{"_meta":{"traceparent":5}}`, `{"_meta":{"traceparent":"00-zz"}}`,
		`{"_meta":{"traceparent":"00-00000000000000000000000000000000-b7ad6b7169203331-01"}}`, `{"_meta":{"traceparent":`, `[`,
		`{"_meta":{"traceparent":"` + strings.Repeat("0", 1<<16) + `","tracestate":"` + strings.Repeat("a=b,", 1<<14) + `","baggage":"` + strings.Repeat("a=b,", 1<<14) + `"}}`,
	} {
		r := otlptest.New(t)
		o := &Observer{Tracer: newTestTracer(t, r, func(err error) { t.Error(err) })}
		_, end := o.Serve(t.Context(), &observe.Request{Method: "ping", Params: json.RawMessage(params)})
		end(observe.OK)
		o.Tracer.Close(t.Context())
		spans := r.Spans()
		if len(spans) != 1 || len(spans[0].ParentSpanId) != 0 || len(spans[0].TraceState) > 1<<10 {
			t.Errorf("%.60s: %v", params, spans)
		}
	}
}

// holding is a receiver that takes nothing until it is closed.
type holding chan struct{}

func (h holding) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { <-h; return nil }
func (h holding) Shutdown(context.Context) error                             { return nil }

// A receiver that hangs holds up no request, however many there are.
func TestReceiverThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		receiver := make(holding)
		tracer, err := newTracer(receiver, "1.2.3")
		if err != nil {
			t.Fatal(err)
		}
		o, began := &Observer{Tracer: tracer}, time.Now()
		for range 10_000 {
			_, _, end := o.Send(t.Context(), &observe.Request{Method: "ping"})
			end(observe.OK)
		}
		if waited := time.Since(began); waited > 0 {
			t.Errorf("the requests took %v", waited)
		}
		close(receiver)
		tracer.Close(t.Context())
	})
}

// TestLostSpansAreReportedOnce: once for a receiver that fails, and again after it has worked.
func TestLostSpansAreReportedOnce(t *testing.T) {
	r := otlptest.New(t)
	var lost []string
	e := newExporter(mustReceiver(t, environment(envTracesEndpoint, strings.Replace(r.URL, "//", "//me:pass@", 1)+"/x")), func(err error) { lost = append(lost, err.Error()) })
	send := func(status int) {
		r.Answer(status)
		if err := e.ExportSpans(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, status := range []int{503, 503, 200, 302, 400} {
		send(status)
	}
	if len(lost) != 2 || !strings.Contains(lost[0], "503") || !strings.Contains(lost[1], "302") || strings.Contains(lost[0], "pass") {
		t.Errorf("%q", lost)
	}
	if got := r.Requests()[0].URL.Path; got != "/x" {
		t.Errorf("the path is %s", got)
	}
}

// A receiver that takes connections and says nothing is given up after the time for it, and reported once.
func TestSilentReceiverIsReportedOnce(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // the kernel takes the connections
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var lost []string
	e := newExporter(mustReceiver(t, environment(envTracesEndpoint, "http://"+l.Addr().String(), envTimeout, "20")), func(err error) { lost = append(lost, err.Error()) })
	for range 3 {
		if err := e.ExportSpans(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
	}
	if len(lost) != 1 || !strings.Contains(lost[0], "Client.Timeout") {
		t.Errorf("%q", lost)
	}
}

func mustReceiver(t *testing.T, getenv func(string) string) *receiver {
	t.Helper()
	to, err := readReceiver(getenv)
	if err != nil || to == nil {
		t.Fatal(to, err)
	}
	return to
}

func TestReceiver(t *testing.T) {
	const at = "http://localhost:4318"
	for _, c := range []struct {
		env  []string
		want string // the URL, "" for none, or a part of the error
	}{
		{nil, ""},
		{[]string{envEndpoint, at}, at + "/v1/traces"},
		{[]string{envEndpoint, at + "/a/"}, at + "/a/v1/traces"},
		{[]string{envEndpoint, at, envTracesEndpoint, "https://x/y"}, "https://x/y"},
		{[]string{envEndpoint, at, envDisabled, "True"}, ""},
		{[]string{envEndpoint, at, envExporter, "none"}, ""},
		{[]string{envEndpoint, at, envExporter, "zipkin"}, "expected otlp or none"},
		{[]string{envEndpoint, at, envProtocol, "grpc"}, "only http/protobuf"},
		{[]string{envEndpoint, at, envProtocol, "grpc", envTracesProtocol, "http/protobuf"}, at + "/v1/traces"},
		{[]string{envEndpoint, "localhost:4318"}, envEndpoint + " is not a URL"},
		{[]string{envTracesEndpoint, "unix:///x"}, envTracesEndpoint + " is not a URL"},
		{[]string{envEndpoint, at, envHeaders, "key"}, `the header "key" is not written as name=value`},
		{[]string{envEndpoint, at, envHeaders, "a=%zz"}, `the header "a"`},
		{[]string{envEndpoint, at, envHeaders, "a=b%0d%0ac: d"}, `the header "a"`},
		{[]string{envEndpoint, at, envTimeout, "soon"}, "expected milliseconds"},
	} {
		to, err := readReceiver(environment(c.env...))
		got := ""
		switch {
		case err != nil:
			got = err.Error()
		case to != nil:
			got = to.url.String()
		}
		if got != c.want && (err == nil || !strings.Contains(got, c.want)) {
			t.Errorf("%q: %q; want %q", c.env, got, c.want)
		}
	}
}

// FuzzHeaders: a header that is read has a name, and no line break in its value.
func FuzzHeaders(f *testing.F) {
	for _, text := range []string{"", "a=b", "a=b,c=d%2Ce", "=", "a=%0A", "a b=c", ",,", "a=b=c"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		headers, err := readHeaders(text)
		for name, values := range headers {
			if err != nil || name == "" || strings.ContainsAny(values[0], "\r\n") {
				t.Errorf("%q: %q=%q, %v", text, name, values, err)
			}
		}
		_ = http.Header(headers)
	})
}
