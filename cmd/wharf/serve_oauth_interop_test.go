package main

import (
	"bufio"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host/gateway/oauth"
)

// S4: the tokens that oidc-provider gives out are accepted, where they are for us and valid, and what is made
// of them is not. It wants what [TestInterop] wants.
func TestInteropS4Tokens(t *testing.T) {
	packages := os.Getenv("WHARF_INTEROP")
	if packages == "" {
		t.Skip("WHARF_INTEROP names no folder with servers")
	}
	packages, err := filepath.Abs(packages)
	if err != nil {
		t.Fatal(err)
	}
	const ours, other = "https://mcp.example.com/mcp", "https://other.example/mcp"
	orders, answers, _ := startSignInScript(t, "tokens.mjs", packages, ours, other)
	lines := bufio.NewScanner(answers)
	if !lines.Scan() {
		t.Fatal("it has not started")
	}
	issuer := lines.Text()
	ahead := func(seconds int) {
		fmt.Fprintln(orders, seconds)
		if !lines.Scan() {
			t.Fatal("it has ended")
		}
	}
	mint := func(resource string) string {
		form := url.Values{"grant_type": {"client_credentials"}, "resource": {resource}, "scope": {"mcp"}}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, issuer+"/token", strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.SetBasicAuth("ci", "known+to+ci")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		var got struct {
			Token string `json:"access_token"`
		}
		if err != nil || json.Unmarshal(text, &got) != nil || got.Token == "" {
			t.Fatalf("no token: %s, %v", text, err)
		}
		return got.Token
	}
	good, foreign := mint(ours), mint(other)
	ahead(-7200)
	expired := mint(ours)
	ahead(7200)
	early := mint(ours)
	ahead(0)

	answer, err := http.Get(issuer + "/jwks")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var keys struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&keys); err != nil || len(keys.Keys) == 0 {
		t.Fatal(err)
	}
	parts := strings.Split(good, ".")
	b64 := base64.RawURLEncoding
	head := func(change string) string { return b64.EncodeToString([]byte(change)) }
	confused := head(`{"alg":"HS256","typ":"at+jwt"}`) + "." + parts[1]
	mac := hmac.New(sha256.New, keys.Keys[0])
	mac.Write([]byte(confused))
	confused += "." + b64.EncodeToString(mac.Sum(nil))

	s, err := oauth.New(oauth.Config{Resource: "https://mcp.example.com", Issuer: issuer, Scopes: []string{"mcp"}, Principal: "client_id"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, c := range [][3]string{
		{"good", good, ""}, {"foreign audience", foreign, "audience"}, {"expired", expired, "expired"}, {"of the future", early, "issued in the future"},
		{"none", head(`{"alg":"none","typ":"at+jwt"}`) + "." + parts[1] + ".", "no JWT"}, {"key confusion", confused, "no JWT"},
		{"unknown kid", head(`{"alg":"RS256","typ":"at+jwt","kid":"other"}`) + "." + parts[1] + "." + parts[2], "no such key"},
		{"another header", head(`{"alg":"RS256"}`) + "." + parts[1] + "." + parts[2], "signature"},
	} {
		r := httptest.NewRequest(http.MethodPost, ours, nil)
		r.Header.Set("Authorization", "Bearer "+c[1])
		switch principal, err := s.Principal(r); {
		case c[2] == "" && (err != nil || principal != "ci"):
			t.Errorf("%s: %q, %v", c[0], principal, err)
		case c[2] != "" && (err == nil || !strings.Contains(err.Error(), c[2])):
			t.Errorf("%s: %q, %v; want %s", c[0], principal, err, c[2])
		}
	}
}
