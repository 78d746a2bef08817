package step_test

import (
	"testing"

	"github.com/wharf-mcp/wharf/abi/step"
)

func TestReserved(t *testing.T) {
	for name, want := range map[string]string{
		"host": "Host", "HOST": "Host", "te": "TE", "dpop": "DPoP", "Content-Type": "Content-", "mcp-session-id": "Mcp-",
		"sec-websocket-key": "Sec-WebSocket-", "Proxy-Authorization": "Proxy-", "content-": "Content-",
		"": "", "Authorization": "", "X-Api-Key": "", "Hosts": "", "Tea": "", "contents": "", "X-Amz-Content-Sha256": "",
	} {
		if got := step.Reserved(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
