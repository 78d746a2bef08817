package auth

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"

	"github.com/go-jose/go-jose/v4"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/internal/secret"
	"github.com/wharf-mcp/wharf/host/vault"
)

// Sizes of RSA keys. Large ones are slow to use, and a provider brings its own.
const (
	leastRSA = 2048
	mostRSA  = 4096
)

const maxKeys = 8 // of one flow

// key is a private key. It does not leave the host.
type key struct {
	alg     jose.SignatureAlgorithm
	private crypto.Signer
}

// openKey gets hold of a key. Keys are known by their names until the flow ends.
func (f *flow) openKey(ctx context.Context, a *step.Action) (*step.Event, error) {
	k := a.Key
	if len(f.keys) >= maxKeys && f.keys[k.Name] == nil {
		return nil, violationf("it asks for more than %d keys", maxKeys)
	}
	var got *key
	var err error
	if k.Do == step.KeyImport {
		got, err = readKey(k.Alg, k.PEM)
	} else {
		got, err = f.savedKey(ctx, k)
	}
	if err != nil {
		return nil, err
	}
	public, err := got.public()
	f.keys[k.Name] = got
	return &step.Event{Key: public}, err
}

// savedKey returns the key that was saved for this provider and server, or makes
// and saves one. Of two processes that do so at a time, the first one's is kept.
func (f *flow) savedKey(ctx context.Context, k *step.Key) (*key, error) {
	if f.config.Vault == nil {
		return nil, unavailable("there is no vault")
	}
	name := vault.Key{Provider: f.config.Name, Resource: keyHolder(&f.config.Server), Name: "key/" + k.Alg + "/" + k.Name}
	if got, err := f.loadKey(ctx, name, k.Alg); got != nil || err != nil {
		return got, err
	}
	unlock, err := f.config.Vault.Lock(ctx, name)
	if err != nil {
		return nil, vaultProblem(ctx, err)
	}
	defer unlock()
	if got, err := f.loadKey(ctx, name, k.Alg); got != nil || err != nil {
		return got, err
	}
	made, text, err := newKey(k.Alg)
	if err == nil {
		_, err = f.config.Vault.Store(ctx, name, text)
	}
	if err != nil {
		return nil, vaultProblem(ctx, err)
	}
	return made, nil
}

// keyHolder is the resource of the vault keys of a server's private keys.
func keyHolder(s *step.Server) string {
	if sameOrigin(s.Resource, s.URL) {
		return s.Resource
	}
	return boundTo(s)
}

// loadKey returns nil for a key that is not there. One that cannot be read any
// more is as good as that.
func (f *flow) loadKey(ctx context.Context, name vault.Key, alg string) (*key, error) {
	r, found, err := f.config.Vault.Load(ctx, name)
	if err != nil {
		return nil, vaultProblem(ctx, err)
	}
	if !found {
		return nil, nil
	}
	got, err := readKey(alg, r.Value.Reveal())
	if err != nil {
		return nil, nil
	}
	return got, nil
}

func isAlg(alg string) bool {
	switch jose.SignatureAlgorithm(alg) {
	case jose.ES256, jose.RS256, jose.PS256, jose.EdDSA:
		return true
	}
	return false
}

// newKey makes a key, and the text that it is saved as.
func newKey(alg string) (*key, secret.Secret, error) {
	var private crypto.Signer
	var err error
	switch jose.SignatureAlgorithm(alg) {
	case jose.ES256:
		private, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case jose.EdDSA:
		_, private, err = ed25519.GenerateKey(rand.Reader)
	default:
		private, err = rsa.GenerateKey(rand.Reader, leastRSA)
	}
	if err != nil {
		return nil, secret.Secret{}, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, secret.Secret{}, err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	return &key{jose.SignatureAlgorithm(alg), private}, secret.New(string(text)), nil
}

// errKey names what keys are taken. It says nothing of what was given.
var errKey = &step.Problem{Code: step.ProblemRefused, Text: "the key is none of its algorithm: " +
	"want PEM in PKCS #8, PKCS #1 or SEC 1, without a password; P-256 for ES256, Ed25519 for EdDSA, and RSA of 2048 to 4096 bits for RS256 and PS256"}

// readKey reads a private key that is fit for an algorithm.
func readKey(alg, text string) (*key, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errKey
	}
	private, err := parsePrivate(block.Bytes)
	if err != nil || !fits(private, jose.SignatureAlgorithm(alg)) {
		return nil, errKey
	}
	return &key{jose.SignatureAlgorithm(alg), private}, nil
}

func parsePrivate(der []byte) (crypto.Signer, error) {
	if private, err := x509.ParsePKCS8PrivateKey(der); err == nil {
		if signer, ok := private.(crypto.Signer); ok {
			return signer, nil
		}
	}
	if private, err := x509.ParseECPrivateKey(der); err == nil {
		return private, nil
	}
	if private, err := x509.ParsePKCS1PrivateKey(der); err == nil {
		return private, nil
	}
	return nil, errKey
}

func fits(private crypto.Signer, alg jose.SignatureAlgorithm) bool {
	switch private := private.(type) {
	case *ecdsa.PrivateKey:
		return alg == jose.ES256 && private.Curve == elliptic.P256()
	case *rsa.PrivateKey:
		bits := private.N.BitLen()
		return (alg == jose.RS256 || alg == jose.PS256) && bits >= leastRSA && bits <= mostRSA
	case ed25519.PrivateKey:
		return alg == jose.EdDSA
	}
	return false
}

// public is the half that a provider sees.
func (k *key) public() (*step.PublicKey, error) {
	jwk := jose.JSONWebKey{Key: k.private.Public()}
	text, err := jwk.MarshalJSON()
	if err != nil {
		return nil, err
	}
	print, err := jwk.Thumbprint(crypto.SHA256)
	if err != nil {
		return nil, err
	}
	return &step.PublicKey{JWK: text, Thumbprint: base64.RawURLEncoding.EncodeToString(print)}, nil
}

// sign makes a JWT as the provider wants it. What steers how it is read (RFC
// 7515, section 4.1) is the host's to say.
func (f *flow) sign(_ context.Context, a *step.Action) (*step.Event, error) {
	k := f.keys[a.Sign.Key]
	if k == nil {
		return nil, violationf("it has no key %q", cleantext.Line(a.Sign.Key, 64))
	}
	var header, claims map[string]json.RawMessage
	if len(a.Sign.Header) > 0 && json.Unmarshal(a.Sign.Header, &header) != nil {
		return nil, violationf("the header of its JWT is no object")
	}
	if json.Unmarshal(a.Sign.Claims, &claims) != nil || claims == nil {
		return nil, violationf("the claims of its JWT are no object")
	}
	opts := &jose.SignerOptions{}
	for name, value := range header {
		if name == "alg" || name == "crit" || name == "b64" {
			return nil, violationf("the header of its JWT sets %s, which is not its to set", name)
		}
		opts.WithHeader(jose.HeaderKey(name), value)
	}
	jwt, err := k.sign(opts, a.Sign.Claims)
	if err != nil {
		return nil, err
	}
	return &step.Event{Signed: &step.Signed{JWT: jwt}}, nil
}

func (k *key) sign(opts *jose.SignerOptions, payload []byte) (string, error) {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: k.alg, Key: k.private}, opts)
	if err != nil {
		return "", errors.New("sign: " + err.Error())
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		return "", errors.New("sign: " + err.Error())
	}
	return signed.CompactSerialize()
}
