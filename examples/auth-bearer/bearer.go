package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/wharf-mcp/wharf/sdk/auth"
)

// bearer gives the token of the configuration and nothing else. If the server refuses that
// token, the user has made a mistake, and bearer reports it: another way of signing in would
// hide the mistake.
type bearer struct{}

// settings are the keys of the auth table. A scheme that is "" differs from one that is left
// out.
type settings struct {
	Token  string  `json:"token"`
	Header string  `json:"header"`
	Scheme *string `json:"scheme"`
}

func (bearer) SignIn(f *auth.Flow) error {
	server := f.Start().Server.Name
	switch f.Start().Reason {
	case auth.ReasonChallenged:
		return auth.Misconfigured("the server "+server+" does not take the token that is configured for it",
			"put a token that is valid where auth.token of "+server+" leads, or write auth = \"oauth\" to sign in another way")
	case auth.ReasonUpscope:
		return auth.Misconfigured("the token that is configured for "+server+" does not allow what was asked",
			"put a token with more rights where auth.token of "+server+" leads")
	case auth.ReasonLogin, auth.ReasonLogout:
		return auth.Misconfigured("the server "+server+" has a token in its configuration: there is nothing to sign in to or out of",
			"change or remove the auth of "+server+"; write auth = \"oauth\" to sign in another way")
	}
	if err := give(f); err != nil {
		return auth.Misconfigured(fmt.Sprintf("auth of %s: %v", server, err), "")
	}
	return nil
}

// give passes the token to the server: over HTTP in a header, else as it is.
func give(f *auth.Flow) error {
	var s settings
	if err := f.Settings(&s); err != nil {
		return err
	}
	s.Token = strings.TrimSpace(s.Token)
	if to := f.Start().Server; to.Blob || len(to.Variables) > 0 {
		m, err := s.material(to)
		if err == nil {
			f.Material(m)
		}
		return err
	}
	c, err := s.credentials()
	if err == nil {
		f.Credentials(c)
	}
	return err
}

var errEmpty = errors.New("the token is empty: see what the place that auth.token names has in it")

// material returns the token for each variable of a process, or for a stream.
func (s *settings) material(to auth.Server) (m auth.Material, err error) {
	switch {
	case s.Token == "":
		return m, errEmpty
	case s.Header != "" || s.Scheme != nil:
		return m, errors.New("header and scheme are for servers with a url: leave them out")
	}
	if to.Blob {
		m.Blob = []byte(s.Token)
	}
	for _, name := range to.Variables {
		if m.Env == nil {
			m.Env = make(map[string]string)
		}
		m.Env[name] = s.Token
	}
	return m, nil
}

// credentials returns the token in a header.
func (s *settings) credentials() (auth.Credentials, error) {
	if s.Header == "" {
		s.Header = "Authorization"
	}
	if s.Scheme == nil {
		s.Scheme = new(string)
		if strings.EqualFold(s.Header, "Authorization") {
			*s.Scheme = "Bearer"
		}
	}
	return credentials(s.Token, s.Header, *s.Scheme)
}

// credentials puts a token into a header. A bearer token in the sense of RFC 6750 is
// marked as one, so that the host knows which part of the header is the
// secret.
func credentials(token, header, scheme string) (c auth.Credentials, err error) {
	value := strings.TrimSpace(scheme + " " + token)
	switch {
	case token == "":
		return c, errEmpty
	case scheme != "" && len(token) > len(scheme) && strings.EqualFold(token[:len(scheme)+1], scheme+" "):
		return c, fmt.Errorf(`the token begins with "%s", which is put before it: leave it out, or write scheme = ""`, scheme)
	case strings.ContainsAny(scheme, " \t"):
		return c, fmt.Errorf(`scheme is one word, "%s" has a space in it`, scheme)
	}
	if err := auth.CheckHeader(header, value); err != nil {
		return c, fmt.Errorf(`header = "%s": %w`, header, err)
	}
	if scheme == "Bearer" && strings.EqualFold(header, "Authorization") {
		return auth.Credentials{Scheme: scheme, Token: token}, nil
	}
	return auth.Credentials{Headers: map[string]string{header: value}}, nil
}
