package config

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

// The values of the key auth that this package treats in a way of its own.
const (
	AuthNone = "none"  // requests go as they are, and a 401 is an error
	oauth    = "oauth" // what a table without a provider means

	AuthHelper = "helper" // what its command prints takes the place of headers of the same name
)

// Auth says how to sign in to a server. The zero value leaves that to the kind of server that
// the entry leads to.
//
//	auth = "oauth"
//	auth = { client_id = "wharf", scopes = ["read"] }
//	auth = { provider = "bearer", token = { env = "TRACKER_TOKEN" } }
//	auth = { provider = "helper", command = ["corp-token", "--json"] }
//
// A server that is a process or a stream has no headers: the credentials go where the entry
// says.
//
//	auth = { provider = "bearer", token = { env = "VAULT_TOKEN" }, variables = ["TOKEN"] }   # with command
//	auth = { provider = "bearer", token = { env = "VAULT_TOKEN" }, blob = true }             # with address
type Auth struct {
	Provider string   // the name of a plugin, or [AuthNone]
	Command  []string // that the provider may run
	Env      map[string]string

	// Variables names the variables of the process in which a provider may put credentials. With
	// Blob it may send credentials ahead of a byte stream; the transport passes them on without
	// seeing them.
	Variables []string
	Blob      bool

	// RequestBody lets a provider that signs requests see their bodies, which are messages.
	RequestBody bool

	// Settings are what the provider itself reads: string, bool, []string,
	// map[string]string, or a Reference.
	Settings map[string]any
}

// IsZero reports whether the entry says nothing about signing in.
func (a Auth) IsZero() bool { return a.Provider == "" }

// Reference says where a secret setting is found, so that the secret need not stand in the file.
// One of the three fields is set. The secret is looked up when it is needed.
type Reference struct {
	Env    string // a variable of the host
	File   string // without the end of its last line
	Secret string // a name given to `wharf auth secret`
}

// auth reads how to sign in: a name, or a table.
func (e *entry) auth() Auth {
	switch v := e.values["auth"].(type) {
	case nil:
		return Auth{}
	case string:
		e.checkProvider(v)
		return Auth{Provider: v}
	case map[string]any:
		var a Auth
		e.within("auth", v, func(inner *entry) { a = inner.authTable() })
		return a
	default:
		e.fail("auth", `expected a name or a table, not %s; write %s`, sort(v), e.assignment("auth", "oauth"))
		return Auth{}
	}
}

func (e *entry) authTable() (a Auth) {
	a = Auth{
		Provider:    cmp.Or(e.text("provider"), oauth),
		Command:     e.list("command"),
		Env:         e.texts("env"),
		Variables:   e.list("variables"),
		Blob:        e.flag("blob"),
		RequestBody: e.flag("request_body"),
	}
	e.checkProvider(a.Provider)
	for _, key := range slices.Sorted(maps.Keys(e.values)) { // what the provider makes of them is known only when it is loaded
		if !slices.Contains(authKeys.names(), key) {
			a.set(key, e.setting(key))
		}
	}
	return a
}

func (a *Auth) set(key string, value any) {
	if a.Settings == nil {
		a.Settings = make(map[string]any)
	}
	a.Settings[key] = value
}

func (e *entry) checkProvider(name string) {
	if !names.MatchString(name) {
		e.fail("provider", `%q is no name of a provider; write "oauth", "bearer", "helper", "none" or the name of a plugin`, name)
	}
}

// ProviderMeant returns the provider of Wharf's own that a name was probably meant to be, or "".
func ProviderMeant(name string) string {
	return closest(name, []string{"oauth", "bearer", "helper", AuthNone})
}

// setting reads a value that a provider may ask for: a text, a list, a table, true or false.
func (e *entry) setting(key string) any {
	switch v := e.values[key].(type) {
	case string, bool:
		return v
	case []any:
		return e.list(key)
	case map[string]any:
		fields := e.texts(key)
		if r, ok := reference(fields); ok {
			return r
		}
		return fields
	case int64, float64, json.Number:
		text, _ := asText(v)
		return text
	default:
		e.fail(key, "expected a text, a list, a table, true or false, not %s", sort(v))
		return nil
	}
}

// reference reports whether a table is a reference to a secret, and not a table of texts.
func reference(fields map[string]string) (r Reference, ok bool) {
	r = Reference{fields["env"], fields["file"], fields["secret"]}
	return r, len(fields) == 1 && r != Reference{}
}

// checkAuth refuses settings that contradict each other or would silently do nothing.
func (e *entry) checkAuth(s *Server) {
	a := s.Auth
	for name := range s.Headers {
		if strings.EqualFold(name, "Authorization") && !slices.Contains([]string{"", AuthNone, AuthHelper}, a.Provider) {
			e.fail("auth", "headers has an Authorization of its own; leave one of the two out")
		}
	}
	for _, c := range []struct {
		field   string
		useless bool
		without string
	}{
		{"auth", !a.IsZero() && s.URL == "" && len(a.Variables) == 0 && !a.Blob && a.Provider != AuthNone,
			`a url; a process gets credentials by auth.variables, a stream by auth.blob`},
		{"auth.variables", len(a.Variables) > 0 && s.Command == "", "a command"},
		{"auth.blob", a.Blob && s.Address == "", "an address"},
		{"auth.request_body", a.RequestBody && s.URL == "", "a url"},
		{"auth.env", len(a.Env) > 0 && len(a.Command) == 0, "auth.command"},
	} {
		if c.useless {
			e.fail(c.field, "does nothing without %s", c.without)
		}
	}
	for _, name := range slices.Concat(a.Variables, slices.Sorted(maps.Keys(a.Env))) {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			e.fail("auth", "%q is no name of a variable", name)
		}
	}
}

// auth expands the variables in an auth table.
func (x *expansion) auth(a Auth) Auth {
	a.Command = x.list("auth.command", a.Command)
	a.Env = x.table("auth.env", a.Env)
	a.Settings = maps.Clone(a.Settings)
	for _, key := range slices.Sorted(maps.Keys(a.Settings)) {
		field := "auth." + key
		switch v := a.Settings[key].(type) {
		case string:
			a.Settings[key] = x.text(field, v)
		case []string:
			a.Settings[key] = x.list(field, v)
		case map[string]string:
			a.Settings[key] = x.table(field, v)
		case Reference:
			v.File = x.text(field, v.File)
			a.Settings[key] = v
		}
	}
	return a
}

// foreignAuth reads how other clients say how to sign in: the oauth table of many, the auth of
// Cursor, the headersHelper of Claude Code, the variable of Codex, the token of mcporter.
func (e *entry) foreignAuth() Auth {
	if variable := e.text(e.first(foreignKeys.bearer)); variable != "" {
		return Auth{Provider: "bearer", Settings: map[string]any{"token": Reference{Env: variable}}}
	}
	remote := e.values[e.first(foreignKeys.url)] != nil
	key := e.first(foreignKeys.token)
	switch token := e.text(key); {
	case token != "" && !remote:
		e.note(key, "does nothing without a url")
	case token != "":
		return Auth{Provider: "bearer", Settings: map[string]any{"token": token}}
	}
	if helper := e.text("headersHelper"); helper != "" {
		return Auth{Provider: AuthHelper, Command: []string{"/bin/sh", "-c", helper}}
	}
	a := e.foreignProvider()
	for _, key := range slices.Sorted(maps.Keys(foreignOAuthKeys)) {
		if _, given := e.values[key]; given && !remote {
			e.note(key, "does nothing without a url")
		} else if given && (a.IsZero() || a.Provider == oauth) {
			a.Provider = oauth
			e.setForeign(&a, key, foreignOAuthKeys[key])
		}
	}
	return a
}

// tellHelper sets the variables that tell a headersHelper for which server it is run, as Claude Code does since 2.1.85
// (services/mcp/headersHelper.ts). name is that of the server in its file.
func (s *Server) tellHelper(name string) {
	if s.Auth.Provider == AuthHelper && len(s.Auth.Command) > 0 && s.URL != "" {
		s.Auth.Env = map[string]string{"CLAUDE_CODE_MCP_SERVER_NAME": literal(name), helperURL: s.URL}
	}
}

// helperURL is the variable in which a headersHelper gets the url of its server.
const helperURL = "CLAUDE_CODE_MCP_SERVER_URL"

// foreignProvider reads the key oauth or, if that says nothing, the key auth: a table of settings of
// OAuth, the name of a provider, or false for no sign-in.
func (e *entry) foreignProvider() Auth {
	for _, key := range []string{"oauth", "auth"} {
		switch v := e.values[key].(type) {
		case map[string]any:
			var a Auth
			e.within(key, v, func(inner *entry) { a = inner.foreignOAuth() })
			return a
		case string:
			if !names.MatchString(v) {
				e.fail(key, `%q is no name of a provider; write "oauth", "bearer", "helper", "none" or the name of a plugin`, v)
			}
			return Auth{Provider: v}
		case bool:
			if !v {
				return Auth{Provider: AuthNone}
			}
		}
	}
	return Auth{}
}

// oneCredential keeps one of the credentials of an entry that has an Authorization among its
// headers and another way to sign in. As in Claude Code, the header takes precedence over OAuth; what a helper prints takes
// the place of headers when it has run. As in Codex and mcporter, a bearer token of its own key takes precedence over the header.
func (e *entry) oneCredential(s *Server) {
	for name := range s.Headers {
		switch {
		case !strings.EqualFold(name, "Authorization"):
		case s.Auth.Provider == "bearer" && s.Auth.Settings["token"] != nil:
			e.note("headers."+name, "is not used, because the entry has a bearer token of its own")
			delete(s.Headers, name)
		case s.Auth.Provider == oauth:
			e.note("headers."+name, "is used, and so no sign-in by OAuth")
			s.Auth = Auth{}
		}
	}
}

// What some keys of other clients mean, which the provider oauth has no setting for: an address in one
// piece, and the name of a variable in place of a secret.
const (
	keyRedirect       = "redirect URI"
	keySecretVariable = "variable of client_secret"
)

// foreignOAuthKeys are keys of an entry itself that are settings of OAuth.
var foreignOAuthKeys = map[string]string{
	"oauthClientId": "client_id", "oauth_client_id": "client_id", "oauthClientSecret": "client_secret", "oauth_client_secret": "client_secret",
	"oauthClientSecretEnv": keySecretVariable, "oauth_client_secret_env": keySecretVariable,
	"oauthScope": "scopes", "oauth_scope": "scopes", "oauthScopes": "scopes", "oauth_scopes": "scopes",
	"oauthRedirectUrl": keyRedirect, "oauth_redirect_url": keyRedirect,
	"scopes": "scopes", "oauth_resource": "resource", // of Codex
}

// foreignSettings maps the keys of other clients to the names that the provider oauth has for
// them.
var foreignSettings = map[string]string{
	"clientId": "client_id", "client_id": "client_id", "CLIENT_ID": "client_id", "oauthClientId": "client_id",
	"clientSecret": "client_secret", "client_secret": "client_secret", "CLIENT_SECRET": "client_secret",
	"scopes": "scopes", "scope": "scopes", "callbackPort": "callback_port", "callback_port": "callback_port",
	"authServerMetadataUrl": "metadata_url", "redirectUri": keyRedirect,
}

func (e *entry) foreignOAuth() Auth {
	a := Auth{Provider: oauth}
	for _, name := range slices.Sorted(maps.Keys(e.values)) {
		switch ours, known := foreignSettings[name]; {
		case known:
			e.setForeign(&a, name, ours)
		case name == "enabled" && e.values[name] == true: // as it is in Gemini, which has it beside the others
		default:
			e.note(name, "is not used by wharf")
		}
	}
	return a
}

// setForeign sets the settings that a key of another client stands for. The value of scopes may be one
// text, with a word for each scope.
func (e *entry) setForeign(a *Auth, key, ours string) {
	value := e.setting(key)
	text, isText := value.(string)
	switch {
	case isText && text == "": // as good as absent
	case ours == keyRedirect:
		e.setCallback(a, key, text)
	case ours == keySecretVariable:
		a.set("client_secret", Reference{Env: text})
	case isText && ours == "scopes":
		a.set(ours, strings.Fields(text))
	default:
		a.set(ours, value)
	}
}

// callbackURL matches a redirect URI that a sign-in of Wharf can end at.
var callbackURL = lazyregexp.New(`^http://(localhost|127\.0\.0\.1)(?::([0-9]+))?(/[\w.~/-]*)?$`)

// setCallback sets the parts of a redirect URI. A part that the URI leaves open stays open. To mcporter,
// whose key is one of the entry itself, the path "/" is such a part.
func (e *entry) setCallback(a *Auth, key, uri string) {
	m := callbackURL.FindStringSubmatch(uri)
	if m == nil || len(m[2]) > 0 && !isPort(m[2]) {
		e.note(key, "%q is not taken: a sign-in of wharf ends at http://127.0.0.1 or http://localhost; register such an address, and set callback_host, callback_port and callback_path in auth", uri)
		return
	}
	a.set("callback_host", m[1])
	if m[2] != "" {
		a.set("callback_port", m[2])
	}
	if _, ofEntry := foreignOAuthKeys[key]; m[3] != "" && (m[3] != "/" || !ofEntry) {
		a.set("callback_path", m[3])
	}
}

func isPort(text string) bool {
	_, err := strconv.ParseUint(text, 10, 16)
	return err == nil
}
