package host_test

import (
	"errors"
	"net/http"
	"slices"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/internal/oauthtest"
)

// An Authorization header that the user has written is the login, and goes with each
// message. When the server does not take it, nothing else is tried: the person is not
// asked, and no authorization server is called.
func TestWrittenAuthorization(t *testing.T) {
	o := oauthtest.New(t.Cleanup)
	w := newProtectedServer(t, o)
	w.Refuse = func(token string, _ *http.Request) (int, string) {
		if token == "good" {
			return 0, ""
		}
		return http.StatusUnauthorized, w.Challenge("")
	}
	h, v := signingIn(t)
	for _, name := range []string{"Authorization", "authorization"} {
		entry := w.entry("protectedServer")
		entry.Auth, entry.Headers = config.Auth{}, map[string]string{name: "Bearer wrong"}
		if _, err := h.Connect(t.Context(), entry); !errors.Is(err, host.ErrAuthRequired) {
			t.Errorf("connecting ended with %v", err)
		}
		refused := len(w.Tokens())
		entry.Headers = map[string]string{name: "Bearer good"}
		say(t, connect(t, h, entry))
		taken := w.Tokens()[refused:]
		if len(taken) < 2 || slices.ContainsFunc(taken, func(given string) bool { return given != "Bearer good" }) {
			t.Errorf("the messages came with %q", taken)
		}
	}
	if pages := v.saw("protectedServer"); len(pages) != 0 || len(o.Requests("")) != 0 {
		t.Errorf("the person saw %q, the fakeAS was asked %v", pages, o.Requests(""))
	}
}

// An Authorization in which a variable was empty is none: it is not sent, and the server
// is signed in to as if it was not written.
func TestEmptyAuthorization(t *testing.T) {
	o := oauthtest.New(t.Cleanup)
	w := newProtectedServer(t, o)
	h, v := signingIn(t)
	for _, value := range []string{"", " ", "Bearer ", "bearer", "Token \t"} {
		entry := w.entry("protectedServer")
		entry.Auth, entry.Headers = config.Auth{}, map[string]string{"authorization": value}
		before := len(w.Tokens())
		say(t, connect(t, h, entry))
		taken := w.Tokens()[before:]
		if last := taken[len(taken)-1]; last == "" || last == value {
			t.Errorf("%q: the messages came with %q", value, taken)
		}
	}
	if pages := v.saw("protectedServer"); len(pages) != 1 {
		t.Errorf("the person saw %q, want one page for all", pages)
	}
}
