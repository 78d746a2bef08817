// Package oauthtest has an authorization server for tests, and a guard for MCP servers that use
// it. It shares no code with what it tests.
package oauthtest

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Canary is in every secret of a [Server]. Only the two parties that share a secret may see it.
const Canary = "c4nary-"

// canaries numbers them, so that no two servers give out the same.
var canaries atomic.Int64

// Server is an authorization server that accepts everybody, and gives out canaries as secrets.
// Set its fields before the first request.
type Server struct {
	URL      string
	Metadata func(m map[string]any) // changes what it says of itself
	Redirect func(q url.Values)     // changes what the browser takes to the callback
	Life     int                    // of access tokens, in seconds

	mu      sync.Mutex
	instead map[string]http.HandlerFunc // what it answers, by path
	log     []Request
	codes   map[string]string // by code: the challenge of PKCE
	valid   map[string]bool   // access and refresh tokens
	secrets []string          // all that it has given out or was shown
	keys    *keys             // with which it signs tokens; nil if it signs none
}

// Request is a request to a [Server].
type Request struct {
	Path          string
	Form          url.Values // of the query, or of the body
	Authorization string
	Body          string
}

// New starts a server. It ends when the functions that New passes to cleanup run, as those of
// [testing.T.Cleanup] do at the end of a test.
func New(cleanup func(func())) *Server {
	s := &Server{instead: map[string]http.HandlerFunc{}, codes: map[string]string{}, valid: map[string]bool{}, Life: 3600}
	s.mu.Lock() // ServeHTTP reads the URL after it had the lock
	defer s.mu.Unlock()
	s.URL = start(cleanup, s)
	return s
}

func start(cleanup func(func()), h http.Handler) (url string) {
	s := httptest.NewServer(h)
	cleanup(s.Close)
	return s.URL
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	form, _ := url.ParseQuery(string(body))
	if r.Method == http.MethodGet {
		form = r.URL.Query()
	}
	s.mu.Lock()
	s.log = append(s.log, Request{r.URL.Path, form, r.Header.Get("Authorization"), string(body)})
	s.secrets = append(s.secrets, form["code_verifier"]...)
	instead := s.instead[r.URL.Path]
	s.mu.Unlock()
	if instead != nil {
		r.Body = io.NopCloser(bytes.NewReader(body))
		instead(w, r)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch r.URL.Path {
	case "/.well-known/oauth-authorization-server":
		Reply(w, 200, s.describe())
	case "/jwks":
		if s.keys == nil {
			http.NotFound(w, r)
			return
		}
		Reply(w, 200, s.keys.public())
	case "/register":
		Reply(w, 201, map[string]any{
			"client_id": fmt.Sprint("client-", len(s.log)), "client_secret": s.issue("secret"), "token_endpoint_auth_method": "client_secret_basic",
		})
	case "/authorize":
		s.authorize(w, r, form)
	case "/token":
		s.redeem(w, form)
	case "/revoke":
		s.valid[form.Get("token")] = false
	default:
		http.NotFound(w, r)
	}
}

// Reply answers with JSON.
func Reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v)
}

func (s *Server) describe() map[string]any {
	m := map[string]any{
		"issuer": s.URL, "authorization_endpoint": s.URL + "/authorize", "token_endpoint": s.URL + "/token",
		"registration_endpoint": s.URL + "/register", "revocation_endpoint": s.URL + "/revoke",
		"code_challenge_methods_supported": []string{"S256"}, "response_types_supported": []string{"code"},
	}
	if s.keys != nil {
		m["jwks_uri"] = s.URL + "/jwks"
	}
	if s.Metadata != nil {
		s.Metadata(m)
	}
	return m
}

// issue makes a secret. The caller holds s.mu.
func (s *Server) issue(kind string) string {
	made := fmt.Sprintf("%s%s-%d", Canary, kind, canaries.Add(1))
	s.secrets = append(s.secrets, made)
	return made
}

func (s *Server) authorize(w http.ResponseWriter, r *http.Request, q url.Values) {
	if q.Get("code_challenge_method") != "S256" || q.Get("state") == "" {
		http.Error(w, "no challenge", http.StatusBadRequest)
		return
	}
	code := s.issue("code")
	s.codes[code] = q.Get("code_challenge")
	back := url.Values{"code": {code}, "state": q["state"]}
	if s.Redirect != nil {
		s.Redirect(back)
	}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

// redeem takes a code or a refresh token, each once.
func (s *Server) redeem(w http.ResponseWriter, form url.Values) {
	code, old := form.Get("code"), form.Get("refresh_token")
	sum := sha256.Sum256([]byte(form.Get("code_verifier")))
	proven := code != "" && s.codes[code] == base64.RawURLEncoding.EncodeToString(sum[:])
	if !proven && !s.valid[old] {
		Reply(w, 400, map[string]any{"error": "invalid_grant", "error_description": "it is not " + code + old})
		return
	}
	delete(s.codes, code)
	delete(s.valid, old)
	access, next := s.issue("access"), s.issue("refresh")
	s.valid[access], s.valid[next] = true, true
	Reply(w, 200, map[string]any{"access_token": access, "refresh_token": next, "token_type": "Bearer", "expires_in": s.Life})
}

// Admits reports whether a token is one of the server's, and good.
func (s *Server) Admits(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.HasPrefix(token, Canary+"access-") && s.valid[token]
}

// Expire makes the access tokens expire for the server that they are for, and for no one else.
func (s *Server) Expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for token := range s.valid {
		s.valid[token] = s.valid[token] && !strings.HasPrefix(token, Canary+"access-")
	}
}

// Revoke ends all tokens, and so all logins.
func (s *Server) Revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.valid)
}

// Answer sets how the server answers at a path; nil restores its own answer.
func (s *Server) Answer(path string, f http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.instead[path] = f
}

// Requests returns the requests to a path, or all of them for "".
func (s *Server) Requests(path string) []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.log), func(r Request) bool { return path != "" && r.Path != path })
}

// Secrets returns all that it has given out or was shown.
func (s *Server) Secrets() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.secrets)
}
