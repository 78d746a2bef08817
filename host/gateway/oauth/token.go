package oauth

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// algorithms are those that a token may be signed with. With a symmetric one, anyone could sign who
// knows the keys of the issuer, which are public.
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
}

// types are those of access tokens. Issuers sign other things too, with the same keys.
var types = []string{"", "jwt", "at+jwt", "application/at+jwt"}

// maxPrincipal is how many bytes the name of a principal may have.
const maxPrincipal = 256

// claims are those claims of a token that [jwt.Claims] has not.
type claims struct {
	Scope        string        `json:"scope"`
	Scp          any           `json:"scp"` // the scopes, as some issuers write them: a text or a list
	Confirmation *confirmation `json:"cnf"`
}

// confirmation is the key that a token is bound to.
type confirmation struct {
	Certificate string `json:"x5t#S256"`
}

// verify verifies a token that came with a request for a resource.
func (s *ResourceServer) verify(ctx context.Context, token, resource string, r *http.Request) (*auth.TokenInfo, error) {
	parsed, err := jwt.ParseSigned(token, algorithms)
	if err != nil {
		return nil, invalid("it is no JWT that is signed with an asymmetric key")
	}
	head := parsed.Headers[0]
	if kind, _ := head.ExtraHeaders[jose.HeaderType].(string); !slices.Contains(types, strings.ToLower(kind)) {
		return nil, invalid("it is no access token by its type")
	}
	key, err := s.keys.find(ctx, head.KeyID, head.Algorithm)
	if err != nil {
		return nil, err
	}
	var standard jwt.Claims
	var more claims
	all := make(map[string]any)
	if parsed.Claims(key, &standard, &more, &all) != nil {
		return nil, invalid("its signature or its claims are not valid")
	}
	if err := standard.ValidateWithLeeway(jwt.Expected{Issuer: s.config.Issuer, Time: time.Now()}, skew); err != nil {
		return nil, invalid(strings.TrimPrefix(err.Error(), "go-jose/go-jose/jwt: "))
	}
	if !s.isFor(standard.Audience, resource) {
		return nil, invalid("its audience is not " + resource)
	}
	if !more.Confirmation.fits(r) {
		return nil, invalid("it is bound to a key that the client has not proven to have")
	}
	principal, _ := all[s.config.Principal].(string)
	if principal == "" || len(principal) > maxPrincipal || !utf8.ValidString(principal) || strings.ContainsFunc(principal, unicode.IsControl) {
		return nil, invalid("its claim " + s.config.Principal + " names no principal")
	}
	return &auth.TokenInfo{UserID: principal, Scopes: more.scopes(), Expiration: standard.Expiry.Time()}, nil
}

// isFor reports whether a token with these audiences is for a resource.
func (s *ResourceServer) isFor(audience jwt.Audience, resource string) bool {
	return oauthex.MatchesResource(audience, resource) || oauthex.MatchesResource(audience, s.config.Resource) ||
		slices.ContainsFunc(s.config.Audience, audience.Contains)
}

// scopes returns the scopes of a token.
func (c *claims) scopes() (scopes []string) {
	scopes = strings.Fields(c.Scope)
	switch scp := c.Scp.(type) {
	case string:
		scopes = append(scopes, strings.Fields(scp)...)
	case []any:
		for _, one := range scp {
			if scope, ok := one.(string); ok {
				scopes = append(scopes, scope)
			}
		}
	}
	return scopes
}

// fits reports whether the sender of a request has proven to have the key of a token. Of the ways to do
// that, only the certificate of the connection is known (RFC 8705).
func (c *confirmation) fits(r *http.Request) bool {
	if c == nil {
		return true
	}
	if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 {
		return false
	}
	sum := sha256.Sum256(r.TLS.PeerCertificates[0].Raw)
	return c.Certificate == base64.RawURLEncoding.EncodeToString(sum[:])
}
