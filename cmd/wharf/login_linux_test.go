package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
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
