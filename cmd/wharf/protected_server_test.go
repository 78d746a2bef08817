package main

import (
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/wharf-mcp/wharf/internal/oauthtest"
)

// The secrets of the servers that guarded starts.
const (
	protectedToken  = "t0ken-canary"
	protectedSecret = "s3cret-canary"
)

// guarded starts an MCP server that wants a token, together with two that give
// one out: a company's own at /sso, and OAuth's. At /open it wants none, and at /keyed an
// X-API-Key, of which it says nothing. What is below /refused/ is refused: there are a basic, a 403 and a 400. It writes their address over ADDRESS in the named files, and into $ADDRESS: guarded wharf.toml
func guarded(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: guarded FILE…")
	}
	address := strings.TrimSuffix(protectedServer(ts.Defer).URL, "/mcp")
	ts.Setenv("ADDRESS", address)
	for _, name := range args {
		text := strings.ReplaceAll(ts.ReadFile(name), "ADDRESS", address)
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o600))
	}
}

func protectedServer(cleanup func(func())) *oauthtest.Resource {
	server := mcp.NewServer(&mcp.Implementation{Name: "guarded", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "echo"}, echo)
	mux := http.NewServeMux()
	mux.Handle("/mcp", mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}))
	mux.Handle("/open", mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}))
	mux.HandleFunc("/keyed", func(w http.ResponseWriter, r *http.Request) {
		oauthtest.Reply(w, 401, map[string]any{"error": "no such key"})
	})
	mux.HandleFunc("/sso", func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("client_secret") != protectedSecret {
			oauthtest.Reply(w, 401, map[string]any{"error": "invalid_client"})
			return
		}
		oauthtest.Reply(w, 200, map[string]any{"access_token": protectedToken, "token_type": "Bearer", "expires_in": 3600})
	})
	mux.HandleFunc("/refused/basic", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
		oauthtest.Reply(w, 401, map[string]any{"error": "no name"})
	})
	mux.HandleFunc("/refused/403", func(w http.ResponseWriter, r *http.Request) { http.Error(w, "forbidden", http.StatusForbidden) })
	mux.HandleFunc("/refused/400", func(w http.ResponseWriter, r *http.Request) {
		oauthtest.Reply(w, 400, map[string]any{"error": "missing X-Api-Key"})
	})
	as := oauthtest.New(cleanup)
	return oauthtest.NewResource(cleanup, as, mux, func(p *oauthtest.Resource) {
		p.Refuse = func(token string, r *http.Request) (status int, why string) {
			if r.URL.Path == "/sso" || r.URL.Path == "/open" || r.URL.Path == "/keyed" || strings.HasPrefix(r.URL.Path, "/refused/") || token == protectedToken || as.Admits(token) {
				return 0, ""
			}
			return http.StatusUnauthorized, "Bearer"
		}
	})
}

// visits is a browser in which the person agrees to all: it visits a page and follows it to its end.
// It writes the address to the file visited.
func visits() {
	response, err := http.Get(os.Args[1])
	if err == nil {
		response.Body.Close()
		err = os.WriteFile("visited", []byte(os.Args[1]+"\n"), 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
