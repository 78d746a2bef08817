package telemetry

import (
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/wharf-mcp/wharf/host/gateway"
	"github.com/wharf-mcp/wharf/host/observe"
	"github.com/wharf-mcp/wharf/host/status"
)

// scrape returns what Prometheus reads.
func scrape(m *Metrics) string {
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return w.Body.String()
}

func testMetrics() *Metrics {
	return NewMetrics(func() gateway.Metrics {
		return gateway.Metrics{
			LegacyClients: 2, InFlight: 3, Connections: status.Counts{Connected: 4}, Connected: map[string]bool{"files": true, "web": false},
		}
	})
}

func TestMetrics(t *testing.T) {
	m := testMetrics()
	o := &Observer{Metrics: m}
	_, end := o.Serve(t.Context(), &observe.Request{Server: "files", Method: "tools/call", Tool: "read"})
	end(observe.OK)
	_, meta, end := o.Send(t.Context(), &observe.Request{Server: "files", Method: "tools/call", Tool: "read"})
	end(observe.ToolError)
	if meta != nil {
		t.Errorf("without traces the server is told %s", meta)
	}
	_, end = o.Serve(t.Context(), &observe.Request{Method: "x/secret", URI: "file:///secret", Session: "secret"})
	end(observe.Invalid)
	text := scrape(m)
	for _, line := range []string{
		`wharf_requests_total{method="tools/call",outcome="ok",server="files",side="client",tool="read"} 1`,
		`wharf_requests_total{method="tools/call",outcome="tool_error",server="files",side="server",tool="read"} 1`,
		`wharf_requests_total{method="other",outcome="invalid",server="",side="client",tool=""} 1`,
		`mcp_server_operation_duration_seconds_count{method="tools/call",server="files"} 1`,
		`mcp_client_operation_duration_seconds_count{method="tools/call",server="files"} 1`,
		`wharf_clients_total{era="legacy"} 2`, `wharf_clients_total{era="modern"} 0`,
		`wharf_requests_in_flight 3`, `wharf_connections_total 4`,
		`wharf_server_connected{server="files"} 1`, `wharf_server_connected{server="web"} 0`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("missing: %s", line)
		}
	}
	if strings.Contains(text, "secret") {
		t.Error("a label has what only a client has chosen")
	}
	if t.Failed() {
		t.Log(text)
	}
}

// TestToolLabelsAreBounded: names that no server knows get no label, and neither do more than maxTools.
func TestToolLabelsAreBounded(t *testing.T) {
	m := testMetrics()
	call := func(name string, o observe.Outcome) {
		m.add(trace.SpanKindServer, &observe.Request{Server: "s", Method: "tools/call", Tool: name}, o, time.Millisecond)
	}
	for i := range 3 * maxTools {
		call(fmt.Sprint("guess", i), observe.Invalid)
	}
	for i := range 2 * maxTools {
		call(fmt.Sprint("real", i), observe.OK)
	}
	text := scrape(m)
	if strings.Contains(text, "guess") || strings.Contains(text, `"real1000"`) || !strings.Contains(text, `"real999"`) {
		t.Error("a tool has a label that should have none, or none that should have one")
	}
	if n := strings.Count(text, "\nwharf_requests_total{"); n != maxTools+2 {
		t.Errorf("%d series", n)
	}
}

// TestPromtool: the checker of Prometheus has nothing to say. CI has it.
func TestPromtool(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		if os.Getenv("WHARF_PROMTOOL") != "" {
			t.Fatal(err)
		}
		t.Skip("promtool is not installed")
	}
	m := testMetrics()
	_, end := (&Observer{Metrics: m}).Serve(t.Context(), &observe.Request{Server: "files", Method: "tools/call", Tool: "read"})
	end(observe.OK)
	check := exec.Command(promtool, "check", "metrics")
	check.Stdin = strings.NewReader(scrape(m))
	if out, err := check.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v: %s", err, out)
	}
}
