package gateway_test

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/gateway"
)

// S9: a principal that sends too much is told to wait, before its body is read and for any method. Each
// message of a batch counts. Others are served.
func TestS9RatesOverHTTP(t *testing.T) {
	s := newSite(t, legacy, func(_ *host.Config, c *gateway.Config) {
		c.CallsPerMinute = 2
		c.Principal = func(r *http.Request) (string, error) {
			if r.Header.Get("User") == "stranger" {
				return "", errors.New("not known")
			}
			return r.Header.Get("User"), nil
		}
	})
	go func() { s.server().greet(legacy) }()
	send := func(who, body string, status int, more ...string) *http.Response {
		t.Helper()
		a := s.post(body, append(more, "User: "+who)...)
		got, _ := io.ReadAll(a.Body)
		if a.StatusCode != status {
			t.Errorf("%s: %d %s; want %d", who, a.StatusCode, got, status)
		}
		return a.Response
	}
	session := send("ann", initialize("1", "2025-03-26", `{}`), 200).Header.Get("Mcp-Session-Id")
	of := []string{"Mcp-Session-Id: " + session}
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	send("ann", "["+strings.Repeat(ping+",", 9)+ping+"]", 429, of...)
	for _, body := range []string{ping, "{", ""} {
		a := send("ann", body, 429, of...)
		if wait, err := strconv.Atoi(a.Header.Get("Retry-After")); err != nil || wait < 1 || wait > 30 {
			t.Errorf("it is told to wait for %q", a.Header.Get("Retry-After"))
		}
	}
	send("bob", ping, 400)
	send("stranger", ping, 401)
	for range 20 {
		send("", ping, 400)
	}
}
