package main

import (
	"bufio"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wharf-mcp/wharf/internal/oauthtest"
)

// A daemon opens a sign-in page because of a client that wants it opened, and of no other. A command signs in
// itself.
func TestDaemonOpensPagesAsItsClientsWish(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	server := mcp.NewServer(&mcp.Implementation{Name: "guarded", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "echo"}, echo)
	issuer := oauthtest.New(t.Cleanup)
	resource := oauthtest.NewResource(t.Cleanup, issuer, mcp.NewStreamableHTTPHandler(
		func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}))
	if err := os.WriteFile(u.config, []byte("[servers.crm]\nurl = "+strconv.Quote(resource.URL)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	wishes := append(slices.Clone(u.env), "BROWSER=visits", "NO_BROWSER=")
	wishesNot := append(slices.Clone(u.env), "BROWSER=visits", "NO_BROWSER=1")
	u.env = wishesNot
	u.must("control", "--socket") // what starts the daemon has no say for the clients that come
	served := func(env []string, message string, args ...string) (answer string) {
		t.Helper()
		cmd := u.command(args...)
		cmd.Env = env
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		defer cmd.Wait()
		defer in.Close()
		lines := bufio.NewReader(out)
		for _, line := range []string{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`, message} {
			if _, err := in.Write([]byte(line + "\n")); err != nil {
				t.Fatal(err)
			}
			if answer, err = lines.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(answer, `"error"`) {
				break
			}
		}
		return answer
	}
	const list, call = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"crm__echo","arguments":{"message":"x"}}}`
	for _, env := range [][]string{wishes, wishesNot} {
		u.env = env
		if out, err := u.run("tools", "crm"); err == nil || !strings.Contains(err.Error(), "crm wants a sign-in, and there is no terminal to sign in at") {
			t.Errorf("a command without a terminal: %s, %v", out, err)
		}
		if got := served(env, list, "bridge", "--no-browser", "--shared", "crm"); !strings.Contains(got, "wharf login crm") {
			t.Error("bridge --no-browser:", got)
		}
		if got := served(env, call, "serve", "--no-browser", "--shared"); !strings.Contains(got, "wharf login crm") {
			t.Error("serve --no-browser:", got)
		}
	}
	if got := served(wishesNot, call, "serve", "--shared"); !strings.Contains(got, "wharf login crm") {
		t.Error("serve with $NO_BROWSER:", got)
	}
	if n := len(issuer.Requests("/register")) + len(issuer.Requests("/authorize")); n > 0 {
		t.Fatalf("a sign-in was begun that no client wanted: %d requests", n)
	}
	if got := served(wishes, list, "bridge", "--shared", "crm"); !strings.Contains(got, `"name":"echo"`) {
		t.Error("bridge:", got)
	}
	u.env = wishes
	if out := u.must("call", "crm", "echo", "message=x"); !strings.Contains(out, "x") {
		t.Error("a command, once a client has signed in:", out)
	}
}

// A sign-out and another sign-in are seen beside a daemon by the next command, which has the server of the daemon then,
// also of a server whose tools are known.
func TestSignInsBesideADaemon(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	server := mcp.NewServer(&mcp.Implementation{Name: "guarded", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "echo"}, echo)
	resource := oauthtest.NewResource(t.Cleanup, oauthtest.New(t.Cleanup), mcp.NewStreamableHTTPHandler(
		func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}),
		func(p *oauthtest.Resource) { // which goes on to take the token of a person who has signed out
			p.Refuse = func(token string, _ *http.Request) (int, string) {
				if token == "" {
					return http.StatusUnauthorized, p.Challenge("")
				}
				return 0, ""
			}
		})
	if err := os.WriteFile(u.config, []byte("[servers.crm]\nurl = "+strconv.Quote(resource.URL)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	u.env = append(u.env, "BROWSER=visits", "NO_BROWSER=")
	u.must("control", "--socket")
	var used []string
	for range 2 {
		u.must("login", "--browser", "crm")
		for range 2 {
			u.must("call", "crm", "echo", "message=x")
		}
		sent := resource.Tokens()
		used = append(used, sent[len(sent)-1])
		u.must("logout", "crm")
		out, err := u.run("call", "crm", "echo", "message=x")
		if err == nil || !strings.Contains(err.Error(), "error: crm wants a sign-in, and there is no terminal to sign in at") || !strings.Contains(err.Error(), "wharf login crm") {
			t.Errorf("after the logout: %s, %v", out, err)
		}
	}
	if used[0] == used[1] {
		t.Errorf("each sign-in has the token %s", used[0])
	}
	if n := len(u.daemons()); n != 1 {
		t.Errorf("%d daemons", n)
	}
}
