package main

import (
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/sdk/auth"
)

// The grants that a login can use.
const (
	grantCode       = "authorization_code"
	grantDevice     = "device_code"
	grantClient     = "client_credentials"
	grantWorkload   = "jwt_bearer"
	grantEnterprise = "enterprise"
)

// Whether tokens are bound to a key.
const (
	dpopAuto = "auto"
	dpopOn   = "on"
	dpopOff  = "off"
)

var manifestSettings = []auth.Setting{
	{Key: "account", About: "a name of your choice, for entries with the same url and different accounts"},
	{Key: "client_id", About: "of a client that you have registered with the authorization server"},
	{Key: "client_secret", About: "of that client, if it has one", Secret: true},
	{Key: "client_metadata_url", About: "https URL of a client id metadata document, for servers that read them"},
	{Key: "scopes", Kind: step.SettingList, About: "to ask for, in place of those that the server names"},
	{Key: "resource", About: `the resource indicator, in place of the server's; "none" sends none`},
	{Key: "authorization_server", About: "issuer of the one authorization server to trust"},
	{Key: "metadata_url", About: "where the metadata of the authorization server is, if it is not in its place"},
	{Key: "authorize_params", Kind: step.SettingTable, About: "more parameters for the page where you sign in"},
	{Key: "callback_host", About: "127.0.0.1 (by itself) or localhost, as it is registered"},
	{Key: "callback_port", About: "as it is registered; any free port by itself"},
	{Key: "callback_path", About: "as it is registered; /callback by itself"},
	{Key: "grant", About: "authorization_code (by itself), device_code, client_credentials, jwt_bearer or enterprise"},
	{Key: "private_key", About: "PEM, with which the client signs its assertions (private_key_jwt)", Secret: true},
	{Key: "key_alg", About: "of that key: ES256 (by itself), RS256, PS256 or EdDSA"},
	{Key: "key_id", About: "of that key, where the authorization server wants one"},
	{Key: "jwt", About: "of the workload, for jwt_bearer", Secret: true},
	{Key: "idp_token_endpoint", About: "of the identity provider, for enterprise"},
	{Key: "idp_client_id", About: "at the identity provider, for enterprise"},
	{Key: "idp_client_secret", About: "at the identity provider, if it wants one", Secret: true},
	{Key: "id_token", About: "from the identity provider, for enterprise", Secret: true},
	{Key: "dpop", About: "bind tokens to a key: auto (where the server asks for it), on or off"},
}

// settings are the keys of the auth table. A resource that is "" differs from one that is left
// out.
type settings struct {
	Account             string            `json:"account"`
	ClientID            string            `json:"client_id"`
	ClientSecret        string            `json:"client_secret"`
	ClientMetadataURL   string            `json:"client_metadata_url"`
	Scopes              []string          `json:"scopes"`
	Resource            *string           `json:"resource"`
	AuthorizationServer string            `json:"authorization_server"`
	MetadataURL         string            `json:"metadata_url"`
	AuthorizeParams     map[string]string `json:"authorize_params"`
	CallbackHost        string            `json:"callback_host"`
	CallbackPort        port              `json:"callback_port"`
	CallbackPath        string            `json:"callback_path"`
	Grant               string            `json:"grant"`
	PrivateKey          string            `json:"private_key"`
	KeyAlg              string            `json:"key_alg"`
	KeyID               string            `json:"key_id"`
	JWT                 string            `json:"jwt"`
	IDPTokenEndpoint    string            `json:"idp_token_endpoint"`
	IDPClientID         string            `json:"idp_client_id"`
	IDPClientSecret     string            `json:"idp_client_secret"`
	IDToken             string            `json:"id_token"`
	DPoP                string            `json:"dpop"`
}

// port is a port number, written as a number or as a text.
type port int

func (p *port) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) != nil {
		text = string(b)
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil && text != "" {
		return errors.New("callback_port is a number up to 65535")
	}
	*p = port(n)
	return nil
}

// read fills in defaults, and refuses contradictions. No error quotes a
// secret.
func (s *settings) read(f *auth.Flow) error {
	if err := f.Settings(s); err != nil {
		return err
	}
	for _, secret := range []*string{&s.ClientSecret, &s.JWT, &s.IDPClientSecret, &s.IDToken} {
		*secret = strings.TrimSpace(*secret) // files end with a line end
	}
	s.Grant = or(s.Grant, grantCode)
	s.KeyAlg = or(s.KeyAlg, "ES256")
	s.DPoP = or(s.DPoP, dpopAuto)
	if err := errors.Join(s.checkAddresses(), s.checkCallback(), s.checkGrant()); err != nil {
		return auth.Misconfigured(err.Error(), "see auth of "+f.Start().Server.Name)
	}
	return nil
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func (s *settings) checkAddresses() error {
	for key, value := range map[string]string{
		"authorization_server": s.AuthorizationServer, "metadata_url": s.MetadataURL, "idp_token_endpoint": s.IDPTokenEndpoint,
	} {
		if u, err := url.Parse(value); value != "" && (err != nil || !isSecure(u, true)) {
			return errors.New(key + " is no https URL")
		}
	}
	if s.ClientMetadataURL != "" {
		u, err := url.Parse(s.ClientMetadataURL)
		if err != nil || !isSecure(u, false) || strings.Trim(u.Path, "/") == "" {
			return errors.New("client_metadata_url is no https URL with a path")
		}
	}
	if name := s.resource(); name != "" {
		if u, err := url.Parse(name); err != nil || !u.IsAbs() || u.Fragment != "" {
			return errors.New("resource is an absolute URI without a fragment")
		}
	}
	return nil
}

// ours are the parameters of an authorization request that the settings must not set: the flow's
// safety rests on them, or another setting has them.
var ours = []string{
	"response_type", "client_id", "client_secret", "redirect_uri", "state", "code_challenge", "code_challenge_method",
	"resource", "scope", "request", "request_uri", "response_mode", "dpop_jkt",
}

func (s *settings) checkCallback() error {
	for name := range s.AuthorizeParams {
		if slices.Contains(ours, name) {
			return errors.New("authorize_params cannot set " + name)
		}
	}
	switch {
	case s.CallbackHost != "" && s.CallbackHost != "127.0.0.1" && s.CallbackHost != "localhost":
		return errors.New("callback_host is 127.0.0.1 or localhost")
	case s.CallbackPath != "" && s.CallbackPath[0] != '/':
		return errors.New("callback_path begins with a slash")
	}
	return nil
}

func (s *settings) checkGrant() error {
	missing := func(key, value string) error {
		if value == "" {
			return errors.New("grant = \"" + s.Grant + "\" needs " + key)
		}
		return nil
	}
	if !slices.Contains([]string{dpopAuto, dpopOn, dpopOff}, s.DPoP) {
		return errors.New("dpop is auto, on or off")
	}
	if !slices.Contains([]string{"ES256", "RS256", "PS256", "EdDSA"}, s.KeyAlg) {
		return errors.New("key_alg is ES256, RS256, PS256 or EdDSA")
	}
	switch s.Grant {
	case grantCode, grantDevice:
		return nil
	case grantClient:
		return errors.Join(missing("client_id", s.ClientID), missing("client_secret or private_key", s.ClientSecret+s.PrivateKey))
	case grantWorkload:
		return missing("jwt", s.JWT)
	case grantEnterprise:
		return errors.Join(missing("client_id", s.ClientID), missing("id_token", s.IDToken),
			missing("idp_token_endpoint", s.IDPTokenEndpoint), missing("idp_client_id", s.IDPClientID))
	}
	return errors.New("grant is authorization_code, device_code, client_credentials, jwt_bearer or enterprise")
}

// resource is the configured resource indicator, or "".
func (s *settings) resource() string {
	if s.Resource == nil || *s.Resource == "none" {
		return ""
	}
	return *s.Resource
}

// byMachine reports whether the grant needs no person.
func (s *settings) byMachine() bool {
	return s.Grant == grantClient || s.Grant == grantWorkload || s.Grant == grantEnterprise
}
