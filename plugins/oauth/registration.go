package main

import (
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strconv"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/sdk/auth"
)

// errNoClient is the error for a server where no client can register itself.
var errNoClient = errors.New("the authorization server lets no client register by itself")

// listener opens the callback for a client, and returns its address; "" for a grant that needs
// none. before is an earlier registration of the client, whose address it may need again.
type listener func(before client) (redirect string, err error)

// identify returns the client to sign in as, and opens its callback. It is the client of the
// settings, a client id metadata document if the authorization server reads those, or a
// registered client.
func (l *login) identify(at *place, listen listener) (c client, err error) {
	switch {
	case l.settings.ClientID != "":
		c, err = l.given(at)
	case l.settings.ClientMetadataURL != "" && at.Server.Documents:
		c = l.documented(at)
	case at.Server.Register != "":
		return l.registered(at, listen)
	default:
		return c, errNoClient
	}
	if err == nil {
		c.Redirect, err = listen(client{})
	}
	return c, err
}

// registrationKey contains the issuer, so that what one authorization server has issued is not
// shown to another.
func registrationKey(issuer string) auth.RecordKey {
	return auth.RecordKey{Name: "registration", Issuer: issuer}
}

// registered returns the client of an earlier registration, as long as its secret and its
// callback are still good. Otherwise it registers another.
func (l *login) registered(at *place, listen listener) (client, error) {
	var c client
	found, err := l.Load(registrationKey(at.Server.Issuer), &c)
	if err != nil {
		return c, err
	}
	if !found || c.Expires != 0 && c.Expires <= l.Now().UnixMilli() {
		c = client{}
	}
	c.reused = c.ID != ""
	redirect, err := listen(c)
	if err != nil || c.reused && c.Redirect == redirect {
		return c, err
	}
	if c, err = l.register(at, redirect); err != nil {
		return c, err
	}
	return c, l.Store(registrationKey(at.Server.Issuer), c)
}

// listen opens the callback at the address in the settings, or else at the client's earlier one.
// Not all authorization servers let a native app change its port, as RFC 8252, section 7.3,
// demands.
func (l *login) listen(before client) (string, error) {
	s := &l.settings
	want := auth.Listen{Host: s.CallbackHost, Port: int(s.CallbackPort), Path: s.CallbackPath}
	if want.Port == 0 {
		want.Port = portOf(before.Redirect)
	}
	redirect, err := l.Listen(want)
	var problem *auth.Problem
	if !errors.As(err, &problem) || problem.Code != step.ProblemRefused || want.Port == 0 {
		return redirect, err
	}
	if s.CallbackPort != 0 {
		return "", auth.Misconfigured("the callback cannot listen on port "+strconv.Itoa(want.Port)+": "+problem.Text,
			"end what uses the port, or change callback_port")
	}
	want.Port = 0
	return l.Listen(want)
}

func portOf(redirect string) int {
	u, err := url.Parse(redirect)
	if err != nil {
		return 0
	}
	n, _ := strconv.Atoi(u.Port()) // 0 for none
	return n
}

// metadata describes a client in its registration (RFC 7591, section 2). It names no scope,
// which would bound what the client can ask for later.
type metadata struct {
	Name      string   `json:"client_name"`
	Version   string   `json:"software_version,omitempty"`
	Type      string   `json:"application_type"`
	Redirects []string `json:"redirect_uris,omitempty"`
	Grants    []string `json:"grant_types"`
	Responses []string `json:"response_types,omitempty"`
	Method    string   `json:"token_endpoint_auth_method"`
}

// deviceGrant is the grant type of RFC 8628, section 3.4.
const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code"

// register registers a native app. It registers one without a secret, if the authorization
// server accepts such clients.
func (l *login) register(at *place, redirect string) (client, error) {
	start := l.Start()
	m := metadata{
		Name: or(start.Client.Name, "Wharf"), Version: start.Client.Version, Type: "native", Method: openMethod(at.Server.Methods),
		Grants: []string{deviceGrant, "refresh_token"},
	}
	if redirect != "" {
		m.Redirects, m.Grants, m.Responses = []string{redirect}, []string{grantCode, "refresh_token"}, []string{"code"}
	}
	body, err := json.Marshal(m)
	if err != nil {
		return client{}, err
	}
	r, err := l.HTTP(auth.HTTP{Method: "POST", URL: at.Server.Register, Body: string(body),
		Headers: map[string]string{"Accept": "application/json", "Content-Type": "application/json"}})
	if err != nil {
		return client{}, err
	}
	c, err := readRegistration(r)
	c.Redirect, c.Method = redirect, or(c.Method, m.Method)
	if c.Method != methodNone && c.Secret == "" {
		c.Method = methodNone
	}
	return c, l.explainRegistration(err, at)
}

// openMethod picks the authentication method to register with. A server that lists none accepts
// basic (RFC 8414, section 2).
func openMethod(supported []string) string {
	if supported == nil {
		return methodBasic
	}
	for _, method := range []string{methodNone, methodBasic, methodPost} {
		if slices.Contains(supported, method) {
			return method
		}
	}
	return methodNone
}

// readRegistration reads the answer of RFC 7591, section 3.2.
func readRegistration(r *auth.Response) (client, error) {
	if err := checkStatus(r); err != nil {
		return client{}, err
	}
	d, err := readDocument(r)
	if err != nil {
		return client{}, err
	}
	c := client{
		Kind: kindRegistered, ID: d.text("client_id"), Secret: d.text("client_secret"), Method: d.text("token_endpoint_auth_method"),
	}
	expires, _ := d.seconds("client_secret_expires_at")
	c.Expires = expires * 1000
	switch {
	case d.err != nil:
		return client{}, d.err
	case c.ID == "":
		return client{}, errors.New("there is no client_id in it")
	case !slices.Contains([]string{"", methodNone, methodBasic, methodPost}, c.Method):
		return client{}, errors.New("it wants the client to authenticate by " + brief(c.Method))
	}
	return c, nil
}

// explainRegistration says what can be done about a registration that
// failed.
func (l *login) explainRegistration(err error, at *place) error {
	var r *refusal
	switch isRefusal := errors.As(err, &r); {
	case err == nil:
		return nil
	case at.Server.Guessed: // a server without OAuth may answer anything, such as a page, at an address that was guessed
		return errNoClient
	case isRefusal && (r.status == 401 || r.status == 403 || r.status == 404 || r.status == 405):
		return errNoClient
	case isRefusal && r.code == "invalid_redirect_uri":
		return auth.Misconfigured("register at "+at.Server.Issuer+": "+r.Error(), `set callback_host = "localhost", or a callback_port and callback_path that it takes`)
	case isRefusal:
		return auth.Misconfigured("register at "+at.Server.Issuer+": "+r.Error(), "register a client there by hand, and set client_id")
	}
	return errors.New("register at " + at.Server.Issuer + ": " + err.Error())
}

// dropLost drops the registration of a client that its issuer no longer knows. A client that was
// registered since stays.
func (l *login) dropLost(src *source) error {
	var c client
	found, err := l.Load(registrationKey(src.Issuer), &c)
	if err != nil || !found || c.ID != src.Client.ID {
		return err
	}
	return l.dropRegistration(src.Issuer)
}

// dropRegistration forgets a client that the authorization server no longer knows.
func (l *login) dropRegistration(issuer string) error { return l.Forget(registrationKey(issuer)) }
