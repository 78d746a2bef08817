package host_test

import (
	"errors"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
)

// An Authorization header that the user has written is the login. When the server
// does not take it, nothing else is tried: nobody is asked, and no authorization
// server is called.
func TestWrittenAuthorization(t *testing.T) {
	o := newFakeAS(t)
	w := newProtectedServer(t, o)
	h, v := signingIn(t)
	for _, name := range []string{"Authorization", "authorization"} {
		entry := w.entry("protectedServer")
		entry.Auth, entry.Headers = config.Auth{}, map[string]string{name: "Bearer wrong"}
		if _, err := h.Connect(t.Context(), entry); !errors.Is(err, host.ErrAuthRequired) {
			t.Errorf("connecting ended with %v", err)
		}
	}
	if pages := v.saw("protectedServer"); len(pages) != 0 || len(o.log) != 0 {
		t.Errorf("the person saw %q, the fakeAS was asked %v", pages, o.log)
	}
}
