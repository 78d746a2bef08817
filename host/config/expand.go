package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/host/internal/secret"
	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

// Expand returns the server with the variables in its values replaced: in command, args, env,
// dir, url, headers, auth, address and settings, and never in a key. It does not change s.
// lookup is [os.LookupEnv] or a function like it.
//
//	${NAME}            the variable; an error where it is not set
//	${NAME:-default}   the default where it is not set, or empty; in it, $NAME, ${NAME} and ${env:NAME} of the same name are texts, for one that is not set
//	${env:NAME}        the same as ${NAME}, as editors write it
//	${?NAME}           the variable; as all of a value in env, headers or settings, it leaves that out where it is not set
//	${secret:NAME}     a secret of the vault, which stays until [Server.Resolve]
//	${file:PATH}       what is in a file, as a secret
//	${input:ID}        the answer to a question of the file, see [Input], as a secret
//	$$                 a dollar sign
//
// A dollar sign before anything else stands for itself. The value of a variable is not searched
// for variables, neither here nor by Resolve. The error joins one [Error] for each mistake.
//
// An entry that was expanded before, or is [Server.Literal], comes back unchanged. So does an
// entry of a project: its variables are not looked up before the user has approved of it, see
// [Server.Release].
func (s Server) Expand(lookup func(string) (string, bool)) (Server, error) {
	if s.Project != nil || s.secrets != nil {
		return s, nil
	}
	return s.expand(lookup)
}

// Literal returns the server marked as expanded, so that a dollar sign in its values stands for
// itself. It is for entries that a program or a person has made.
func (s Server) Literal() Server {
	s.secrets = map[string][]piece{}
	return s
}

func (s Server) expand(lookup func(string) (string, bool)) (Server, error) {
	secrets := make(map[string][]piece)
	vars := s.vars(lookup)
	x := &expansion{server: &s, replace: func(field, value string) (string, []error) {
		pieces, errs := split(value, vars.in(field))
		if slices.ContainsFunc(pieces, piece.isSecret) {
			secrets[field] = pieces
		}
		return joined(pieces), errs
	}}
	x.absent = func(field, value string) bool { return s.isAbsent(field, value, lookup) }
	before := s
	x.all()
	for field, texts := range map[string][2]string{"command": {before.Command, s.Command}, "url": {before.URL, s.URL}, "address": {before.Address, s.Address}} {
		if texts[0] != "" && texts[1] == "" && len(x.wrong) == 0 {
			x.fail(field, "is empty with its variables filled in; set them")
		}
	}
	if len(x.wrong) == 0 {
		x.check()
	}
	s.secrets = secrets
	return s, join(x.wrong)
}

// Secrets returns where to find the secrets that the entry takes by ${secret:NAME}, ${file:PATH}
// and ${input:ID}, sorted. It may be called before and after Expand.
func (s Server) Secrets() []Reference {
	found := make(map[Reference]bool)
	note := func(pieces []piece) {
		for _, p := range pieces {
			if p.isSecret() {
				found[p.secret] = true
			}
		}
	}
	if s.secrets == nil {
		s.pieces(note)
	}
	for _, pieces := range s.secrets {
		note(pieces)
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b Reference) int {
		return cmp.Or(cmp.Compare(a.Secret, b.Secret), cmp.Compare(a.File, b.File))
	})
}

// pieces calls see with the parts of each value that may hold a variable.
func (s Server) pieces(see func([]piece)) {
	vars := s.vars(unset)
	x := &expansion{server: &s, replace: func(field, value string) (string, []error) {
		pieces, _ := split(value, vars.in(field))
		see(pieces)
		return value, nil
	}}
	x.all()
}

// Resolve returns the server with the values of its [Server.Secrets] in the places that Expand
// found for them. An entry before Resolve holds no secret, and so may be shown, compared and
// kept. A secret that is not in values is an error.
func (s Server) Resolve(values map[Reference]string) (Server, error) {
	if len(s.secrets) == 0 {
		return s, nil
	}
	x := &expansion{server: &s}
	x.replace = func(field, value string) (out string, errs []error) {
		pieces, ok := s.secrets[field]
		if !ok {
			return value, nil
		}
		for _, p := range pieces {
			text, known := values[p.secret]
			if p.isSecret() && !known {
				errs = append(errs, fmt.Errorf("there is no %s", p.written))
			}
			out += p.text + text
		}
		return out, errs
	}
	x.all()
	if len(x.wrong) == 0 {
		x.check()
	}
	s.secrets = map[string][]piece{}
	return s, join(x.wrong)
}

func unset(string) (string, bool) { return "", false }

// Variables returns the names of the variables that the entry takes from the environment,
// sorted: those that Expand looks up, and those that hold a secret which is looked up later.
func (s Server) Variables() []string {
	names := make(map[string]bool)
	note := func(name string) (string, bool) {
		names[name] = true
		return "", true
	}
	vars := s.vars(note)
	x := &expansion{server: &s, replace: func(field, value string) (string, []error) {
		_, errs := split(value, vars.in(field))
		return "", errs
	}}
	x.all()
	for _, setting := range s.Auth.Settings {
		if r, ok := setting.(Reference); ok && r.Env != "" {
			names[r.Env] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// Unset returns the names of the variables that the entry takes from the environment and that are not set, sorted,
// without those for which it has a text. It is for what a person may want to set: an entry may be ready without.
func (s Server) Unset(lookup func(string) (string, bool)) []string {
	names := make(map[string]bool)
	s.eachUnset(lookup, func(name string, _ bool) { names[name] = true })
	for _, setting := range s.Auth.Settings {
		if r, ok := setting.(Reference); ok && r.Env != "" {
			if _, set := lookup(r.Env); !set {
				names[r.Env] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// eachUnset calls see with each variable in a value that is not set and for which there is no text. wrong says that this is
// a mistake in that value.
func (s Server) eachUnset(lookup func(string) (string, bool), see func(name string, wrong bool)) {
	vars := s.vars(lookup)
	x := &expansion{server: &s, replace: func(field, value string) (string, []error) {
		pieces, errs := split(value, vars.in(field))
		for _, p := range pieces {
			if p.unset != "" {
				see(p.unset, len(errs) > 0)
			}
		}
		return value, nil
	}}
	x.all()
}

// CheckVariables returns all mistakes in the variables of an entry, also of one of a project. It
// finds the errors that Expand returns for an entry of the user's own, and the variables of auth
// that are not set. It opens nothing.
func (s Server) CheckVariables(lookup func(string) (string, bool)) error {
	var errs []error
	if s.secrets == nil {
		_, err := s.expand(lookup)
		errs = append(errs, err)
	}
	for _, key := range slices.Sorted(maps.Keys(s.Auth.Settings)) {
		if r, ok := s.Auth.Settings[key].(Reference); ok && r.Env != "" {
			if _, set := lookup(r.Env); !set {
				errs = append(errs, s.mistake("auth."+key, "the variable %s is not set", r.Env))
			}
		}
	}
	return errors.Join(errs...)
}

// expansion replaces text in the values of one server. The server is the caller's own copy: its
// lists and tables are replaced and not changed.
type expansion struct {
	server  *Server
	replace func(field, value string) (out string, errs []error)
	every   bool                           // replace is called for values without a dollar sign too
	absent  func(field, value string) bool // a variable or header is left out; nil if none is
	wrong   []*Error
}

// all replaces every value of the server that may hold a variable.
func (x *expansion) all() {
	s := x.server
	s.Command = x.text("command", s.Command)
	s.Args = x.list("args", s.Args)
	s.Env = x.table("env", s.Env)
	s.EnvFile = x.text("env_file", s.EnvFile)
	s.Dir = x.text("dir", s.Dir)
	s.URL = x.text("url", s.URL)
	s.Headers = x.table("headers", s.Headers)
	s.Proxy = x.text("proxy", s.Proxy)
	s.TLS.CA = x.text("tls.ca", s.TLS.CA)
	s.TLS.Cert = x.text("tls.cert", s.TLS.Cert)
	s.TLS.Key = x.text("tls.key", s.TLS.Key)
	s.Auth = x.auth(s.Auth)
	s.Address = x.text("address", s.Address)
	s.Settings = x.table("settings", s.Settings)
	s.Sampler = x.list("sampler", s.Sampler)
}

func (x *expansion) fail(field, format string, a ...any) {
	x.wrong = append(x.wrong, x.server.mistake(field, format, a...))
}

// mistake is an [Error] about a field of the entry.
func (s *Server) mistake(field, format string, a ...any) *Error {
	field = s.keys.of(field)
	key, _, _ := strings.Cut(field, ".")
	key, _, _ = strings.Cut(key, "[")
	return &Error{
		File: s.file, Line: cmp.Or(s.lines[field], s.lines[key], s.line), Subject: "server " + s.Name, Field: field,
		Problem: fmt.Sprintf(format, a...),
	}
}

func (x *expansion) text(field, value string) string {
	if !x.every && !strings.Contains(value, "$") {
		return value
	}
	out, errs := x.replace(field, value)
	if field == "auth.env."+helperURL && x.server.keys.names != nil {
		errs = nil // they are those of the url, which the file has once
	}
	for _, err := range errs {
		if key := x.server.named[field]; key != "" {
			if name := variableIn(value); variable.MatchString(name) {
				x.fail(key, "the variable %s is not set; set it", name)
				continue
			}
		}
		x.fail(field, "%v", err)
	}
	return out
}

func (x *expansion) list(field string, values []string) []string {
	out := slices.Clone(values)
	for i, value := range out {
		out[i] = x.text(fmt.Sprintf("%s[%d]", field, i), value)
	}
	return out
}

func (x *expansion) table(field string, values map[string]string) map[string]string {
	out := maps.Clone(values)
	for _, name := range slices.Sorted(maps.Keys(out)) {
		if x.absent != nil && x.absent(field+"."+name, out[name]) {
			delete(out, name)
			continue
		}
		out[name] = x.text(field+"."+name, out[name])
	}
	return out
}

// isAbsent reports whether a variable or a header is left out, because its variable is not set: it is all ${?NAME}, or
// the file of Codex lists the name of a variable for it. Codex leaves out headers that are blank too
// (build_default_headers in rmcp-client/src/utils.rs). Goose refuses a server whose variables it does not find.
func (s *Server) isAbsent(field, value string, lookup func(string) (string, bool)) bool {
	name := variableIn(value)
	if m := optional.FindStringSubmatch(value); m != nil && s.keys.names == nil {
		name = m[1]
	} else if !s.isListed(field) {
		return false
	}
	value, set := lookup(name)
	return !set || strings.HasPrefix(field, "headers.") && strings.TrimSpace(value) == ""
}

// isListed reports whether a variable or a header is one for which the file only lists the name of a variable, which
// need not be set.
func (s *Server) isListed(field string) bool {
	key, listed := s.named[field]
	return listed && key != gooseVariables
}

// optional matches a value that is nothing but a variable which need not be set.
var optional = lazyregexp.New(`^\$\{\?([^{}]+)\}$`)

// variableIn returns the name of the variable that is all of a value, as ${NAME}.
func variableIn(value string) string {
	return strings.TrimSuffix(strings.TrimPrefix(value, "${"), "}")
}

// check checks values that are complete only after the expansion.
func (x *expansion) check() {
	s := x.server
	if s.URL != "" {
		err := checkURL(s.URL)
		if err != nil && s.unsetTexts && placeholder.MatchString(s.URL) {
			err = errors.New("is no url with a variable in it that is not set; set that")
		}
		if err != nil {
			x.fail("url", "%v", err)
		}
		if via := s.Via(); isHTTP(via) && isWebSocket(s.URL) {
			if s.keys.names != nil {
				x.fail("url", "is for a transport that speaks WebSocket, and this file has none that wharf knows; write an entry of your own with it")
				return
			}
			x.fail("transport", `is %s, and the url is for one that speaks WebSocket; write transport = "websocket"`, via)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		if strings.ContainsAny(s.Headers[name], "\r\n\x00") {
			x.fail("headers."+name, "a header is one line; its value has a line break")
		}
	}
}

// checkURL returns an error for a url that cannot be the address of a server. The error leaves out
// the url, which may carry a secret.
func checkURL(s string) error {
	u, err := url.Parse(s)
	switch {
	case !strings.Contains(s, ":/"):
		return errors.New("has no scheme; write http:// or https:// before it")
	case holdsUser(s):
		return errUser
	case err != nil:
		if strings.TrimSpace(s) != s {
			return errors.New("has blanks around it; leave them out")
		}
		return errors.New(`is no url; write "https://host/path"`)
	case u.Scheme == "unix":
		return nil // the host checks the path when it opens the socket
	case u.Scheme != "http" && u.Scheme != "https" && !isWebSocket(s):
		return fmt.Errorf(`begins with %q; write "https://host/path"`, u.Scheme)
	case u.Host == "":
		return errors.New(`has no host; write "https://host/path"`)
	}
	return nil
}

// errUser is about a url for which holdsUser reports true.
var errUser = errors.New(`holds a user or a password; leave them out of it, and give the server the header Authorization: Basic ${secret:NAME}, where the secret is USER:PASSWORD in base64`)

// holdsUser reports whether the text of a url, which need not be a right one, names a user before its host.
func holdsUser(s string) bool {
	_, rest, _ := strings.Cut(s, "://")
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}
	return strings.Contains(rest, "@") || secret.Unescaped(s)
}

// isWebSocket reports whether a url asks for an upgrade from HTTP.
func isWebSocket(s string) bool { return strings.HasPrefix(s, "ws:") || strings.HasPrefix(s, "wss:") }
