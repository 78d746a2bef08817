package auth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"

	"github.com/go-jose/go-jose/v4"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/internal/secret"
)

// Bounds of the size of RSA keys. Large keys are slow, and providers can import keys.
const (
	leastRSA = 2048
	mostRSA  = 4096
)

// algs are the algorithms of keys.
var algs = []jose.SignatureAlgorithm{jose.ES256, jose.RS256, jose.PS256, jose.EdDSA}

// key is a private key. It never leaves the host.
type key struct {
	alg     jose.SignatureAlgorithm
	private crypto.Signer
}

// newKey makes a key, and the text in which it is saved.
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

// errKey says which keys can be read. It quotes nothing of the given text.
var errKey = &step.Problem{Code: step.ProblemRefused, Text: "the key does not fit its algorithm: " +
	"want PEM in PKCS #8, PKCS #1 or SEC 1, without a password; P-256 for ES256, Ed25519 for EdDSA, and RSA of 2048 to 4096 bits for RS256 and PS256"}

// readKey reads a private key for an algorithm.
func readKey(name, text string) (*key, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errKey
	}
	var private any
	var err error
	if private, err = x509.ParsePKCS8PrivateKey(block.Bytes); err != nil {
		if private, err = x509.ParseECPrivateKey(block.Bytes); err != nil {
			private, err = x509.ParsePKCS1PrivateKey(block.Bytes)
		}
	}
	if err != nil {
		return nil, errKey
	}
	alg, fits := jose.SignatureAlgorithm(name), false
	switch private := private.(type) {
	case *ecdsa.PrivateKey:
		fits = alg == jose.ES256 && private.Curve == elliptic.P256()
	case *rsa.PrivateKey:
		bits := private.N.BitLen()
		fits = (alg == jose.RS256 || alg == jose.PS256) && bits >= leastRSA && bits <= mostRSA
	case ed25519.PrivateKey:
		fits = alg == jose.EdDSA
	}
	if !fits {
		return nil, errKey
	}
	return &key{alg, private.(crypto.Signer)}, nil
}

// public returns the public half of the key, which a provider may see.
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

// sign returns a JWT with this payload.
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
