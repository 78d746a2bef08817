package gateway_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/gateway"
)

// shares has clients share the server of a scene.
func shares(how string) func(*host.Config, *gateway.Config) {
	return func(_ *host.Config, g *gateway.Config) { g.Servers[0].Share = how }
}

// sharing connects two legacy clients that share a legacy server, and offer the same.
func sharing(t *testing.T, s *scene, offered string) (a, b, srv *end) {
	t.Helper()
	a = s.client()
	a.send(initialize("0", legacy, offered))
	srv = s.server()
	srv.greetLegacy(offered)
	result := a.read()
	b = s.client()
	b.send(initialize("0", legacy, offered))
	b.want(result)
	a.send(initialized)
	b.send(initialized)
	return a, b, srv
}

func toolCall(id, tool, more string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q%s}}`, id, tool, more)
}

func result(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"result":{}}` }

const (
	listChanged = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
	refused     = `"error":{"code":-32603,"message":"it is not certain which of the clients that share this server is asked"}}`
)

// Clients that share a session hear of their own calls alone: of their progress, with the token that
// each has chosen, of questions and of log messages. What is not certain to be one client's goes to none.
func TestSharedSession(t *testing.T) {
	s := newScene(t, legacy, shares(config.ShareYes))
	a, b, srv := sharing(t, s, `{"sampling":{}}`)

	const token = `,"_meta":{"progressToken":"p"}`
	a.send(toolCall("1", "x", token))
	srv.want(toolCall("$a", "x", `,"_meta":{"progressToken":$p}`))
	b.send(toolCall("1", "y", token))
	srv.want(toolCall("$b", "y", `,"_meta":{"progressToken":$q}`))
	srv.send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":$q,"progress":1}}`)
	b.want(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1}}`)
	srv.send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":$p,"progress":2}}`)
	a.want(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":2}}`)

	// While calls of both are open, the server does not say whose its question is.
	srv.send(`{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{}}`,
		`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"whose?"}}`, listChanged)
	srv.want(`{"jsonrpc":"2.0","id":"q",` + refused)
	a.want(listChanged)
	b.want(listChanged)

	srv.send(result("$a"))
	a.want(result("1"))
	srv.send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"y"}}`,
		`{"jsonrpc":"2.0","id":"r","method":"sampling/createMessage","params":{"of":"y"}}`)
	b.wantAny(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"y"}}`,
		`{"jsonrpc":"2.0","id":$r,"method":"sampling/createMessage","params":{"of":"y"}}`)
	b.send(`{"jsonrpc":"2.0","id":$r,"result":{"role":"x"}}`)
	srv.want(`{"jsonrpc":"2.0","id":"r","result":{"role":"x"}}`)
	srv.send(result("$b"))
	b.want(result("1"))

	// Without an open call nobody is asked, and a finished call has no progress.
	srv.send(`{"jsonrpc":"2.0","id":"s","method":"roots/list"}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":$p,"progress":3}}`, listChanged)
	srv.want(`{"jsonrpc":"2.0","id":"s",` + refused)
	a.want(listChanged)
	b.want(listChanged)
}

// A resource that changes is told to the clients that have subscribed to it, and the server is told
// when the last of them is no longer interested.
func TestSharedSubscriptions(t *testing.T) {
	s := newScene(t, legacy, shares(config.ShareYes))
	a, b, srv := sharing(t, s, `{}`)
	subscribe := func(c *end, id, method, uri string) {
		t.Helper()
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"resources/%s","params":{"uri":%q}}`, id, method, uri))
		if method == "subscribe" {
			srv.want(fmt.Sprintf(`{"jsonrpc":"2.0","id":$%s,"method":"resources/subscribe","params":{"uri":%q}}`, "s"+letter(id), uri))
			srv.send(result("$s" + letter(id)))
		}
		c.want(result(id))
	}
	subscribe(a, "1", "subscribe", "a:b")
	subscribe(b, "2", "subscribe", "a:c")
	subscribe(b, "3", "subscribe", "a:b")
	updated := func(uri string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":%q}}`, uri)
	}
	srv.send(updated("a:c"), updated("a:b/part"), updated("other"), listChanged)
	a.want(updated("a:b/part"), listChanged)
	b.want(updated("a:c"), updated("a:b/part"), listChanged)
	subscribe(b, "4", "unsubscribe", "a:b")
	srv.send(updated("a:b"), listChanged)
	a.want(updated("a:b"), listChanged)
	b.want(listChanged)
	subscribe(a, "5", "unsubscribe", "a:b")
	srv.want(`{"jsonrpc":"2.0","id":$u,"method":"resources/unsubscribe","params":{"uri":"a:b"}}`)
	srv.send(result("$u"))
}

// letter returns a letter for an id of one digit.
func letter(id string) string { return string(rune('a' + id[0] - '0')) }

// The server logs at the lowest level that any client asked for, and each hears its own.
func TestSharedLevels(t *testing.T) {
	s := newScene(t, legacy, shares(config.ShareYes))
	a, b, srv := sharing(t, s, `{}`)
	level := func(c *end, id, level, told string) {
		t.Helper()
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"logging/setLevel","params":{"level":%q}}`, id, level))
		name := "l" + letter(id)
		srv.want(fmt.Sprintf(`{"jsonrpc":"2.0","id":$%s,"method":"logging/setLevel","params":{"level":%q}}`, name, told))
		srv.send(result("$" + name))
		c.want(result(id))
	}
	level(a, "1", "error", "error")
	level(b, "2", "debug", "debug")
	level(a, "3", "warning", "debug")
	log := func(level, of string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":%q,"data":%q}}`, level, of)
	}
	for _, c := range []struct {
		end   *end
		heard string
	}{{a, "warning"}, {b, "debug"}} {
		c.end.send(toolCall("9", "x", ""))
		srv.want(toolCall("$x", "x", ""))
		id := s.vars["x"]
		delete(s.vars, "x")
		srv.send(log("debug", "x"), log("warning", "x"), listChanged)
		if c.heard == "debug" {
			c.end.want(log("debug", "x"))
		}
		c.end.want(log("warning", "x"), listChanged)
		for _, other := range []*end{a, b} {
			if other != c.end {
				other.want(listChanged)
			}
		}
		srv.send(result(id))
		c.end.want(result("9"))
	}
}

// A server may log more than the level that its only client has set. The client hears its own level.
func TestLevelThatIsNotKept(t *testing.T) {
	s := newScene(t, legacy)
	c := s.client()
	c.send(initialize("0", legacy, `{}`))
	srv := s.server()
	srv.greetLegacy(`{}`)
	c.read()
	c.send(initialized)
	log := func(level string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":%q,"data":1}}`, level)
	}
	srv.send(log("debug"))
	c.until(log("debug"))
	c.send(`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"warning"}}`)
	srv.want(`{"jsonrpc":"2.0","id":$l,"method":"logging/setLevel","params":{"level":"warning"}}`)
	srv.send(result("$l"))
	c.want(result("1"))
	srv.send(log("info"), log("warning"), log("loud"))
	c.want(log("warning"), log("loud"))
}

// A client that cancels or leaves ends its own calls, and the session goes on.
func TestSharedClientLeaves(t *testing.T) {
	s := newScene(t, legacy, shares(config.ShareYes))
	a, b, srv := sharing(t, s, `{}`)
	a.send(toolCall("1", "x", ""))
	srv.want(toolCall("$a", "x", ""))
	b.send(toolCall("1", "y", ""))
	srv.want(toolCall("$b", "y", ""))
	a.send(toolCall("2", "z", ""))
	srv.want(toolCall("$c", "z", ""))
	a.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	srv.want(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":$a}}`)
	a.conn.Close()
	srv.send(listChanged) // which cannot be written to the client
	b.want(listChanged)
	if line := srv.read(); !strings.HasPrefix(line, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`+s.vars["c"]+`,`) {
		t.Errorf("the server got %s", line)
	}
	// The client that has gone may still be meant.
	srv.send(`{"jsonrpc":"2.0","id":"q","method":"ask/me"}`)
	srv.want(`{"jsonrpc":"2.0","id":"q",` + refused)
	srv.send(result("$b"))
	b.want(result("1"))
	b.send(toolCall("2", "y", ""))
	srv.want(toolCall("$d", "y", ""))
	srv.send(result("$d"))
	b.want(result("2"))
	b.conn.Close()
	for range srv.lines { // until the connection ends
	}
}

// Clients that offer something else, or that are somebody else's, share nothing.
func TestStrangersShareNothing(t *testing.T) {
	s := newSite(t, legacy, shares(config.ShareYes), func(_ *host.Config, g *gateway.Config) {
		g.Principal = func(r *http.Request) (string, error) { return r.Header.Get("From"), nil }
	})
	for _, offered := range []string{`{}`, `{"roots":{}}`} {
		c := s.scene.client()
		c.send(initialize("0", legacy, offered))
		s.server().greetLegacy(offered)
		c.read()
	}
	for _, who := range []string{"", "ann", "bob", "stream"} {
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.post(initialize("0", legacy, `{}`), "From: "+who)
		}()
		s.server().greetLegacy(`{}`)
		<-done
		if a := s.post(initialize("0", legacy, `{}`), "From: "+who); a.StatusCode != http.StatusOK {
			t.Errorf("another client of %q: %s", who, a.Status)
		}
	}
	if n := len(s.servers); n > 0 {
		t.Errorf("%d connections too many", n)
	}
}

// Clients that offer the same share a server in whichever era and form they say so. A modern client may
// offer tasks beside it, which a legacy server cannot give.
func TestErasShare(t *testing.T) {
	for _, offered := range []string{`{}`, `{"extensions":{"x/y":{}},"roots":{},"sampling":{"a":{},"b":{}}}`} {
		s := newScene(t, legacy, shares(config.ShareYes))
		first, with := s.client(), strings.TrimSuffix(offered, "}")
		if offered == `{}` {
			with += `"extensions":{"io.modelcontextprotocol/tasks":{}}}`
		} else {
			with = strings.Replace(offered, `"x/y":{}`, `"io.modelcontextprotocol/tasks":{},"x/y":{}`, 1)
		}
		first.send(`{"jsonrpc":"2.0","id":0,"method":"tools/call","params":{"name":"x",` + modernMeta(with, "") + `}}`)
		srv := s.server()
		srv.greetLegacy(offered)
		srv.want(toolCall("$a", "x", ""))
		srv.send(result("$a"))
		first.want(`{"jsonrpc":"2.0","id":0,"result":{"resultType":"complete"}}`)
		others := []string{offered, strings.Replace(offered, "{", " { ", 1), with}
		if offered == `{}` {
			others = append(others, "null")
		}
		for _, other := range others {
			c := s.client()
			c.send(strings.Replace(initialize("0", legacy, other), `"capabilities":null,`, "", 1), initialized)
			c.read()
			c.send(toolCall("1", "x", ""))
			delete(s.vars, "a")
			srv.want(toolCall("$a", "x", ""))
			srv.send(result("$a"))
			c.want(result("1"))
		}
		if n := len(s.servers); n > 0 {
			t.Errorf("%s: the server was started %d times more", offered, n)
		}
	}
}

// auto has clients share the server of a scene as they share a command.
func auto(h *host.Config, g *gateway.Config) { g.Servers[0].Command = "files" }

// Clients share a command until it asks what only one of them can answer. Then each has a copy of its
// own: calls under way end where they began, and levels and subscriptions go along.
func TestDivision(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "catalogue")
	s := newScene(t, legacy, auto, func(h *host.Config, _ *gateway.Config) { h.CatalogueDir = dir })
	a, b, srv := sharing(t, s, `{"sampling":{}}`)
	a.send(`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"error"}}`)
	srv.want(`{"jsonrpc":"2.0","id":$l,"method":"logging/setLevel","params":{"level":"error"}}`)
	srv.send(result("$l"))
	a.want(result("1"))
	a.send(`{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"a:b"}}`)
	srv.want(`{"jsonrpc":"2.0","id":$s,"method":"resources/subscribe","params":{"uri":"a:b"}}`)
	srv.send(result("$s"))
	a.want(result("2"))
	a.send(toolCall("3", "x", ""))
	srv.want(toolCall("$a", "x", ""))
	b.send(toolCall("3", "y", ""))
	srv.want(toolCall("$b", "y", ""))
	srv.send(`{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{}}`)
	srv.want(`{"jsonrpc":"2.0","id":"q",` + refused)

	b.send(toolCall("4", "z", ""))
	own := s.server()
	own.greetLegacy(`{"sampling":{}}`)
	own.want(toolCall("$c", "z", ""))
	own.send(`{"jsonrpc":"2.0","id":"r","method":"sampling/createMessage","params":{"of":"z"}}`)
	for range 4 { // the question, and that all may have changed
		if line := b.read(); b.match(line, `{"jsonrpc":"2.0","id":$r,"method":"sampling/createMessage","params":{"of":"z"}}`) {
			b.send(`{"jsonrpc":"2.0","id":$r,"result":{"role":"b"}}`)
			break
		}
	}
	own.want(`{"jsonrpc":"2.0","id":"r","result":{"role":"b"}}`)
	own.send(result("$c"))
	b.until(result("4"))
	srv.send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"whose?"}}`, result("$b"))
	b.until(result("3")) // the call that began before
	srv.send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"x"}}`, result("$a"))
	a.until(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"x"}}`)
	a.until(result("3"))

	a.send(toolCall("5", "x", ""))
	own = s.server()
	own.greetLegacy(`{"sampling":{}}`)
	for range 3 {
		switch line := own.read(); {
		case own.match(line, `{"jsonrpc":"2.0","id":$m,"method":"logging/setLevel","params":{"level":"error"}}`):
			own.send(result("$m"))
		case own.match(line, `{"jsonrpc":"2.0","id":$n,"method":"resources/subscribe","params":{"uri":"a:b"}}`):
			own.send(result("$n"))
		case own.match(line, toolCall("$d", "x", "")):
			own.send(result("$d"))
		default:
			t.Fatalf("the new copy got %s", line)
		}
	}
	a.until(result("5"))
	for range srv.lines { // until it ends, which nobody uses any more
	}
	if n := s.gateway.Metrics().Divided; n != 1 {
		t.Errorf("%d servers were divided", n)
	}
	s.gateway.Close()
	s.host.Close()

	later := newScene(t, legacy, auto, func(h *host.Config, _ *gateway.Config) { h.CatalogueDir = dir })
	for range 2 {
		c := later.client()
		c.send(initialize("0", legacy, `{"sampling":{}}`))
		later.server().greetLegacy(`{"sampling":{}}`)
	}
}

// until reads lines up to one, and drops those before it that say that something may have changed.
func (e *end) until(want string) {
	e.t.Helper()
	for line := e.read(); !e.match(line, want); line = e.read() {
		if !strings.Contains(line, "/list_changed") && !strings.Contains(line, "/updated") {
			e.t.Fatalf("%s:\n got %s\nwant %s", e.name, line, want)
		}
	}
}

// A server that asks for roots has them of its first client, and no other shares it.
func TestRootsDivide(t *testing.T) {
	s := newScene(t, legacy, auto)
	a := s.client()
	a.send(initialize("0", legacy, `{"roots":{}}`))
	srv := s.server()
	srv.greetLegacy(`{"roots":{}}`)
	a.read()
	srv.send(`{"jsonrpc":"2.0","id":"q","method":"roots/list"}`)
	a.want(`{"jsonrpc":"2.0","id":$q,"method":"roots/list"}`)
	a.send(`{"jsonrpc":"2.0","id":$q,"result":{"roots":[]}}`)
	srv.want(`{"jsonrpc":"2.0","id":"q","result":{"roots":[]}}`)
	b := s.client()
	b.send(initialize("0", legacy, `{"roots":{}}`))
	s.server().greetLegacy(`{"roots":{}}`)
	a.send(toolCall("1", "x", "")) // it stays where it was
	srv.want(toolCall("$a", "x", ""))
}

// A server whose sessions have tasks is not shared, because each client would see those of all.
func TestTasksDivide(t *testing.T) {
	s := newScene(t, legacy, auto)
	for n := range 2 {
		c := s.client()
		c.send(initialize("0", legacy, `{}`))
		srv := s.server()
		srv.want(`{"jsonrpc":"2.0","id":$hello,"method":"initialize","params":{"capabilities":{},"clientInfo":{"name":"editor","version":"2"},"protocolVersion":"2025-11-25"}}`)
		srv.send(`{"jsonrpc":"2.0","id":$hello,"result":{"protocolVersion":"2025-11-25","capabilities":{"tasks":{"list":{}}}}}`)
		srv.want(initialized)
		if line := c.read(); !strings.Contains(line, `"tasks"`) {
			t.Errorf("client %d got %s", n, line)
		}
	}
}

// There are so many copies of a server, and no more. The refusal says what to do.
func TestCopiesAreBounded(t *testing.T) {
	s := newScene(t, legacy, auto, func(_ *host.Config, g *gateway.Config) {
		g.Servers[0].Share, g.Servers[0].Copies = config.ShareClient, 2
	})
	var last *end
	for range 2 {
		last = s.client()
		last.send(initialize("0", legacy, `{}`))
		s.server().greetLegacy(`{}`)
		last.read()
	}
	c := s.client()
	c.send(initialize("1", legacy, `{}`))
	c.want(`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"files runs 2 times for clients that cannot share it, all in use, which is the most: end one of them, or write copies = 3 in its entry in wharf.toml"}}`)
	last.conn.Close()
	greeted := make(chan struct{})
	go func() {
		defer close(greeted)
		s.server().greetLegacy(`{}`)
	}()
	for {
		c.send(initialize("2", legacy, `{}`)) // until the other is gone
		if line := c.read(); !strings.Contains(line, "which is the most") {
			if strings.Contains(line, `"error"`) {
				t.Fatal(line)
			}
			break
		}
	}
	<-greeted
}
