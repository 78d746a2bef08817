package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/testscript"
)

// The secrets of the servers that guarded starts.
const (
	protectedToken  = "t0ken-canary"
	protectedSecret = "s3cret-canary"
)

// guarded starts an MCP server that wants a token, together with two that give
// one out: a company's own at /sso, and OAuth's. It writes their address over
// ADDRESS in the named files: guarded wharf.toml
func guarded(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: guarded FILE…")
	}
	server := httptest.NewServer(protectedServers())
	ts.Defer(server.Close)
	for _, name := range args {
		text := strings.ReplaceAll(ts.ReadFile(name), "ADDRESS", server.URL)
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o600))
	}
}

func protectedServers() http.Handler {
	server := mcp.NewServer(&mcp.Implementation{Name: "guarded", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "echo"}, echo)
	open := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		if given := r.Header.Get("Authorization"); given != "Bearer "+protectedToken {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "not with "+given, http.StatusUnauthorized)
			return
		}
		open.ServeHTTP(w, r)
	})
	answer := func(path string, f func(r *http.Request) (int, map[string]any)) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			status, answer := f(r)
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			json.NewEncoder(w).Encode(answer)
		})
	}
	answer("/sso", func(r *http.Request) (int, map[string]any) {
		if r.FormValue("client_secret") != protectedSecret {
			return 401, map[string]any{"error": "invalid_client"}
		}
		return 200, map[string]any{"access_token": protectedToken, "token_type": "Bearer", "expires_in": 3600}
	})
	answer("/.well-known/oauth-protected-resource/mcp", func(r *http.Request) (int, map[string]any) {
		at := "http://" + r.Host
		return 200, map[string]any{"resource": at + "/mcp", "authorization_servers": []string{at}}
	})
	answer("/.well-known/oauth-authorization-server", func(r *http.Request) (int, map[string]any) {
		at := "http://" + r.Host
		return 200, map[string]any{
			"issuer": at, "authorization_endpoint": at + "/authorize", "token_endpoint": at + "/token",
			"registration_endpoint": at + "/register", "code_challenge_methods_supported": []string{"S256"},
		}
	})
	return mux
}
