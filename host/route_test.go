package host

import (
	"slices"
	"testing"
)

func TestRoutes(t *testing.T) {
	http, sse := transportHTTP, transportSSE
	tests := []struct {
		name  string
		entry Server
		found string // before
		want  []string
	}{
		{"command", Server{Command: "x"}, "", []string{"stdio"}},
		{"url", Server{URL: "u"}, "", []string{http, sse}},
		{"found http", Server{URL: "u"}, http, []string{http, sse}},
		{"found sse", Server{URL: "u"}, sse, []string{sse, http}},
		{"pinned", Server{URL: "u", Transport: sse}, http, []string{sse}},
		{"plugin", Server{URL: "u", Transport: "pigeon"}, "", []string{"pigeon"}},
		{"sse first", Server{URL: "u", Strategy: "sse-first"}, "", []string{sse, http}},
		{"sse first, found http", Server{URL: "u", Strategy: "sse-first"}, http, []string{http, sse}},
		{"http only", Server{URL: "u", Strategy: "http-only"}, sse, []string{http}},
		{"sse only", Server{URL: "u", Strategy: "sse-only"}, "", []string{sse}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h := &Host{
				config: Config{Plugins: map[string][]byte{"stdio": nil, http: nil, sse: nil}},
				found:  map[string]string{"u": test.found},
			}
			if got := h.routes(test.entry); !slices.Equal(got, test.want) {
				t.Errorf("tries %q, want %q", got, test.want)
			}
		})
	}
}
