package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/wharf-mcp/wharf/internal/testenv"
)

// TestMain runs the tests with a cache that is not the user's, so that a plugin is
// compiled once, and fails when goroutines are left behind.
func TestMain(m *testing.M) {
	os.Setenv("XDG_CACHE_HOME", testenv.CodeDir())
	goleak.VerifyTestMain(m)
}

// TestScenarios plays scenarios against a server of the official Go SDK, and
// compares what it was asked for.
func TestScenarios(t *testing.T) {
	calls := `{"toolCalls":[{"name":"add_numbers","arguments":{"a":1,"b":2.50}}]}`
	tests := []struct {
		scenario string
		context  string
		want     []string // sorted, the handshake left out
	}{
		{"initialize", "", []string{"tools/list"}},
		{"sep-of-tomorrow", "", []string{"tools/list"}},
		{"tools_call", "", []string{`tools/call add_numbers {"a":5,"b":3}`, "tools/list"}},
		{"http-custom-headers", calls, []string{`tools/call add_numbers {"a":1,"b":2.50}`, "tools/list"}},
		{"http-standard-headers", "", []string{
			"prompts/get greeting",
			"prompts/list",
			"resources/list",
			"resources/read file:///a%20b.txt",
			"resources/read https://example.com/c?d=1",
			"tools/call add_numbers {}",
			"tools/call json_schema_2020_12_tool {}",
			"tools/call json_schema_echo {}",
			"tools/list",
		}},
		{"json-schema-2020-12-preservation", "", []string{
			`tools/call json_schema_echo {"schema":` + schema + `}`,
			"tools/list",
		}},
		{"sse-retry", "", nil},           // the server has no such tool
		{"http-custom-headers", "", nil}, // the suite dictates no calls
	}
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		for _, test := range tests {
			t.Run(revision+"/"+test.scenario, func(t *testing.T) {
				b := &book{}
				err := play(t, newServer(b), test.scenario, revision, test.context)
				if (err != nil) != (test.want == nil) {
					t.Fatalf("error %v", err)
				}
				if got := b.sorted(); test.want != nil && !slices.Equal(got, test.want) {
					t.Errorf("the server was asked for\n%s\nwant\n%s",
						strings.Join(got, "\n"), strings.Join(test.want, "\n"))
				}
			})
		}
	}
}

func TestElicitation(t *testing.T) {
	const want = `elicited accept name="Ann" size=<nil>`
	b := &book{}
	s := newServer(b)
	s.AddTool(&mcp.Tool{Name: "test_client_elicitation_defaults", InputSchema: anyObject}, ask(b))
	if err := play(t, s, "elicitation-sep1034-client-defaults", "2025-11-25", ""); err != nil {
		t.Fatal(err)
	}
	if got := b.sorted(); !slices.Contains(got, want) {
		t.Errorf("the server saw\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
}

// play runs the program against a server, which speaks the modern era where it
// keeps no sessions. Whatever comes of it, the connection must be of the
// revision that the run is about.
func play(t *testing.T, s *mcp.Server, scenario, revision, context string) error {
	t.Helper()
	site := httptest.NewServer(mcp.NewStreamableHTTPHandler(
		func(*http.Request) *mcp.Server { return s },
		&mcp.StreamableHTTPOptions{Stateless: revision == "2026-07-28"}))
	defer site.Close()
	env := map[string]string{
		"MCP_CONFORMANCE_SCENARIO":         scenario,
		"MCP_CONFORMANCE_PROTOCOL_VERSION": revision,
		"MCP_CONFORMANCE_CONTEXT":          context,
	}
	var out strings.Builder
	err := run(t.Context(), []string{site.URL}, func(name string) string { return env[name] }, &out)
	if !strings.Contains(out.String(), "by http, revision "+revision) {
		t.Errorf("the program said\n%s\nand nothing of revision %s", &out, revision)
	}
	return err
}
