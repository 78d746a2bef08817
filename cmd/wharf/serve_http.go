package main

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/listener"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/gateway"
	"github.com/wharf-mcp/wharf/host/gateway/oauth"
)

// callsPerMinute is how many requests a principal may send in a minute where the configuration does not
// say.
const callsPerMinute = 600

// entrance is where clients over HTTP come in.
type entrance struct {
	address   string
	elsewhere bool                  // other machines can reach it
	resource  string                // the origin by which they do; "" is one of hosts
	hosts     []string              // the names by which they do
	tls       *tls.Config           // nil is none
	oauth     *oauth.ResourceServer // nil is none
	token     string                // the file of the user's token; "" means that it is not accepted
	authority string                // the file by which the certificates of clients are checked; "" is none
}

// enter makes an entrance at the address of --http, and has c accept the clients that prove who they
// are. Of this machine those are clients with the user's token.
func (a *app) enter(given string, s *settings, c *gateway.Config) (e entrance, err error) {
	defer func() {
		if err == nil {
			c.Principal = listener.LetIn(c.Principal)
		}
	}()
	serve := cmp.Or(s.serve, new(config.Serve))
	address, elsewhere, err := listener.Address(given)
	if err != nil {
		return e, exit.Usage(fmt.Errorf("--http %s: %w", given, err), "ADDRESS is a port that is free, such as 7777, or 127.0.0.1:7777")
	}
	if missing := missingElsewhere(serve); elsewhere && len(missing) > 0 {
		return e, exit.Usage(fmt.Errorf("--http %s: other machines can reach it, and [serve] of %s lacks %s", given, s.place(), strings.Join(missing, ", and ")),
			`such as [serve] hosts = ["mcp.example.com"], tls = { cert = "FILE", key = "FILE", client_ca = "FILE" }; without them listen at 127.0.0.1:7777, and come through ssh -L`)
	}
	e.address, e.elsewhere, e.resource, e.hosts = address, elsewhere, serve.OAuth.Resource, serve.Hosts
	if u, err := url.Parse(e.resource); err == nil && u.Host != "" {
		e.hosts = append(slices.Clip(e.hosts), u.Hostname())
	}
	c.Hosts, c.CallsPerMinute = e.hosts, cmp.Or(serve.CallsPerMinute, callsPerMinute)
	if serve.TLS.Cert != "" {
		if e.tls, err = listener.TLS(serve.TLS.Cert, serve.TLS.Key, serve.TLS.ClientCA); err != nil {
			return e, exit.Usage(fmt.Errorf("[serve.tls] of %s: %w", s.place(), err), "")
		}
		if err := listener.CheckTLS(serve.TLS.Cert, serve.TLS.Key, serve.TLS.ClientCA, serve.Hosts); err != nil { // it may be renewed while it is served
			a.Warn("[serve.tls] of %s: %v", s.place(), err)
		}
	}
	if e.authority = serve.TLS.ClientCA; e.authority != "" {
		c.Principal = gateway.Certificate
	}
	if o := serve.OAuth; o.Issuer != "" {
		e.oauth, err = oauth.New(oauth.Config{
			Resource: o.Resource, Issuer: o.Issuer, JWKS: o.JWKS, Audience: o.Audience, Scopes: o.Scopes, Principal: o.Principal,
			Warn: func(err error) { a.Warn("%s", plain.Line(err.Error())) },
		})
		if err != nil {
			return e, exit.Usage(fmt.Errorf("[serve.oauth] of %s: %w", s.place(), err), "")
		}
		c.Principal, c.WellKnown = e.oauth.Principal, e.oauth
	}
	if elsewhere {
		return e, nil
	}
	dir, err := serveFolder()
	if err != nil {
		return e, err
	}
	user, file, err := gateway.Bearer(dir)
	if err != nil {
		return e, err
	}
	if c.Principal != nil {
		user = listener.Either(user, c.Principal)
	}
	c.Principal, e.token = user, file
	return e, nil
}

// missingElsewhere returns what the configuration lacks for an address that other machines can reach.
func missingElsewhere(s *config.Serve) (missing []string) {
	if s.TLS.Cert == "" {
		missing = append(missing, "tls with cert and key")
	}
	if s.TLS.ClientCA == "" && s.OAuth.Issuer == "" {
		missing = append(missing, "tls.client_ca or oauth, by which clients prove who they are")
	}
	if len(s.Hosts) == 0 && s.OAuth.Resource == "" {
		missing = append(missing, "hosts, the names by which clients reach it")
	}
	return missing
}

// urls returns where clients reach all servers, once the program listens at an address. Those that sign in reach them
// at the first, which is what the tokens of [serve.oauth] are about.
func (e *entrance) urls(listens string) (all []*url.URL) {
	if resource, err := url.Parse(e.resource); err == nil && resource.Host != "" {
		all = append(all, resource.JoinPath("mcp"))
	}
	if e.elsewhere && len(all) > 0 {
		return all
	}
	u := &url.URL{Scheme: "http", Host: listens}
	if e.tls != nil {
		u.Scheme = "https"
	}
	if e.elsewhere {
		host := e.hosts[0]
		if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
		u.Host = host + ":" + u.Port()
	}
	if u = u.JoinPath("mcp"); len(all) > 0 && all[0].String() == u.String() {
		return all
	}
	return append(all, u)
}

// close ends what the entrance fetches.
func (e *entrance) close() {
	if e.oauth != nil {
		e.oauth.Close()
	}
}
