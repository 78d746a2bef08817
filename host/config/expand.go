package config

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Expand returns the server with the variables in its values replaced: in
// command, args, env, dir, url, headers, auth, address and settings, and never in a
// key. It leaves s as it is. lookup is [os.LookupEnv] or one like it.
//
//	${NAME}            the variable; an error where it is not set
//	${NAME:-default}   the default where it is not set, or empty
//	${env:NAME}        the same as ${NAME}, as editors write it
//	$$                 a dollar sign
//
// A dollar sign before anything else stands for itself. What comes in with a
// variable is not looked at again. All that is wrong is told at once, in an
// error that joins one [Error] for each.
//
// An entry of a project comes back as it is: nothing is looked up for it before
// the user has approved of it, see [Server.Release].
func (s Server) Expand(lookup func(string) (string, bool)) (Server, error) {
	if s.Project != nil {
		return s, nil
	}
	return s.expand(lookup)
}

func (s Server) expand(lookup func(string) (string, bool)) (Server, error) {
	x := &expansion{server: &s, replace: func(value string) (string, []error) { return expand(value, lookup) }}
	x.all()
	if len(x.wrong) == 0 {
		x.check()
	}
	return s, join(x.wrong)
}

// Variables returns the names of the variables that the entry takes from the
// environment, sorted: those that Expand looks up, and those in which a secret is
// found later.
func (s Server) Variables() []string {
	names := make(map[string]bool)
	note := func(name string) (string, bool) {
		names[name] = true
		return "", true
	}
	x := &expansion{server: &s, replace: func(value string) (string, []error) { return expand(value, note) }}
	x.all()
	for _, setting := range s.Auth.Settings {
		if r, ok := setting.(Reference); ok && r.Env != "" {
			names[r.Env] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// expansion replaces something in the values of one server, which is the
// caller's own copy: its lists and tables are replaced, not changed.
type expansion struct {
	server  *Server
	replace func(value string) (out string, errs []error)
	wrong   []*Error
}

// all goes through every value in which a variable may stand.
func (x *expansion) all() {
	s := x.server
	s.Command = x.text("command", s.Command)
	s.Args = x.list("args", s.Args)
	s.Env = x.table("env", s.Env)
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
}

func (x *expansion) fail(field, format string, a ...any) {
	x.wrong = append(x.wrong, x.server.mistake(field, format, a...))
}

// mistake is an [Error] about a field of the entry.
func (s *Server) mistake(field, format string, a ...any) *Error {
	return &Error{
		File: s.file, Line: s.line, Subject: "server " + s.Name, Field: field,
		Problem: fmt.Sprintf(format, a...),
	}
}

func (x *expansion) text(field, value string) string {
	if !strings.Contains(value, "$") {
		return value
	}
	out, errs := x.replace(value)
	for _, err := range errs {
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
		out[name] = x.text(field+"."+name, out[name])
	}
	return out
}

// check looks at what only the expanded values show.
func (x *expansion) check() {
	s := x.server
	if s.URL != "" {
		if err := checkURL(s.URL); err != nil {
			x.fail("url", "%v", err)
		}
		if via := s.Via(); isHTTP(via) && isWebSocket(s.URL) {
			x.fail("transport", `is %s, and the url is for one that speaks WebSocket; write transport = "…"`, via)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		if strings.ContainsAny(s.Headers[name], "\r\n\x00") {
			x.fail("headers."+name, "a header is one line; its value has a line break")
		}
	}
}

// checkURL refuses what is no address of a server. The url itself is left out
// of the message: it may carry a secret.
func checkURL(s string) error {
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return errors.New(`is no url; write "https://host/path"`)
	case u.Scheme == "unix":
		return nil // the host looks at it where it opens it
	case u.Scheme != "http" && u.Scheme != "https" && !isWebSocket(s):
		return fmt.Errorf(`begins with %q; write "https://host/path"`, u.Scheme)
	case u.Host == "":
		return errors.New(`has no host; write "https://host/path"`)
	case u.User != nil:
		return errors.New("holds a password or a user; put credentials into headers")
	}
	return nil
}

// isWebSocket reports whether a url asks for an upgrade from HTTP.
func isWebSocket(s string) bool { return strings.HasPrefix(s, "ws:") || strings.HasPrefix(s, "wss:") }

// expand replaces the variables of one value; errs are all that is wrong.
func expand(value string, lookup func(string) (string, bool)) (out string, errs []error) {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(value, "$")
		b.WriteString(before)
		switch {
		case !found:
			return b.String(), errs
		case strings.HasPrefix(after, "$"):
			b.WriteByte('$')
			value = after[1:]
		case !strings.HasPrefix(after, "{"):
			b.WriteByte('$')
			value = after
		default:
			inner, rest, closed := strings.Cut(after[1:], "}")
			if !closed {
				return b.String(), append(errs, errors.New(`"${" has no "}"; write ${NAME}, or $${ for the characters`))
			}
			text, err := substitute(inner, lookup)
			if err != nil {
				errs = append(errs, err)
			}
			b.WriteString(text)
			value = rest
		}
	}
}

// variable is a name in a reference. Windows has names with parentheses.
var variable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_()]*$`) })

// substitute returns what stands for the inside of ${…}.
func substitute(inner string, lookup func(string) (string, bool)) (string, error) {
	name, fallback, hasFallback := strings.Cut(inner, ":-")
	name = strings.TrimPrefix(name, "env:")
	switch {
	case strings.HasPrefix(name, "input:"):
		return "", fmt.Errorf("${%s} asks an editor for input; set a variable and write ${NAME}", inner)
	case !variable().MatchString(name):
		return "", fmt.Errorf("${%s} names no variable; write ${NAME} or ${NAME:-default}", inner)
	case strings.Contains(fallback, "$"):
		return "", fmt.Errorf("the default of ${%s} holds a variable itself; write plain text", name)
	}
	text, set := lookup(name)
	switch {
	case hasFallback && text == "":
		return fallback, nil
	case !set:
		return "", fmt.Errorf("the variable %s is not set; set it, or write ${%s:-default}", name, name)
	}
	return text, nil
}
