package gateway_test

import (
	"io"
	"regexp"
	"strings"
	"testing"
)

// All principals are one account to a modern server, so its requestState goes back to the server from
// the principal alone that was given it. Who runs the program gets it as it is written.
func TestStateOfAModernServer(t *testing.T) {
	const own = `"st\u0061te"`
	s := newSite(t, modern, byHeader)
	meta := modernMeta(`{}`, "")
	get := func(principal, name, state string) string {
		t.Helper()
		a := s.post(`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"`+name+`",`+meta+state+`}}`,
			modernHeaders("prompts/get", "Mcp-Name: "+name, "User: "+principal)...)
		body, _ := io.ReadAll(a.Body)
		return string(body)
	}
	given := make(map[string]string) // states, by principal
	for _, principal := range []string{"", "ann", "bob"} {
		answered := make(chan *end)
		go func() {
			srv := newEnd(t, "server", <-s.servers, map[string]string{})
			srv.greet(modern)
			srv.want(`{"jsonrpc":"2.0","id":$a,"method":"prompts/get","params":{"name":"p",` + meta + `}}`)
			srv.send(`{"jsonrpc":"2.0","id":$a,"result":{"resultType":"input_required","requestState":` + own + `, "x":1e400}}`)
			answered <- srv
		}()
		got := get(principal, "p", "")
		srv := <-answered
		state := regexp.MustCompile(`"requestState":("[^"]+")`).FindStringSubmatch(got)
		if state == nil || !strings.Contains(got, `"x":1e400`) || (principal == "") != (state[1] == own) {
			t.Fatalf("%q got %s", principal, got)
		}
		for other, state := range given {
			if want := `"message":"requestState was not given out by this server"`; principal != "" && !strings.Contains(get(principal, "p", `,"requestState":`+state), want) {
				t.Errorf("the state of %q passes as that of %q", other, principal)
			}
		}
		given[principal] = state[1]
		go func() {
			srv.want(`{"jsonrpc":"2.0","id":$b,"method":"prompts/get","params":{"name":"p",` + meta + `,"requestState":` + own + `}}`)
			srv.send(`{"jsonrpc":"2.0","id":$b,"result":{"resultType":"complete","messages":[]}}`)
		}()
		if got := get(principal, "p", `,"requestState":`+state[1]); !strings.Contains(got, `"complete"`) {
			t.Errorf("%q comes back and gets %s", principal, got)
		}
	}
}
