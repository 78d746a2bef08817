package gateway_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host/config"
)

// A server that dies under two clients costs each of them its call, and is started once for both.
func TestSharedServerDies(t *testing.T) {
	s := newScene(t, legacy, shares(config.ShareYes))
	a, b, srv := sharing(t, s, `{}`)
	clients := map[string]*end{"a": a, "b": b}
	for name, c := range clients {
		c.send(toolCall("1", name, ""))
		srv.want(toolCall("$"+name, name, ""))
	}
	srv.conn.Close()
	for name, c := range clients {
		if line := c.read(); !strings.HasPrefix(line, `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,`) || !strings.Contains(line, "the server may have acted on the request") {
			t.Errorf("the call of %s ended with %s", name, line)
		}
	}
	clear(s.vars)
	a.send(toolCall("2", "a", ""))
	again := s.server()
	again.greetAs(legacy)
	b.send(toolCall("2", "b", ""))
	again.wantAny(toolCall("$a", "a", ""), toolCall("$b", "b", ""))
	again.send(result("$b"), result("$a"))
	a.until(result("2"))
	b.until(result("2"))
	if n := len(s.servers); n > 0 {
		t.Errorf("the server was started %d times more", n)
	}
}

// The pages that a server wants visited are told to the client whose call needs them, and so is that one
// has been visited.
func TestSharedPages(t *testing.T) {
	s := newScene(t, legacy, shares(config.ShareYes))
	a, b, srv := sharing(t, s, `{"elicitation":{"url":{}}}`)
	page := func(id string) string {
		return `{"mode":"url","elicitationId":"` + id + `","url":"https://x/` + id + `","message":"go"}`
	}
	visited := func(id string) string {
		return `{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"` + id + `"}}`
	}
	for name, c := range map[string]*end{"a": a, "b": b} {
		c.send(toolCall("1", name, ""))
		srv.want(toolCall("$"+name, name, ""))
		refusal := `"error":{"code":-32042,"message":"visit","data":{"elicitations":[` + page("of-"+name) + `]}}}`
		srv.send(`{"jsonrpc":"2.0","id":$` + name + `,` + refusal)
		c.want(`{"jsonrpc":"2.0","id":1,` + refusal)
	}
	a.send(toolCall("2", "asks", ""))
	srv.want(toolCall("$asks", "asks", ""))
	srv.send(`{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":` + page("asked") + `}`)
	a.want(`{"jsonrpc":"2.0","id":$q,"method":"elicitation/create","params":` + page("asked") + `}`)
	a.send(`{"jsonrpc":"2.0","id":$q,"result":{"action":"accept"}}`)
	srv.want(`{"jsonrpc":"2.0","id":"q","result":{"action":"accept"}}`)
	srv.send(visited("of-b"), visited("of-a"), visited("asked"), visited("unasked"), listChanged)
	a.want(visited("of-a"), visited("asked"), listChanged)
	b.want(visited("of-b"), listChanged)
}

// The progress of a question is taken from the client that is asked, whatever token another client sends.
func TestSharedProgressOfAQuestion(t *testing.T) {
	s := newScene(t, legacy, shares(config.ShareYes))
	a, b, srv := sharing(t, s, `{"sampling":{}}`)
	progress := func(n int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":%d}}`, n)
	}
	a.send(toolCall("1", "x", ""))
	srv.want(toolCall("$a", "x", ""))
	srv.send(`{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{"_meta":{"progressToken":7}}}`)
	a.want(`{"jsonrpc":"2.0","id":$q,"method":"sampling/createMessage","params":{"_meta":{"progressToken":7}}}`)
	b.send(progress(1), toolCall("1", "y", ""))
	srv.want(toolCall("$b", "y", "")) // and no progress before
	a.send(progress(2))
	srv.want(progress(2))
	a.send(`{"jsonrpc":"2.0","id":$q,"result":{"role":"a"}}`)
	srv.want(`{"jsonrpc":"2.0","id":"q","result":{"role":"a"}}`)
	a.send(progress(3), toolCall("2", "z", "")) // the question has been answered
	srv.want(toolCall("$c", "z", ""))
	srv.send(result("$a"), result("$b"), result("$c"))
	a.wantAny(result("1"), result("2"))
	b.want(result("1"))
}
