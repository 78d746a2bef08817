package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host/signin"
)

// A person who signs in to a server that answers without that is asked whether to go on, and
// one who says no has not been sent anywhere.
func TestLoginToAnOpenServer(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "open", Version: "1"}, nil)
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	for _, answer := range []string{"\r", "n\r", "\x04"} {
		screen := newScreen(t, []string{"NO_COLOR=1", "BROWSER=false"}, "wharf", "login", s.URL)
		screen.start()
		screen.await("127.0.0.1 answers without a sign-in.\n")
		screen.answer("Sign in all the same? yes, [n]o: ", answer)
		screen.ends(exit.CodeDenied, "you have not agreed to it")
	}
}

// A person whose key the server refuses is asked once more, and no oftener.
func TestLoginAsksOnceMore(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "keyed", Version: "1"}, nil)
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != "/mcp":
			http.NotFound(w, r)
		case r.Header.Get("Authorization") != "Bearer good":
			http.Error(w, "no key", http.StatusUnauthorized)
		default:
			handler.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(s.Close)
	for _, c := range []struct {
		second string
		code   int
		says   string
	}{
		{"good\r", exit.CodeOK, "Signed in to 127.0.0.1.\n"},
		{"worse\r", exit.CodeSignIn, "refuses the API key or token that you typed; it is not kept"},
		{"\r", exit.CodeSignIn, "error: sign in to 127.0.0.1"},
	} {
		dir := t.TempDir()
		screen := newScreen(t, []string{"NO_COLOR=1", "BROWSER=false", "HOME=" + dir, "XDG_CONFIG_HOME=" + dir, "XDG_DATA_HOME=" + dir}, "wharf", "login", s.URL+"/mcp")
		screen.start()
		screen.answer("API key or token for 127.0.0.1: ", "bad\r")
		screen.await("127.0.0.1 refuses it. Once more:\n")
		screen.answer("API key or token for 127.0.0.1: ", c.second)
		screen.ends(c.code, c.says)
	}
}

// A server that takes Basic alone has no use for a token, so the person is asked for none.
func TestNoTokenForBasic(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/mcp" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(s.Close)
	for _, command := range []string{"tools", "login"} {
		dir := t.TempDir()
		screen := newScreen(t, []string{"NO_COLOR=1", "BROWSER=false", "HOME=" + dir, "XDG_CONFIG_HOME=" + dir, "XDG_DATA_HOME=" + dir}, "wharf", command, s.URL+"/mcp")
		screen.start()
		shown := screen.await("where … is NAME:PASSWORD in")
		if strings.Contains(shown, "API key") || !strings.Contains(shown, "wants Basic, a name and") {
			t.Errorf("%s: %s", command, shown)
		}
		screen.ends(exit.CodeSignIn, "base64")
	}
}

// A doctor finds that a sign-in is needed, and asks the person for nothing.
func TestDoctorAsksForNoKey(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/mcp" {
			http.NotFound(w, r)
			return
		}
		http.Error(w, "no key", http.StatusUnauthorized)
	}))
	t.Cleanup(s.Close)
	screen := newScreen(t, []string{"NO_COLOR=1", "BROWSER=false", "XDG_DATA_HOME=" + t.TempDir()}, "wharf", "doctor", s.URL+"/mcp")
	screen.start()
	screen.ends(exit.CodeSignIn, "wharf login")
}

// What stands below the address of a page is broken for the columns of a terminal alone, and here there is none.
func TestPageIsToldInOneRow(t *testing.T) {
	t.Setenv("BROWSER", "true")
	t.Setenv("NO_BROWSER", "")
	var said strings.Builder
	a := &app{Terminal: &term.Terminal{Err: &said, ErrTTY: true}, flags: flags{browser: true}}
	if err := a.openPage(t.Context(), signin.Page{Server: "docs", URL: "https://h/"}); err != nil {
		t.Fatal(err)
	}
	want := "To sign in to docs, visit\n  https://h/\nIt opens in your browser; this goes on when you are done there. If the page shows an error, end this with Ctrl-C and try again.\n"
	if said.String() != want {
		t.Errorf("said\n%s", said.String())
	}
}
