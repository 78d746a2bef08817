package main

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/sdk/auth"
)

// server is an authorization server, by its metadata (RFC 8414, section 2).
type server struct {
	Issuer    string
	Authorize string
	Token     string
	Register  string
	Revoke    string
	Device    string
	Methods   []string // of authentication at the token endpoint; nil if it says none
	Scopes    []string
	DPoP      []string // algorithms of proofs
	Challenge []string // methods of PKCE
	Iss       bool     // it names itself in authorization responses (RFC 9207)
	Documents bool     // it reads client id metadata documents
	Guessed   bool     // it has no metadata
}

// metadataPlaces returns the addresses where the metadata of an issuer may be, in the order that
// the Model Context Protocol demands.
func metadataPlaces(issuer string) []string {
	u, err := url.Parse(issuer)
	if err != nil {
		return nil
	}
	places := []string{wellKnown(u, "oauth-authorization-server"), wellKnown(u, "openid-configuration")}
	if path := strings.TrimSuffix(u.EscapedPath(), "/"); path != "" {
		places = append(places, originOf(u)+path+"/.well-known/openid-configuration")
	}
	return places
}

// readServer reads the metadata of an issuer. The document must name that issuer,
// character by character (RFC 8414, section 3.3), or the metadata of one issuer could
// stand in for another's. An empty issuer stands for a place from the settings, which
// vouch for it.
func (l *login) readServer(d *document, issuer string) (*server, error) {
	s := &server{
		Issuer: d.text("issuer"), Authorize: l.endpoint(d, "authorization_endpoint"), Token: l.endpoint(d, "token_endpoint"),
		Register: l.endpoint(d, "registration_endpoint"), Revoke: l.endpoint(d, "revocation_endpoint"),
		Device:  l.endpoint(d, "device_authorization_endpoint"),
		Methods: d.texts("token_endpoint_auth_methods_supported"), Scopes: d.texts("scopes_supported"),
		DPoP: d.texts("dpop_signing_alg_values_supported"), Challenge: d.texts("code_challenge_methods_supported"),
		Iss:       d.flag("authorization_response_iss_parameter_supported"),
		Documents: d.flag("client_id_metadata_document_supported"),
	}
	switch {
	case d.err != nil:
		return nil, d.err
	case s.Issuer == "" || issuer != "" && s.Issuer != issuer:
		return nil, fmt.Errorf("its issuer is %q, and not %s", brief(s.Issuer), brief(or(issuer, "that of an authorization server")))
	case s.Token == "":
		return nil, fmt.Errorf("it names no token endpoint")
	}
	return s, nil
}

// endpoint returns the address in a member, and refuses one that may not be called.
func (l *login) endpoint(d *document, name string) string {
	s := d.text(name)
	if s == "" {
		return ""
	}
	if u, err := url.Parse(s); err != nil || !l.isAllowed(u) || u.Fragment != "" {
		d.fault(name, "https URL")
		return ""
	}
	return s
}

// oldRevision is the revision in which a server is its own authorization server.
const oldRevision = "2025-03-26"

// findOldServer finds the authorization server of a server without protected resource metadata,
// as before there was such metadata. It is the server itself. If that has no metadata of its
// own, its endpoints have default paths (revision 2025-03-26, authorization, sections 2.3.2 and
// 2.3.3).
func (l *login) findOldServer() (server, error) {
	issuer := originOf(l.server)
	if !l.isIssuer(issuer) {
		return server{}, auth.Misconfigured("the server has no https URL, and says nothing of an authorization server", "use https, or another provider")
	}
	revision := map[string]string{"MCP-Protocol-Version": or(l.Start().Server.Revision, oldRevision)}
	found, err := search(l, metadataPlaces(issuer), revision, func(d *document) (*server, error) { return l.readServer(d, issuer) })
	switch {
	case err != nil:
		return server{}, err
	case found != nil:
		return *found, nil
	}
	return server{
		Issuer: issuer, Authorize: issuer + "/authorize", Token: issuer + "/token", Register: issuer + "/register",
		Guessed: true,
	}, nil
}

// checkPKCE comes before an authorization request. Without a code challenge, a thief of
// the code could use it. So the person is not sent to a server that does not announce
// S256. A server without metadata cannot announce it; it is sent a challenge all the
// same.
func (s *server) checkPKCE() error {
	if s.Guessed || slices.Contains(s.Challenge, "S256") {
		return nil
	}
	return auth.Misconfigured("the authorization server "+brief(s.Issuer)+" does not say that it supports PKCE with S256, so signing in there is not safe",
		"tell its makers: code_challenge_methods_supported is missing from its metadata")
}
