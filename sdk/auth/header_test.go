package auth

import (
	"strings"
	"testing"
)

func TestCheckHeader(t *testing.T) {
	for _, tt := range []struct{ name, value, want string }{
		{"Authorization", "Bearer abc", ""},
		{"X-Api-Key", "k\tk ÿ", ""},
		{"Hosts", "v", ""},
		{"Teapot", "v", ""},
		{"Mcp", "v", ""},
		{"", "v", "letters, digits"},
		{"A B", "v", "letters, digits"},
		{"A\n", "v", "letters, digits"},
		{"Ключ", "v", "letters, digits"},
		{"hOsT", "v", "the header Host is"},
		{"content-length", "1", "the header Content-… is"},
		{"MCP-session-id", "v", "the header Mcp-… is"},
		{"proxy-authorization", "v", "the header Proxy-… is"},
		{"cookie", "v", "the header Cookie is"},
		{"dpop", "v", "the header DPoP is"},
		{"te", "v", "the header TE is"},
		{"user-agent", "v", "the header User-Agent is"},
		{"X", "", "empty"},
		{"X", "canary\r\nY: Z", "line end"},
		{"X", "canary\x00", "control character"},
		{"X", " canary", "space"},
		{"X", "canary\t", "space"},
	} {
		err := CheckHeader(tt.name, tt.value)
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%q: %v", tt.name, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%q: %v; want %q", tt.name, err, tt.want)
		case err != nil && strings.Contains(err.Error(), "canary"):
			t.Errorf("%q: the value is in the error: %v", tt.name, err)
		}
	}
}
