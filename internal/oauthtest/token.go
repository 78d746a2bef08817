package oauthtest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"time"
)

// The keys of a [Server] that signs tokens, by their ids.
const (
	RSAKey = "rsa"
	ECKey  = "ec"
)

// keys are those of a server that signs tokens.
type keys struct {
	rsa *rsa.PrivateKey
	ec  *ecdsa.PrivateKey
}

// Sign has the server sign tokens: /jwks has its public keys, and its metadata name them. It is called
// before the first request.
func (s *Server) Sign() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys = newKeys()
}

func newKeys() *keys {
	r, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	e, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	return &keys{r, e}
}

// JWKS returns the public keys of a server that signs tokens.
func (s *Server) JWKS() map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keys.public()
}

func (k *keys) public() map[string]any {
	point, err := k.ec.PublicKey.Bytes()
	if err != nil {
		panic(err)
	}
	return map[string]any{"keys": []any{
		map[string]any{"kty": "RSA", "kid": RSAKey, "use": "sig", "n": b64(k.rsa.N.Bytes()), "e": b64(big.NewInt(int64(k.rsa.E)).Bytes())},
		map[string]any{"kty": "EC", "kid": ECKey, "crv": "P-256", "x": b64(point[1:33]), "y": b64(point[33:])},
	}}
}

// Claims returns the claims of a good token for an audience, with changes; a claim that is nil there is
// left out.
func (s *Server) Claims(audience string, changes map[string]any) map[string]any {
	now := time.Now()
	claims := map[string]any{"iss": s.URL, "aud": audience, "sub": "ann", "iat": now.Unix(), "exp": now.Add(time.Hour).Unix()}
	maps.Copy(claims, changes)
	maps.DeleteFunc(claims, func(_ string, v any) bool { return v == nil })
	return claims
}

// Mint returns a token with a header and claims, which is signed as its header says: RS256, ES256, none,
// or HS256 with a secret.
func (s *Server) Mint(header, claims map[string]any, secret []byte) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := part(header) + "." + part(claims)
	digest := sha256.Sum256([]byte(text))
	var signature []byte
	var err error
	switch header["alg"] {
	case "RS256":
		signature, err = rsa.SignPKCS1v15(rand.Reader, s.keys.rsa, crypto.SHA256, digest[:])
	case "ES256":
		var r, t *big.Int
		if r, t, err = ecdsa.Sign(rand.Reader, s.keys.ec, digest[:]); err == nil {
			signature = append(r.FillBytes(make([]byte, 32)), t.FillBytes(make([]byte, 32))...)
		}
	case "HS256":
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte(text))
		signature = mac.Sum(nil)
	case "none":
	default:
		err = fmt.Errorf("there is no algorithm %v", header["alg"])
	}
	if err != nil {
		panic(err)
	}
	token := text + "." + b64(signature)
	s.secrets = append(s.secrets, token)
	return token
}

func part(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b64(text)
}

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
