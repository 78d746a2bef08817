package main

import (
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/internal/otlptest"
)

// TestServeMetrics: Prometheus reads with the token how many calls there were, a supervisor asks without
// one, and the receiver of traces gets the span of the call in the client's trace.
func TestServeMetrics(t *testing.T) {
	t.Parallel()
	receiver := otlptest.New(t)
	p := start(t, (*exec.Cmd).StdoutPipe, "env", "OTEL_EXPORTER_OTLP_ENDPOINT="+receiver.URL, "OTEL_SERVICE_NAME=gate", "wharf", "serve", "--http", "0", "--metrics")
	var list []served
	if line := p.await("demo"); json.Unmarshal([]byte(line), &list) != nil || len(list) != 2 {
		t.Fatal(line)
	}
	token, err := os.ReadFile(list[1].Token)
	if err != nil {
		t.Fatal(err)
	}
	base := strings.TrimSuffix(list[1].URL, "/mcp/demo")
	ask := func(method, path, body string, status int) string {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if path != "/health" {
			r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
		}
		for name, value := range map[string]string{
			"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
			"Mcp-Protocol-Version": mcp.LatestModern, "Mcp-Method": mcp.MethodCallTool, "Mcp-Name": "add",
		} {
			r.Header.Set(name, value)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != status {
			t.Fatalf("%s: %d %s %v", path, answer.StatusCode, text, err)
		}
		return string(text)
	}
	ask("GET", "/health", "", http.StatusOK)
	ask("POST", "/mcp/demo", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":2},"_meta":{`+
		`"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","io.modelcontextprotocol/protocolVersion":"`+mcp.LatestModern+
		`","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`, http.StatusOK)
	text := ask("GET", "/metrics", "", http.StatusOK)
	for _, line := range []string{
		`wharf_requests_total{method="tools/call",outcome="ok",server="demo",side="client",tool="add"} 1`,
		`wharf_requests_total{method="tools/call",outcome="ok",server="demo",side="server",tool="add"} 1`,
		`wharf_server_connected{server="demo"} 1`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("missing: %s", line)
		}
	}
	p.interrupt()
	p.wantExit(exit.CodeInterrupted)
	ours := 0
	for _, s := range receiver.Spans() {
		if hex.EncodeToString(s.TraceId) == "0af7651916cd43dd8448eb211c80319c" && s.Service == "gate" && s.Name == "tools/call add" {
			ours++
		}
	}
	if ours != 2 {
		t.Errorf("%d spans of the call; want those of both sides", ours)
	}
	if t.Failed() {
		t.Log(text)
	}
}
