package plugintest

import (
	"strings"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/capability/captest"
)

// granted returns a harness without a guest, which grants one thing of each kind.
func granted(t *testing.T) *harness {
	g := &harness{clock: epoch}
	for _, kind := range []abi.OpenKind{abi.OpenProcess, abi.OpenStream, abi.OpenHTTP} {
		g.grants = append(g.grants, abi.Grant{Kind: kind, Name: mainGrant})
	}
	g.table = g.newTable()
	t.Cleanup(g.stop)
	return g
}

// What a host refuses to open, the kit refuses with the same status and reason.
func TestOpensThatAHostRefuses(t *testing.T) {
	header := func(name, value string) []abi.Pair { return []abi.Pair{{Key: name, Value: value}} }
	for _, c := range []struct {
		kind    abi.OpenKind
		request abi.OpenRequest
		status  abi.Status
		says    string
	}{
		{abi.OpenStream, abi.OpenRequest{}, abi.OK, ""},
		{abi.OpenStream, abi.OpenRequest{Grant: "other"}, abi.Denied, "not granted"},
		{99, abi.OpenRequest{}, abi.Unavailable, "this host cannot open that"},
		{abi.OpenStream, abi.OpenRequest{Target: "tcp:other.example:80"}, abi.Malformed, "do not apply"},
		{abi.OpenStream, abi.OpenRequest{Flags: abi.Upgrade}, abi.Malformed, "flags 0x"},
		{abi.OpenProcess, abi.OpenRequest{Headers: header("args", "-rf")}, abi.Malformed, "do not apply"},

		{abi.OpenHTTP, abi.OpenRequest{Method: "POST", Target: "messages?session=1", Headers: header("mcp-session-id", "1")}, abi.OK, ""},
		{abi.OpenHTTP, abi.OpenRequest{}, abi.Malformed, "the method is missing"},
		{abi.OpenHTTP, abi.OpenRequest{Method: "PUT"}, abi.Denied, `"PUT" is not granted`},
		{abi.OpenHTTP, abi.OpenRequest{Method: "POST", Target: "https://other.example/"}, abi.Denied, "https://other.example/ is not granted"},
		{abi.OpenHTTP, abi.OpenRequest{Method: "POST", Target: "/a/%2e%2e/b"}, abi.Malformed, "leads to the folder above"},
		{abi.OpenHTTP, abi.OpenRequest{Method: "GET", Target: "/" + strings.Repeat("a", 9000)}, abi.TooLarge, "its target is 9001 bytes long"},
		{abi.OpenHTTP, abi.OpenRequest{Method: "GET", Headers: header("authorization", "x")}, abi.Denied, "the header authorization is not for plugins"},
		{abi.OpenHTTP, abi.OpenRequest{Method: "GET", Headers: header("accept", "a\nb")}, abi.Malformed, "not a valid header"},
		{abi.OpenHTTP, abi.OpenRequest{Method: "GET", Headers: append(header("Accept", "a"), header("accept", "b")...)}, abi.Malformed, "stands twice"},
		{abi.OpenHTTP, abi.OpenRequest{Method: "GET", Flags: abi.Upgrade, Headers: header("upgrade", "websocket")}, abi.OK, ""},
		{abi.OpenHTTP, abi.OpenRequest{Method: "GET", Flags: abi.Upgrade}, abi.Malformed, "the header upgrade is missing"},
		{abi.OpenHTTP, abi.OpenRequest{Method: "GET", Flags: abi.Upgrade, Headers: append(header("upgrade", "websocket"), header("sec-websocket-key", "eA==")...)}, abi.Denied, "sec-websocket-key is not for plugins"},
	} {
		g := granted(t)
		if c.request.Grant == "" {
			c.request.Grant = mainGrant
		}
		s, status, err := g.Open(c.kind, &c.request, captest.NewRecorder())
		if status != c.status || (s != nil) != (status == abi.OK) {
			t.Errorf("%v %+v: %v, want %v", c.kind, c.request, status, c.status)
		}
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v %+v: %v, want %q", c.kind, c.request, err, c.says)
		}
	}
}

// A host starts one process at a time, and dials no more than sixteen times at once and
// four times a second from then on; so does the kit, on its own clock.
func TestOpensAreLimited(t *testing.T) {
	g := granted(t)
	open := func(kind abi.OpenKind, want abi.Status) (s *stream) {
		t.Helper()
		h, status, err := g.Open(kind, &abi.OpenRequest{Grant: mainGrant}, captest.NewRecorder())
		if status != want {
			t.Errorf("%v: %v (%v), want %v", kind, status, err, want)
		}
		s, _ = h.(*stream)
		return s
	}
	first := open(abi.OpenProcess, abi.OK)
	open(abi.OpenProcess, abi.LimitReached)
	first.finish(func() { first.Events.Exit(0, "", false) })
	open(abi.OpenProcess, abi.OK).Close()
	for range 14 {
		s := open(abi.OpenStream, abi.OK)
		s.Close()
		s.Close()
	}
	open(abi.OpenStream, abi.LimitReached)
	g.clock = g.clock.Add(250 * time.Millisecond)
	open(abi.OpenStream, abi.OK)
	open(abi.OpenStream, abi.LimitReached)
}

// A guest that asks for what a host refuses fails, and the report says why.
func TestRefusedOpensFail(t *testing.T) {
	for fault, says := range map[string]string{
		"names-a-target": "a method, a target and headers do not apply",
		"web-authorizes": "the header authorization is not for plugins to send",
		"web-elsewhere":  "https://other.example/ is not granted",
	} {
		r := try(t, fault, Options{Only: []string{basic}})
		if c := r.Check(basic); r.OK || !strings.Contains(c.Got, says) {
			t.Errorf("%s: %s, %s, want %q", fault, c.Result, c.Got, says)
		}
	}
}
