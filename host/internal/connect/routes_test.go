package connect

import (
	"slices"
	"testing"

	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/internal/modules"
)

func TestRoutes(t *testing.T) {
	http, sse := transportHTTP, transportSSE
	tests := []struct {
		name  string
		entry config.Server
		found string // before
		want  []string
	}{
		{"command", config.Server{Command: "x"}, "", []string{"stdio"}},
		{"url", config.Server{URL: "u"}, "", []string{http, sse}},
		{"found http", config.Server{URL: "u"}, http, []string{http, sse}},
		{"found sse", config.Server{URL: "u"}, sse, []string{sse, http}},
		{"pinned", config.Server{URL: "u", Transport: sse}, http, []string{sse}},
		{"plugin", config.Server{URL: "u", Transport: "pigeon"}, "", []string{"pigeon"}},
		{"sse first", config.Server{URL: "u", Strategy: "sse-first"}, "", []string{sse, http}},
		{"sse first, found http", config.Server{URL: "u", Strategy: "sse-first"}, http, []string{http, sse}},
		{"http only", config.Server{URL: "u", Strategy: "http-only"}, sse, []string{http}},
		{"sse only", config.Server{URL: "u", Strategy: "sse-only"}, "", []string{sse}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m, err := modules.New(t.Context(), modules.Config{Builtin: map[string]func() []byte{"stdio": none, http: none, sse: none}})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			d := New(Config{Modules: m})
			d.found["u"] = test.found
			if got := d.Routes(test.entry); !slices.Equal(got, test.want) {
				t.Errorf("tries %q, want %q", got, test.want)
			}
		})
	}
}
