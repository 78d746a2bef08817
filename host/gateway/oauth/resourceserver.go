package oauth

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/wharf-mcp/wharf/host/gateway"
)

// Config says which tokens are accepted.
type Config struct {
	// Resource is the origin by which clients reach the gateway, such as "https://mcp.example.com".
	Resource string

	// Issuer is who signs the tokens. JWKS is the URL of its keys; "" is what its metadata say.
	Issuer, JWKS string

	// Audience are further audiences of tokens that are for the gateway. Resource is always
	// one, and so is the URL at which a request comes.
	Audience []string

	// Scopes are those that a token must have, all of them.
	Scopes []string

	// Principal is the claim that names the principal; "" is "sub".
	Principal string

	// Warn is told why the keys of the issuer cannot be fetched, at most once a minute; nil drops
	// that.
	Warn func(error)
}

// ResourceServer accepts tokens. Its methods may be called from any goroutine.
type ResourceServer struct {
	config Config
	keys   *keyring
}

// New returns a resource server. It fetches nothing until a token comes. The caller closes it.
func New(c Config) (*ResourceServer, error) {
	u, err := url.Parse(c.Resource)
	if err != nil || u.Host == "" || strings.TrimSuffix(u.Path, "/") != "" || u.RawQuery != "" {
		return nil, fmt.Errorf(`the resource %q is no origin: expected "https://host" or "https://host:port", without a path`, c.Resource)
	}
	c.Resource, c.Principal = strings.TrimSuffix(c.Resource, "/"), cmp.Or(c.Principal, "sub")
	keys, err := newKeyring(c)
	if err != nil {
		return nil, err
	}
	return &ResourceServer{c, keys}, nil
}

// Close ends what it fetches.
func (s *ResourceServer) Close() { s.keys.fetcher.Close() }

// metadataPath is the path of the metadata, before that of what they are about.
const metadataPath = "/.well-known/oauth-protected-resource"

// ServeHTTP answers a request for the metadata, which are no secret. It is a
// [gateway.Config].WellKnown.
func (s *ResourceServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, found := strings.CutPrefix(r.URL.Path, metadataPath)
	if !found || path != pathOf(path) {
		http.NotFound(w, r)
		return
	}
	auth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{
		Resource: s.config.Resource + path, AuthorizationServers: []string{s.config.Issuer},
		ScopesSupported: s.config.Scopes, BearerMethodsSupported: []string{"header"},
	}).ServeHTTP(w, r)
}

// pathOf returns the path of a resource, if it is that of all servers as one or can be that of a
// server, and else "". Whether there is such a server is not for everyone to know.
func pathOf(path string) string {
	name, found := strings.CutPrefix(path, "/mcp/")
	odd := func(r rune) bool {
		return !('a' <= r|0x20 && r|0x20 <= 'z' || '0' <= r && r <= '9' || strings.ContainsRune("-_.", r))
	}
	if path == "/mcp" || found && name != "" && !strings.ContainsFunc(name, odd) {
		return path
	}
	return ""
}

// skew is by how much the clocks of issuer and gateway may differ.
const skew = 30 * time.Second

// Principal is a [gateway.Config].Principal.
func (s *ResourceServer) Principal(r *http.Request) (principal string, err error) {
	path := pathOf(r.URL.Path)
	verify := func(ctx context.Context, token string, r *http.Request) (*auth.TokenInfo, error) {
		return s.verify(ctx, token, s.config.Resource+path, r)
	}
	options := &auth.RequireBearerTokenOptions{ResourceMetadataURL: s.config.Resource + metadataPath + path, Scopes: s.config.Scopes, ClockSkew: skew}
	accept := func(_ http.ResponseWriter, r *http.Request) {
		principal = auth.TokenInfoFromContext(r.Context()).UserID
	}
	var v verdict
	auth.RequireBearerToken(verify, options)(http.HandlerFunc(accept)).ServeHTTP(&v, r)
	if principal == "" {
		return "", v.refusal(r.Header.Get("Authorization") != "")
	}
	return principal, nil
}

// verdict is the response to a request that is refused.
type verdict struct {
	header http.Header
	status int
	why    bytes.Buffer
}

func (v *verdict) WriteHeader(status int)             { v.status = status }
func (v *verdict) Write(text []byte) (n int, _ error) { return v.why.Write(text) }

func (v *verdict) Header() http.Header {
	if v.header == nil {
		v.header = make(http.Header)
	}
	return v.header
}

// refusal returns the refusal of a verdict. It adds the error code of RFC 6750 to the challenge, if the
// request had a token.
func (v *verdict) refusal(hadToken bool) error {
	r := &gateway.Refusal{Status: v.status, Challenge: v.header.Get("WWW-Authenticate"), Why: strings.TrimSpace(v.why.String())}
	code := ""
	switch {
	case v.status == http.StatusForbidden:
		code = "insufficient_scope"
	case v.status == http.StatusUnauthorized && hadToken:
		code = "invalid_token"
	case v.status == http.StatusInternalServerError: // the issuer cannot be asked
		r.Status = http.StatusServiceUnavailable
	}
	if scheme, rest, found := strings.Cut(r.Challenge, " "); found && code != "" {
		r.Challenge = fmt.Sprintf("%s error=%q, %s", scheme, code, rest)
	}
	return r
}

// invalid returns the error of a token that is not accepted. The client reads it, so it quotes
// nothing.
func invalid(why string) error { return fmt.Errorf("%w: %s", auth.ErrInvalidToken, why) }
