package auth

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-jose/go-jose/v4"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/internal/secret"
	"github.com/wharf-mcp/wharf/host/vault"
	"github.com/wharf-mcp/wharf/sdk/auth"
)

// pemOf writes a key as others do.
func pemOf(t *testing.T, kind string, der []byte, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

// verified returns the header and the claims of a JWT, once its signature is
// known to be good.
func verified(t *testing.T, jwt string, public any) (header map[string]any, claims map[string]any) {
	t.Helper()
	signed, err := jose.ParseSignedCompact(jwt, []jose.SignatureAlgorithm{jose.ES256, jose.RS256, jose.PS256, jose.EdDSA})
	if err != nil {
		t.Fatal(err)
	}
	payload, err := signed.Verify(public)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(payload, &claims); err != nil {
		t.Fatal(err)
	}
	protected := signed.Signatures[0].Protected
	header = map[string]any{"alg": protected.Algorithm, "jwk": protected.JSONWebKey}
	for k, v := range protected.ExtraHeaders {
		header[string(k)] = v
	}
	return header, claims
}

// TestSigning imports keys in every form, and signs with each of them.
func TestSigning(t *testing.T) {
	ec, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	_, ed, _ := ed25519.GenerateKey(rand.Reader)
	rs, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8 := func(key any) string {
		der, err := x509.MarshalPKCS8PrivateKey(key)
		return pemOf(t, "PRIVATE KEY", der, err)
	}
	sec1, err := x509.MarshalECPrivateKey(ec)
	for name, tt := range map[string]struct {
		alg, pem string
		public   any
	}{
		"ES256":  {"ES256", pkcs8(ec), ec.Public()},
		"SEC 1":  {"ES256", pemOf(t, "EC PRIVATE KEY", sec1, err), ec.Public()},
		"RS256":  {"RS256", pkcs8(rs), rs.Public()},
		"PKCS 1": {"PS256", pemOf(t, "RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(rs), nil), rs.Public()},
		"EdDSA":  {"EdDSA", pkcs8(ed), ed.Public()},
	} {
		t.Run(name, func(t *testing.T) {
			var jwt string
			var public *auth.PublicKey
			c := setup(signIn(func(f *auth.Flow) (err error) {
				if public, err = f.Key(auth.Key{Do: step.KeyImport, Name: "k", Alg: tt.alg, PEM: tt.pem}); err != nil {
					return err
				}
				jwt, err = f.Sign("k", map[string]any{"typ": "JWT", "kid": "7"}, map[string]any{"iss": "me"})
				return err
			}))
			if _, err := runFlow(t, c, step.Start{}); err != nil {
				t.Fatal(err)
			}
			header, claims := verified(t, jwt, tt.public)
			wantText(t, fmt.Sprintf("%v %v %v", header["alg"], header["typ"], claims), tt.alg+" JWT map[iss:me]")
			var jwk jose.JSONWebKey
			if err := json.Unmarshal(public.JWK, &jwk); err != nil || !jwk.IsPublic() {
				t.Errorf("the provider sees %s, %v", public.JWK, err)
			}
			if len(public.Thumbprint) != 43 {
				t.Errorf("the thumbprint is %q", public.Thumbprint)
			}
			if len(c.Vault.(*memory).records) != 0 {
				t.Error("an imported key was saved")
			}
		})
	}
}

// TestKeysThatAreNotTaken says nothing of what they are.
func TestKeysThatAreNotTaken(t *testing.T) {
	p384, _ := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	ec, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	short, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8 := func(key any) string {
		der, err := x509.MarshalPKCS8PrivateKey(key)
		return pemOf(t, "PRIVATE KEY", der, err)
	}
	for name, k := range map[string]struct{ alg, pem string }{
		"no PEM": {"ES256", "canary"}, "no key": {"ES256", pemOf(t, "PRIVATE KEY", []byte("canary"), nil)},
		"another curve": {"ES256", pkcs8(p384)}, "another kind": {"RS256", pkcs8(ec)}, "short": {"RS256", pkcs8(short)},
	} {
		c := setup(signIn(func(f *auth.Flow) error {
			_, err := f.Key(auth.Key{Do: step.KeyImport, Name: "k", Alg: k.alg, PEM: k.pem})
			return err
		}))
		_, err := runFlow(t, c, step.Start{})
		if e := wantError(t, err, step.FailConfig, "the key does not fit its algorithm"); strings.Contains(e.Error(), "canary") {
			t.Errorf("%s: %v", name, e)
		}
	}
}

func TestHeadersThatAreTheHosts(t *testing.T) {
	for _, header := range []string{"alg", "crit", "b64"} {
		c := setup(signIn(func(f *auth.Flow) error {
			if _, err := f.Key(auth.Key{Do: step.KeyOpen, Name: "k", Alg: "ES256"}); err != nil {
				return err
			}
			_, err := f.Sign("k", map[string]any{header: "none"}, map[string]any{})
			return err
		}))
		_, err := runFlow(t, c, step.Start{})
		wantError(t, err, Broken, header)
	}
	for _, bad := range []step.Sign{{Key: "k", Claims: []byte(`7`)}, {Key: "k", Claims: []byte(`null`)}, {Key: "k", Header: []byte(`7`), Claims: []byte(`{}`)}} {
		f := &flow{keys: map[string]*key{"k": {}}}
		if _, err := f.sign(t.Context(), &step.Action{Sign: &bad}); err == nil {
			t.Errorf("%s of %s was signed", bad.Header, bad.Claims)
		}
	}
}

// thumbprint opens a saved key in a flow of its own.
func thumbprint(t *testing.T, c Config, alg string) string {
	t.Helper()
	var public *auth.PublicKey
	c.Provider = setup(signIn(func(f *auth.Flow) (err error) {
		public, err = f.Key(auth.Key{Do: step.KeyOpen, Name: "dpop", Alg: alg})
		return err
	})).Provider
	if _, err := runFlow(t, c, step.Start{}); err != nil {
		t.Error(err)
		return ""
	}
	return public.Thumbprint
}

// TestSavedKeys are one for each provider, server, name and algorithm, and out of
// the provider's reach.
func TestSavedKeys(t *testing.T) {
	c := setup(nil)
	m := c.Vault.(*memory)
	seen := map[string]bool{}
	for _, alg := range []string{"ES256", "EdDSA", "PS256"} {
		first := thumbprint(t, c, alg)
		wantText(t, thumbprint(t, c, alg), first)
		seen[first] = true
	}
	other := c
	other.Server.Resource = "https://mcp.example/other"
	seen[thumbprint(t, other, "ES256")] = true
	foreign := c
	foreign.Name = "foreign"
	seen[thumbprint(t, foreign, "ES256")] = true
	if len(seen) != 5 {
		t.Errorf("there are %d keys", len(seen))
	}
	for key := range m.records {
		f := &flow{config: &c}
		if _, err := f.record(step.RecordKey{Name: key.Name, Resource: key.Resource}); err == nil {
			t.Errorf("the provider can have %v", key)
		}
	}
	spoilt := vault.Key{Provider: "corp", Resource: c.Server.Resource, Name: "key/ES256/dpop"}
	m.Store(t.Context(), spoilt, secret.New("no PEM"))
	if now := thumbprint(t, c, "ES256"); seen[now] || now != thumbprint(t, c, "ES256") {
		t.Error("a spoilt key was not replaced")
	}
}

// TestAKeyIsMadeOnce by two processes at a time: the second takes what the first
// has made when the lock is free.
func TestAKeyIsMadeOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := setup(nil)
		m := c.Vault.(*memory)
		name := vault.Key{Provider: "corp", Resource: c.Server.Resource, Name: "key/ES256/dpop"}
		unlock, err := m.Lock(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		second := make(chan string)
		go func() { second <- thumbprint(t, c, "ES256") }()
		synctest.Wait()
		made, text, err := newKey("ES256")
		if err != nil {
			t.Fatal(err)
		}
		m.Store(t.Context(), name, text)
		unlock()
		public, err := made.public()
		if err != nil {
			t.Fatal(err)
		}
		wantText(t, <-second, public.Thumbprint)
	})
}

func TestKeysWithoutAVault(t *testing.T) {
	for _, v := range []Vault{nil, &memory{broken: errors.New("no keyring")}} {
		c := setup(signIn(func(f *auth.Flow) error {
			_, err := f.Key(auth.Key{Do: step.KeyOpen, Name: "k", Alg: "ES256"})
			return err
		}))
		c.Vault = v
		_, err := runFlow(t, c, step.Start{})
		wantError(t, err, step.FailConfig, "")
	}
}

func TestTooManyKeys(t *testing.T) {
	c := setup(signIn(func(f *auth.Flow) error {
		for i := range maxKeys + 1 {
			if _, err := f.Key(auth.Key{Do: step.KeyOpen, Name: fmt.Sprint(i), Alg: "ES256"}); err != nil {
				return err
			}
		}
		return nil
	}))
	_, err := runFlow(t, c, step.Start{})
	wantError(t, err, Broken, "more than 8 keys")
	if n := len(slices.Collect(maps.Keys(c.Vault.(*memory).records))); n != maxKeys {
		t.Errorf("%d keys were saved", n)
	}
}
