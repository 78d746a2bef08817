package auth

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-jose/go-jose/v4"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/internal/capability/httpclient"
	"github.com/wharf-mcp/wharf/host/internal/egress"
	"github.com/wharf-mcp/wharf/sdk/auth"
)

// readProof verifies a proof with the key that is in it.
func readProof(t *testing.T, proof string) map[string]any {
	t.Helper()
	signed, err := jose.ParseSignedCompact(proof, []jose.SignatureAlgorithm{jose.ES256})
	if err != nil {
		t.Fatal(err)
	}
	header, claims := verified(t, proof, signed.Signatures[0].Protected.JSONWebKey)
	if jwk := header["jwk"].(*jose.JSONWebKey); !jwk.IsPublic() || header["typ"] != "dpop+jwt" {
		t.Errorf("the header is %v", header)
	}
	return claims
}

// bound is a flow that gets a token for a key.
func bound(f *auth.Flow) error {
	if _, err := f.Key(auth.Key{Do: step.KeyOpen, Name: "dpop", Alg: "ES256"}); err != nil {
		return err
	}
	answer, err := f.HTTP(auth.HTTP{Method: "POST", URL: "https://sso.example/token?a=b", DPoP: "dpop", Headers: map[string]string{"dpop": "mine"}})
	if err != nil {
		return err
	}
	f.Credentials(auth.Credentials{Scheme: "DPoP", Token: answer.Body, DPoP: "dpop"})
	return nil
}

// tokens is a token endpoint that wants a nonce of its own.
func tokens(t *testing.T, sent *int) fetcher {
	return func(r egress.FetchRequest) (*egress.FetchResponse, error) {
		*sent++
		proofs := 0
		for name := range r.Header {
			if strings.EqualFold(name, "DPoP") {
				proofs++
			}
		}
		claims := readProof(t, r.Header["DPoP"])
		wantText(t, fmt.Sprintf("%v %v %v %v", proofs, claims["htm"], claims["htu"], claims["ath"]), "1 POST https://sso.example/token <nil>")
		answer := &egress.FetchResponse{Status: 200, Body: []byte("abc"), Header: map[string]string{"dpop-nonce": "sso 2"}}
		if claims["nonce"] != "sso1" {
			answer = &egress.FetchResponse{Status: 400, Body: []byte(`{"error":"use_dpop_nonce"}`), Header: map[string]string{"dpop-nonce": "sso1"}}
		}
		return answer, nil
	}
}

// TestProofs follows a token and its proofs from the token endpoint, which wants
// a nonce, to a server, which wants another and renews it.
func TestProofs(t *testing.T) {
	sent := 0
	c := setup(signIn(bound))
	c.Fetch = tokens(t, &sent)
	a := account(t, c)
	nonce := ""
	seen := map[any]bool{}
	server := func(pairs []abi.Pair) httpclient.Challenge {
		if sentHeader(pairs, "Authorization") != "DPoP abc" {
			t.Errorf("the request carries %v", pairs)
		}
		claims := readProof(t, sentHeader(pairs, "DPoP"))
		// SHA-256 of abc (FIPS 180-2, appendix B.1), as RFC 9449 wants it.
		wantText(t, fmt.Sprintf("%v %v %v", claims["htm"], claims["htu"], claims["ath"]), "POST https://mcp.example/mcp ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0")
		if seen[claims["jti"]] {
			t.Error("a proof was used twice")
		}
		seen[claims["jti"]] = true
		if got, _ := claims["nonce"].(string); got != nonce || got == "" {
			nonce = fmt.Sprint("mcp", len(seen))
			return httpclient.Challenge{Status: 401, DPoPNonce: nonce, Authenticate: []string{`DPoP error="use_dpop_nonce"`}}
		}
		nonce = fmt.Sprint("mcp", len(seen))
		return httpclient.Challenge{Status: 200, DPoPNonce: nonce}
	}
	for i, want := range []int{2, 1, 1} {
		if n, err := exchange(t.Context(), a, server); n != want || err != nil {
			t.Errorf("request %d was sent %d times, %v", i, n, err)
		}
	}
	if sent != 2 {
		t.Errorf("the token endpoint was asked %d times", sent)
	}
	wantText(t, fmt.Sprint(c.Vault.(*memory).n), "1")
}

// TestAServerWithoutEnoughOfNonces wants another each time.
func TestAServerWithoutEnoughOfNonces(t *testing.T) {
	sent := 0
	c := setup(signIn(bound))
	c.Fetch = tokens(t, &sent)
	p, _ := c.Provider(t.Context())
	a := account(t, c)
	n, err := exchange(t.Context(), a, func([]abi.Pair) httpclient.Challenge {
		return httpclient.Challenge{Status: 401, DPoPNonce: noise(8), Authenticate: []string{`DPoP error="use_dpop_nonce"`}}
	})
	if n != 4 || err != errRefused {
		t.Errorf("sent %d times, %v", n, err)
	}
	wantText(t, fmt.Sprint(p.(*scripted).starts()), "[initial]")
}

// TestManyRequestsThatLackANonce were sent together. Each goes out again, though
// only the first has brought something new.
func TestManyRequestsThatLackANonce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := 0
		c := setup(signIn(bound))
		c.Fetch = tokens(t, &sent)
		p, _ := c.Provider(t.Context())
		a := account(t, c)
		first, _ := a.Apply(t.Context(), request)
		for range 10 {
			retry, err := a.Challenge(t.Context(), &httpclient.Challenge{Status: 401, Number: 1, Sent: first, DPoPNonce: "n", Authenticate: []string{`DPoP error="use_dpop_nonce"`}})
			if !retry || err != nil {
				t.Errorf("retry %v, %v", retry, err)
			}
		}
		again, _ := a.Apply(t.Context(), request)
		retry, _ := a.Challenge(t.Context(), &httpclient.Challenge{Status: 403, Number: 1, Sent: again, DPoPNonce: "n", Authenticate: []string{`DPoP error="use_dpop_nonce"`}})
		if retry {
			t.Error("a request that had the nonce was sent again")
		}
		wantText(t, fmt.Sprint(p.(*scripted).starts()), "[initial]")
	})
}

// TestNonces are kept by origin, so many of them, and only what is one.
func TestNonces(t *testing.T) {
	var n nonces
	for _, bad := range []string{"", "a b", "a\"", "a\\", "\n", "ä", strings.Repeat("x", maxNonce+1)} {
		if n.note("o", bad) || n.of("o") != "" {
			t.Errorf("%q was kept", bad)
		}
	}
	if !n.note("o", "1") || n.note("o", "1") || !n.note("o", "2") || n.of("o") != "2" || n.of("p") != "" {
		t.Error("a nonce is not what was noted last")
	}
	for i := range 1000 {
		n.note(fmt.Sprint(i), "x")
	}
	if len(n.last) > maxNonces {
		t.Errorf("%d are kept", len(n.last))
	}
}

// TestATokenEndpointWithoutEnoughOfNonces is asked twice and no more.
func TestATokenEndpointWithoutEnoughOfNonces(t *testing.T) {
	sent := 0
	c := setup(signIn(bound))
	c.Fetch = fetcher(func(egress.FetchRequest) (*egress.FetchResponse, error) {
		if sent++; sent > 5 {
			return nil, errors.New("enough")
		}
		return &egress.FetchResponse{Status: 401, Header: map[string]string{
			"dpop-nonce": fmt.Sprint(sent), "www-authenticate": `DPoP error="use_dpop_nonce"`}, Body: []byte("x")}, nil
	})
	if _, err := runFlow(t, c, step.Start{}); err != nil || sent != 2 {
		t.Errorf("asked %d times, %v", sent, err)
	}
}

func BenchmarkApply(b *testing.B) {
	for name, sign := range map[string]func(f *auth.Flow) error{
		"bearer": func(f *auth.Flow) error { f.Credentials(auth.Credentials{Scheme: "Bearer", Token: "abc"}); return nil },
		"dpop": func(f *auth.Flow) error {
			if _, err := f.Key(auth.Key{Do: step.KeyOpen, Name: "dpop", Alg: "ES256"}); err != nil {
				return err
			}
			f.Credentials(auth.Credentials{Scheme: "DPoP", Token: "abc", DPoP: "dpop"})
			return nil
		},
	} {
		b.Run(name, func(b *testing.B) {
			a := NewAccount(setup(signIn(sign)))
			defer a.Close()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := a.Apply(context.Background(), request); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
