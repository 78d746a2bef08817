package main

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host/signin"
	"github.com/wharf-mcp/wharf/host/vault"
)

// What is piped in is an answer with or without the end of its line. An empty line declines, and an end of the input
// is told as that.
func TestPrompt(t *testing.T) {
	for in, want := range map[string]string{"s3cret": "s3cret", "s3cret\n": "s3cret", "s3cret\r\nmore": "s3cret", "": "", "\n": ""} {
		a := &app{Terminal: &term.Terminal{In: strings.NewReader(in), Err: io.Discard}}
		got, err := a.askText(t.Context(), signin.Question{Label: "secret", Secret: true})
		if got != want || (err != nil) != (want == "") || err != nil && errors.Is(err, signin.ErrDeclined) != (in == "\n") {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
}

// A token that a person types is tried. One that the server refuses is not kept, whichever
// command asked for it, and the error says so; one that was kept before stays. If the server
// refuses that one later, it is said.
func TestTypedToken(t *testing.T) {
	t.Parallel()
	server := mcp.NewServer(&mcp.Implementation{Name: "keyed", Version: "1"}, demoOptions)
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	var key atomic.Pointer[string]
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/forbidden":
			http.Error(w, "not you", http.StatusForbidden)
		case r.URL.Path == "/strict" && r.Header.Get("Authorization") != "" && r.Header.Get("Authorization") != "Bearer "+*key.Load():
			http.Error(w, "wrong key", http.StatusForbidden)
		case r.URL.Path != "/mcp" && r.URL.Path != "/strict":
			http.NotFound(w, r)
		case r.Header.Get("Authorization") != "Bearer "+*key.Load():
			http.Error(w, "no key", http.StatusUnauthorized)
		default:
			handler.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(s.Close)
	dir := t.TempDir()
	for _, c := range []struct {
		command, path, typed string
		key                  string // that the server takes
		code                 int
		says                 string
		kept                 bool
	}{
		{"login", "/mcp", "bad", "good", exit.CodeSignIn, "refuses the API key or token that you typed; it is not kept; it answered: no key\nhint: `wharf login " + s.URL + "/mcp` asks for another; if the server wants a key in a header of its own, that goes after -H, as 'X-API-Key: …'\n", false},
		{"tools", "/mcp", "bad", "good", exit.CodeSignIn, "refuses the API key or token that you typed; it is not kept; it answered: no key\n", false},
		{"tools", "/mcp", "bad", "good", exit.CodeSignIn, "127.0.0.1 answered:\n│ no key\n", false},
		{"tools", "/mcp", "", "good", exit.CodeSignIn, "error: 127.0.0.1 wants a sign-in, and there is no terminal to sign in at; it answered: no key\n", false},
		{"login", "/mcp", "bad", "good", exit.CodeSignIn, "127.0.0.1 answered:\n│ no key\n", false},
		{"login", "/mcp", "bad", "good", exit.CodeSignIn, "\nIt is sent as a Bearer token; if the server wants a key in a header of its own, that goes after -H, as 'X-API-Key: …'.\nWhat you type", false},
		{"tools", "/mcp", "two words", "good", exit.CodeSignIn, "error: sign in to 127.0.0.1: auth provider oauth: what was typed is no token", false},
		{"login", "/forbidden", "good", "good", exit.CodeDenied, "HTTP 403: not you\n", false},
		{"login", "/mcp", "good", "good", exit.CodeOK, "Signed in to 127.0.0.1.\n", true},
		{"login", "/mcp", "bad", "good", exit.CodeSignIn, "refuses the API key or token that you typed; it is not kept; it answered: ", true},
		{"tools", "/mcp", "", "good", exit.CodeOK, "", true},
		{"tools", "/mcp", "", "new", exit.CodeSignIn, "error: 127.0.0.1 refuses the API key or token that is saved for it; it answered: no key\nhint: `wharf login " + s.URL + "/mcp` asks for another\n", true},
		{"tools", "/mcp", "bad", "new", exit.CodeSignIn, "127.0.0.1 refuses the API key or token that is saved for it.\n", true},
		{"tools", "/mcp", "new", "new", exit.CodeOK, "127.0.0.1 refuses the API key or token that is saved for it.\n", true},
		{"logout", "/mcp", "", "new", exit.CodeOK, "Signed out of 127.0.0.1.\n", false},
		{"tools", "/strict", "bad", "good", exit.CodeSignIn, "refuses the API key or token that you typed; it is not kept; it answered: ", false},
		{"login", "/strict", "good", "good", exit.CodeOK, "Signed in to 127.0.0.1.\n", true},
		{"login", "/strict", "bad", "good", exit.CodeSignIn, "refuses the API key or token that you typed; it is not kept; it answered: ", true},
		{"tools", "/strict", "", "new", exit.CodeDenied, "HTTP 403: wrong key\nhint: the server denies it to the credentials that it was sent; to sign in with others: wharf login " + s.URL + "/strict\n", true},
	} {
		key.Store(&c.key)
		cmd := exec.Command("wharf", c.command, s.URL+c.path)
		if c.typed != "" {
			cmd.Args = append(cmd.Args, "--no-browser")
		}
		var said strings.Builder
		cmd.Stdin, cmd.Stderr = strings.NewReader(c.typed), &said
		cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+dir, "XDG_DATA_HOME="+dir, "HOME="+dir)
		if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
			t.Fatal(err)
		}
		if code := cmd.ProcessState.ExitCode(); code != c.code || !strings.Contains(said.String(), c.says) {
			t.Errorf("%+v: exit code %d:\n%s", c, code, said.String())
		}
		saved, err := vault.Open(vault.Config{Dir: filepath.Join(dir, "wharf", "vault")}).Entries(t.Context())
		if isToken := func(e vault.Entry) bool { return e.Name == "token" }; err != nil || slices.ContainsFunc(saved, isToken) != c.kept {
			t.Errorf("%+v: %v, %v", c, saved, err)
		}
	}
}

// A server that wants a sign-in only for a call is told of in the same words as one that wants it at
// the first request.
func TestSignInNeededInTheMiddle(t *testing.T) {
	t.Parallel()
	server := mcp.NewServer(&mcp.Implementation{Name: "late", Version: "1"}, demoOptions)
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || bytes.Contains(body, []byte("tools/call")) {
			http.Error(w, "no key", http.StatusUnauthorized)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	cmd := exec.Command("wharf", "call", s.URL+"/mcp", "echo", "message=x")
	dir := t.TempDir()
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+dir, "XDG_DATA_HOME="+dir, "HOME="+dir)
	said, err := cmd.CombinedOutput()
	const want = "error: 127.0.0.1 wants a sign-in, and there is no terminal to sign in at; it answered: no key\n"
	if err == nil || !strings.Contains(string(said), want) || cmd.ProcessState.ExitCode() != exit.CodeSignIn {
		t.Errorf("%v: %s, want %s", err, said, want)
	}
}

// A socket whose server speaks no HTTP, as that of `wharf serve --unix`, is reached by a plugin.
func TestSocketWithoutHTTP(t *testing.T) {
	dir, err := os.MkdirTemp("", "w") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.ToSlash(filepath.Join(dir, "s"))
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for conn, err := l.Accept(); err == nil; conn, err = l.Accept() {
			conn.Read(make([]byte, 1)) // an answer before the request is dropped
			io.WriteString(conn, "Content-Length: 2\r\n\r\n{}")
			io.Copy(io.Discard, conn)
			conn.Close()
		}
	}()
	cmd := exec.Command("wharf", "tools", "unix://"+path)
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+t.TempDir())
	want := "\nhint: a url unix:// is for HTTP over a socket; where its server speaks MCP without HTTP, as `wharf serve --unix` does, write an entry with " +
		"transport = \"socket\" and address = \"unix:" + path + "\" in place of the url; `wharf plugin add socket` installs that plugin\n"
	if said, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(said), want) {
		t.Errorf("%v: %s, want %s", err, said, want)
	}
	want = "\nhint: it is a socket: for HTTP write unix://" + path + "; for MCP without HTTP, as `wharf serve --unix` speaks it, write an entry with " +
		"transport = \"socket\" and address = \"unix:" + path + "\"; `wharf plugin add socket` installs that plugin\n"
	if said, err := exec.Command("wharf", "ping", path).CombinedOutput(); err == nil || !strings.Contains(string(said), want) {
		t.Errorf("%v: %s, want %s", err, said, want)
	}
}

// A server that ends a connection at the first words of TLS may be one without TLS: each command
// that connects says so.
func TestServerWithoutTLS(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for conn, err := l.Accept(); err == nil; conn, err = l.Accept() {
			conn.(*net.TCPConn).CloseWrite()
			io.Copy(io.Discard, conn) // a close with bytes unread would be a reset
			conn.Close()
		}
	}()
	for _, command := range []string{"tools", "login"} {
		cmd := exec.Command("wharf", command, "https://"+l.Addr().String()+"/mcp")
		cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+t.TempDir())
		if said, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(said), "\nhint: if the server does not speak TLS, its url begins with http://\n") {
			t.Errorf("%s: %v: %s", command, err, said)
		}
	}
}

// A code is shown to a person at a terminal; without one it needs a page that has it, and a browser.
func TestCodesUnasked(t *testing.T) {
	t.Setenv("NO_BROWSER", "1")
	for _, tty := range []bool{true, false} {
		var said strings.Builder
		a := &app{Terminal: &term.Terminal{In: strings.NewReader(""), Out: io.Discard, Err: &said, ErrTTY: tty}}
		for complete, why := range map[string]string{"": "there is no terminal", "https://as.example/d?c=AB-CD": "no browser is to be opened"} {
			said.Reset()
			err := a.showUnasked(t.Context(), signin.Code{Server: "crm", Provider: "oauth", URL: "https://as.example/d", Code: "AB-CD", Complete: complete})
			if tty && (err != nil || !strings.Contains(said.String(), "AB-CD")) || !tty && (err == nil || !strings.Contains(err.Error(), why)) {
				t.Errorf("at a terminal %v: %v, said %s", tty, err, said.String())
			}
		}
	}
}
