package host_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/signin"
	"github.com/wharf-mcp/wharf/internal/oauthtest"
)

// issuer is an authorization server, and the gate of the one MCP server that it
// is for. A refresh token of it is good once: what redeems one gets the next, and
// who shows one of before ends the login for everybody (RFC 9700, section 4.14.2).
// Access tokens last until [issuer.expire].
//
// Its clients are all the same one, and tell it by their secret and by the header
// X-Name which of the processes they are.
//
// It is no [oauthtest.Server]: it holds a login to the rotation of its tokens, tells where a
// refresh is, and keeps no record of requests, which would grow for hours in a soak.
type issuer struct {
	site
	url string

	mu      sync.Mutex
	family  int  // of the tokens of the last sign-in
	head    int  // generation of the one refresh token that is good
	epoch   int  // of the access tokens that are good
	revoked bool // all tokens of the family
	log     ledger
	reached func(m moment, by string) // is called without the lock, or nil
}

// ledger is what has happened since it was last looked at.
type ledger struct {
	redeemed []*redemption
	reused   []string // by whom
}

// redemption is a refresh token that was taken, and replaced.
type redemption struct {
	by   string
	at   time.Time // when there was no way back for the issuer
	used time.Time // the access token, for the first time; zero if it was not
}

// moment is where a refresh is, as its issuer sees it.
type moment int

const (
	refused   moment = iota // a request to the server, for its token has expired
	asked                   // the issuer, for the next token
	committed               // the client has not heard of it yet
	answered
	moments // how many there are
)

func (m moment) String() string { return [...]string{"refused", "asked", "committed", "answered"}[m] }

func newIssuer(t testing.TB) *issuer {
	i := new(issuer)
	s := httptest.NewServer(i)
	t.Cleanup(s.Close)
	i.url = s.URL
	return i
}

// stormy is the entry of the server of an issuer, as one process has it.
func stormy(issuer, by string) host.Server {
	return host.Server{
		Name: "guarded", URL: issuer + "/mcp", Headers: map[string]string{"X-Name": by},
		Auth: config.Auth{Provider: "oauth", Settings: map[string]any{"client_id": "storm", "client_secret": by}},
	}
}

// expire ends all access tokens.
func (i *issuer) expire() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.epoch++
}

// watch has the moments of refreshes told to reached.
func (i *issuer) watch(reached func(m moment, by string)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.reached = reached
}

// read returns what has happened since the last time.
func (i *issuer) read() ledger {
	i.mu.Lock()
	defer i.mu.Unlock()
	l := i.log
	i.log = ledger{}
	return l
}

func (i *issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/mcp":
		i.guard(w, r)
	case "/.well-known/oauth-protected-resource/mcp":
		oauthtest.Reply(w, 200, map[string]any{"resource": i.url + "/mcp", "authorization_servers": []string{i.url}})
	case "/.well-known/oauth-authorization-server":
		oauthtest.Reply(w, 200, map[string]any{
			"issuer": i.url, "authorization_endpoint": i.url + "/authorize", "token_endpoint": i.url + "/token",
			"code_challenge_methods_supported": []string{"S256"},
		})
	case "/authorize":
		i.authorize(w, r)
	case "/token":
		i.token(w, r)
	default:
		http.NotFound(w, r)
	}
}

// guard lets requests with a token to the server.
func (i *issuer) guard(w http.ResponseWriter, r *http.Request) {
	if i.admits(r.Header.Get("Authorization")) {
		i.site.ServeHTTP(w, r)
		return
	}
	io.Copy(io.Discard, r.Body)
	w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token", resource_metadata="`+i.url+`/.well-known/oauth-protected-resource/mcp"`)
	http.Error(w, "who are you", http.StatusUnauthorized)
	i.tell(refused, r.Header.Get("X-Name"))
}

func (i *issuer) admits(header string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.revoked || header != "Bearer "+i.access() {
		return false
	}
	if n := len(i.log.redeemed); n > 0 && i.log.redeemed[n-1].used.IsZero() {
		i.log.redeemed[n-1].used = time.Now()
	}
	return true
}

// The tokens of now. The caller holds i.mu.
func (i *issuer) access() string  { return fmt.Sprintf("access-%d-%d-%d", i.family, i.head, i.epoch) }
func (i *issuer) refresh() string { return fmt.Sprintf("refresh-%d-%d", i.family, i.head) }

func (i *issuer) tell(m moment, by string) {
	i.mu.Lock()
	reached := i.reached
	i.mu.Unlock()
	if reached != nil {
		reached(m, by)
	}
}

// authorize sends the browser back at once.
func (i *issuer) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	back := url.Values{"code": {"code"}, "state": {q.Get("state")}, "iss": {i.url}}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

func (i *issuer) token(w http.ResponseWriter, r *http.Request) {
	_, by, _ := r.BasicAuth()
	if r.PostFormValue("grant_type") == "authorization_code" {
		i.mu.Lock()
		i.family, i.head, i.revoked = i.family+1, 0, false
		i.grant(w)
		i.mu.Unlock()
		return
	}
	i.tell(asked, by)
	i.mu.Lock()
	if !i.redeem(r.PostFormValue("refresh_token"), by) {
		i.mu.Unlock()
		oauthtest.Reply(w, 400, map[string]any{"error": "invalid_grant"})
		return
	}
	i.mu.Unlock()
	i.tell(committed, by)
	i.mu.Lock()
	i.grant(w)
	i.mu.Unlock()
	w.(http.Flusher).Flush()
	i.tell(answered, by)
}

// redeem replaces a refresh token. The caller holds i.mu.
func (i *issuer) redeem(token, by string) bool {
	switch {
	case i.revoked || !strings.HasPrefix(token, fmt.Sprintf("refresh-%d-", i.family)):
		return false
	case token != i.refresh():
		i.revoked = true
		i.log.reused = append(i.log.reused, by)
		return false
	}
	i.head++
	i.log.redeemed = append(i.log.redeemed, &redemption{by: by, at: time.Now()})
	return true
}

// grant answers with the tokens of now. The caller holds i.mu.
func (i *issuer) grant(w http.ResponseWriter) {
	oauthtest.Reply(w, 200, map[string]any{
		"access_token": i.access(), "refresh_token": i.refresh(), "token_type": "Bearer", "expires_in": 36_000,
	})
}

// visit plays the browser of a person who agrees.
func visit(ctx context.Context, p signin.Page) error {
	_, err := surf(ctx, p.URL)
	return err
}
