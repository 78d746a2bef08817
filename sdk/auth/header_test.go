package auth

import (
	"strings"
	"testing"
)

func TestCheckHeader(t *testing.T) {
	for _, tt := range []struct{ name, value, want string }{
		{"Authorization", "Bearer abc", ""},
		{"X-Api-Key", "k\tk ÿ", ""},
		{"Cookie", "a=b", ""},
		{"Proxy-Authorization", "Bearer abc", ""},
		{"", "v", "letters, digits"},
		{"A B", "v", "letters, digits"},
		{"A\n", "v", "letters, digits"},
		{"Ключ", "v", "letters, digits"},
		{"hOsT", "v", "the header Host"},
		{"content-length", "1", "the header Content-Length"},
		{"MCP-session-id", "v", "the header Mcp-Session-Id"},
		{"mcp-PARAM-x", "v", "Mcp-Param-"},
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
