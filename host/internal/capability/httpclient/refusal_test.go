//go:build unix

package httpclient

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/capability/captest"
)

func TestARefusalIsToldToTheUserAlone(t *testing.T) {
	o, grant := serve(t, guarded(401))
	want := `HTTP 401: sign [31m in first; WWW-Authenticate: Bearer error="invalid_token", resource_metadata="https://h/x"; Mcp-Auth-Server: https://auth.example/`
	unattended := errors.New("no person is at the terminal")
	for name, creds := range map[string]*token{
		"nil": nil,
		"no": {ask: func(_ context.Context, c *Challenge) (bool, error) {
			if c.Said != "sign [31m in first" {
				t.Errorf("the credentials are told %q", c.Said)
			}
			return false, nil
		}},
		"error":     {ask: func(context.Context, *Challenge) (bool, error) { return true, unattended }},
		"no better": {ask: func(context.Context, *Challenge) (bool, error) { return true, nil }},
	} {
		o.Credentials = nil
		if creds != nil {
			o.Credentials = creds
		}
		r := post(t, captest.NewTable(t, captest.Patient(grant)), "{}")
		var refusal *Refusal
		if !errors.As(r.Err, &refusal) || refusal.HTTP != 401 || r.Status != abi.Denied || !strings.Contains(r.Err.Error(), want) {
			t.Fatalf("%s: %v, %v", name, r.Status, r.Err)
		}
		captest.WantOrder(t, r, "error")
		if first := strings.Contains(r.Err.Error(), "sign in: no person is at the terminal; it answered HTTP 401"); first != (name == "error") {
			t.Errorf("%s: the reason is not before the fields: %v", name, r.Err)
		}
		if errors.Is(r.Err, unattended) != (name == "error") {
			t.Errorf("%s: %v", name, r.Err)
		}
		want := map[string]int32{"no": 1, "error": 1, "no better": 3}[name]
		if creds != nil && creds.asked.Load() != want {
			t.Errorf("%s: asked %d times", name, creds.asked.Load())
		}
	}
}

func TestARefusalIsBounded(t *testing.T) {
	_, grant := serve(t, func(w http.ResponseWriter, r *http.Request) {
		for range 50 {
			w.Header().Add("WWW-Authenticate", strings.Repeat("x", 1000))
		}
		w.WriteHeader(401)
		endless(w)
	})
	r := post(t, captest.NewTable(t, captest.Patient(grant)), "{}")
	if n := len(r.Err.Error()); r.Status != abi.Denied || n > 8<<10 {
		t.Errorf("%v, %d bytes", r.Status, n)
	}
}

func TestScopeOfARefusal(t *testing.T) {
	for want, fields := range map[string][]string{
		"read write": {`Bearer error="insufficient_scope", scope="read write", resource_metadata="https://h/x"`},
		"a:b":        {`Basic realm="scope=x"`, `Bearer Scope=a:b,error=insufficient_scope`},
		"":           {`Bearer error="insufficient_scope"`, `Bearer max_scope="x"`},
	} {
		if got := (&Refusal{HTTP: 403, Challenges: fields}).Scope(); got != want {
			t.Errorf("%q: the scope is %q, want %q", fields, got, want)
		}
	}
}

// What the server did not accept comes before the header fields, which may be long.
func TestARefusalOfCredentialsSaysSoFirst(t *testing.T) {
	for want, r := range map[string]*Refusal{
		"the server does not take the Authorization that it was sent; it answered HTTP 401: no; WWW-Authenticate: Bearer": {HTTP: 401, Body: "no", Configured: true, Challenges: []string{"Bearer"}},
		"the server does not take the credentials that it was sent; it answered HTTP 401; WWW-Authenticate: Basic":        {HTTP: 401, Signed: true, Configured: true, Challenges: []string{"Basic"}},
		"the server denies this to the credentials that it was sent; it answered HTTP 403: no":                            {HTTP: 403, Body: "no", Signed: true},
		"HTTP 401 to a request with X-Key: no": {HTTP: 401, Body: "no", Keys: []string{"X-Key"}},
		"HTTP 403: no":                         {HTTP: 403, Body: "no"},
		"HTTP 403":                             {HTTP: 403, Body: "{}"},
		"HTTP 402":                             {HTTP: 402, Body: "{\n}"},
		`HTTP 401: {"a":{}}`:                   {HTTP: 401, Body: `{"a":{}}`},
	} {
		if got := r.Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
