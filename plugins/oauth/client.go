package main

import (
	"encoding/base64"
	"net/url"
	"slices"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/sdk/auth"
)

// Where a client comes from.
const (
	kindGiven      = "given"      // the settings
	kindDocument   = "document"   // it is the URL of a client id metadata document
	kindRegistered = "registered" // dynamic client registration (RFC 7591)
	kindPerson     = "person"     // no client: the person has brought a token
)

// The methods of client authentication at the token endpoint (RFC 7591, section 2;
// OpenID Connect Core, section 9).
const (
	methodNone  = "none"
	methodBasic = "client_secret_basic"
	methodPost  = "client_secret_post"
	methodKey   = "private_key_jwt"
)

// client is Wharf's identity at an authorization server. A secret from the settings is not part
// of it, and so is in no record.
type client struct {
	Kind     string `json:"kind"`
	ID       string `json:"id"`
	Secret   string `json:"secret,omitempty"` // of a registered client
	Method   string `json:"method"`
	Redirect string `json:"redirect,omitempty"` // that was registered
	Expires  int64  `json:"expires,omitempty"`  // of the secret, as Unix time in milliseconds; 0 if it does not expire

	reused bool // it was registered in an earlier flow
}

func (l *login) secretOf(c client) string {
	if c.Kind == kindGiven {
		return l.settings.ClientSecret
	}
	return c.Secret
}

// given is the client of the settings.
func (l *login) given(at *place) (client, error) {
	c := client{Kind: kindGiven, ID: l.settings.ClientID}
	var err error
	c.Method, err = l.settings.method(at.Server.Methods)
	return c, err
}

// method picks how the client of the settings authenticates, by what it has and what the
// authorization server accepts. A server that lists no methods accepts basic (RFC 8414, section
// 2).
func (s *settings) method(supported []string) (string, error) {
	if supported == nil {
		supported = []string{methodBasic, methodKey}
	}
	takes := func(method string) bool { return slices.Contains(supported, method) }
	switch {
	case s.PrivateKey != "" && takes(methodKey):
		return methodKey, nil
	case s.ClientSecret != "" && takes(methodBasic):
		return methodBasic, nil
	case s.ClientSecret != "" && takes(methodPost):
		return methodPost, nil
	case s.ClientSecret == "" && s.PrivateKey == "":
		return methodNone, nil
	}
	return "", auth.Misconfigured("the authorization server takes neither client_secret nor private_key", "it takes: "+brief(list(supported)))
}

// documented returns the client that is described at the URL in the settings. Its document is
// the same for all authorization servers.
func (l *login) documented(at *place) client {
	c := client{Kind: kindDocument, ID: l.settings.ClientMetadataURL, Method: methodNone}
	if l.settings.PrivateKey != "" && slices.Contains(at.Server.Methods, methodKey) {
		c.Method = methodKey
	}
	return c
}

// authenticate adds the client's proof of identity to a request, in exactly one way (RFC 6749,
// section 2.3).
func (l *login) authenticate(src *source, headers map[string]string, form url.Values) error {
	c := src.Client
	switch c.Method {
	case methodBasic:
		// Both are form-encoded before they are put together (section 2.3.1).
		pair := url.QueryEscape(c.ID) + ":" + url.QueryEscape(l.secretOf(c))
		headers["Authorization"] = "Basic " + base64.StdEncoding.EncodeToString([]byte(pair))
	case methodPost:
		form.Set("client_id", c.ID)
		form.Set("client_secret", l.secretOf(c))
	case methodKey:
		assertion, err := l.assertion(c.ID, src.Issuer)
		if err != nil {
			return err
		}
		form.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
		form.Set("client_assertion", assertion)
	default:
		if c.ID != "" {
			form.Set("client_id", c.ID)
		}
	}
	return nil
}

// clientKey is the name of the private key of the client.
const clientKey = "client"

// assertionLife is the lifetime of an assertion of the client, which is used at
// once.
const assertionLife = 120 // seconds

// assertion makes a JWT by which the client authenticates (RFC 7523, section 3). Its audience
// is the issuer, because another authorization server could name the same endpoint as its
// own.
func (l *login) assertion(id, issuer string) (string, error) {
	if _, err := l.Key(auth.Key{Do: step.KeyImport, Name: clientKey, Alg: l.settings.KeyAlg, PEM: l.settings.PrivateKey}); err != nil {
		return "", auth.Misconfigured("private_key: "+err.Error(), "")
	}
	now := l.Now().Unix()
	claims := map[string]any{
		"iss": id, "sub": id, "aud": issuer, "iat": now, "exp": now + assertionLife,
		"jti": base64.RawURLEncoding.EncodeToString(l.Random(16)),
	}
	header := map[string]any{"typ": "JWT"}
	if l.settings.KeyID != "" {
		header["kid"] = l.settings.KeyID
	}
	return l.Sign(clientKey, header, claims)
}
