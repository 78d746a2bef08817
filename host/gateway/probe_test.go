package gateway_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/gateway"
)

// TestProbes: a supervisor needs no token for /health and /ready and learns nothing else there;
// /metrics needs one. All refuse pages of elsewhere and names that are not ours.
func TestProbes(t *testing.T) {
	s := newSite(t, legacy, func(_ *host.Config, c *gateway.Config) {
		c.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "counts") })
		c.Principal = func(r *http.Request) (string, error) {
			switch r.Header.Get("Authorization") {
			case "Bearer good":
				return "", nil
			case "Bearer another's":
				return "ann", nil
			}
			return "", errors.New("no token")
		}
	})
	base := strings.TrimSuffix(s.url, "/mcp/files")
	ask := func(method, path string, status int, body string, headers ...string) {
		t.Helper()
		s.url = base + path
		a := s.do(t.Context(), method, "", headers...)
		got, _ := io.ReadAll(a.Body)
		if a.StatusCode != status || body != "" && string(got) != body {
			t.Errorf("%s %s %q: %d %q", method, path, headers, a.StatusCode, got)
		}
	}
	for _, path := range []string{"/health", "/ready"} {
		ask("GET", path, 200, "")
		ask("HEAD", path, 200, "")
		ask("POST", path, 401, "")
		ask("GET", path, 403, "", "Host: evil.example")
		ask("GET", path, 403, "", "Origin: https://evil.example")
	}
	ask("GET", "/metrics", 401, "")
	ask("GET", "/metrics", 200, "counts", "Authorization: Bearer good")
	ask("GET", "/metrics", 404, "", "Authorization: Bearer another's") // counts are of all principals
	ask("POST", "/metrics", 404, "", "Authorization: Bearer good")
	ask("GET", "/metrics", 403, "", "Authorization: Bearer good", "Host: evil.example")
	s.gateway.Close()
	ask("GET", "/health", 200, "")
	ask("GET", "/ready", 503, "")
}
