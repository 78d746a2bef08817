package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// claims are the claims of a proof (RFC 9449, section 4.2).
type claims struct {
	JTI   string `json:"jti"`
	HTM   string `json:"htm"`
	HTU   string `json:"htu"`
	IAT   int64  `json:"iat"`
	ATH   string `json:"ath,omitempty"`
	Nonce string `json:"nonce,omitempty"`
}

// proof returns a proof that the sender of one request has the key. token is the token of the
// request. token and nonce may be "".
func (k *key) proof(method, target, token, nonce string) (string, error) {
	u, err := url.Parse(target)
	if err != nil {
		return "", violationf("a proof is for a URL")
	}
	u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment, u.User = "", false, "", "", nil
	c := claims{JTI: noise(16), HTM: method, HTU: u.String(), IAT: time.Now().Unix(), Nonce: nonce}
	if token != "" {
		sum := sha256.Sum256([]byte(token))
		c.ATH = base64.RawURLEncoding.EncodeToString(sum[:])
	}
	payload, err := json.Marshal(c)
	if err != nil {
		return "", err
	}
	return k.sign((&jose.SignerOptions{EmbedJWK: true}).WithType("dpop+jwt"), payload)
}

// noise returns n random bytes as text.
func noise(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // does not fail
	return base64.RawURLEncoding.EncodeToString(b)
}

const (
	maxNonces = 16      // origins
	maxNonce  = 1 << 10 // bytes
)

// noNonce is the error code by which a server asks for a nonce in the DPoP proof (RFC 9449,
// section 8).
const noNonce = "use_dpop_nonce"

// nonces holds the last nonce of each origin. The zero value is ready; it is safe for concurrent
// use.
type nonces struct {
	mu   sync.Mutex
	last map[string]string
}

func (n *nonces) of(origin string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.last[origin]
}

// note stores the nonce of an answer, and reports whether it is new. It ignores text that is not a
// nonce (section 8.1), because the host signs what it stores.
func (n *nonces) note(origin, nonce string) (renewed bool) {
	isOdd := func(r rune) bool { return r <= ' ' || r == '"' || r == '\\' || r > '~' }
	if nonce == "" || len(nonce) > maxNonce || strings.ContainsFunc(nonce, isOdd) {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.last[origin] == nonce {
		return false
	}
	if n.last == nil || len(n.last) >= maxNonces {
		n.last = map[string]string{} // servers send the nonces in use again
	}
	n.last[origin] = nonce
	return true
}
