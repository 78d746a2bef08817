package registry

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/host/internal/egress"
)

// Option is one way to run a server.
type Option struct {
	Kind     string // "npm", "pypi", "nuget", "oci", "cargo", "mcpb", "http", "sse"
	Runs     string // the package with its version, or the url
	Unusable string // why it cannot be used; "" is usable

	// Bundle is an archive to unpack first, see [Client.Unpack]; nil is none.
	Bundle *Bundle

	inputs inputs
	notes  []string

	program string // of a package
	words   []word
	env     []word

	url     template // of a remote
	local   bool     // which may be on this machine
	headers []word
}

// Inputs returns what a person has to give, or may give, before the option can be used.
func (o *Option) Inputs() []Input { return slices.Clone(o.inputs) }

// Options returns the ways to run the server, in the order of the registry. Packages come before
// remotes, or after them if remotesFirst, and bundles come last among the packages.
func (s *Server) Options(remotesFirst bool) []*Option {
	var packages, remotes []*Option
	for i := range s.Packages {
		packages = append(packages, s.Packages[i].option())
	}
	bundles := func(o *Option) bool { return o.Kind == "mcpb" }
	packages = slices.Concat(slices.DeleteFunc(slices.Clone(packages), bundles), slices.DeleteFunc(packages, func(o *Option) bool { return !bundles(o) }))
	for i := range s.Remotes {
		remotes = append(remotes, s.Remotes[i].option(s.local))
	}
	if remotesFirst {
		return slices.Concat(remotes, packages)
	}
	return slices.Concat(packages, remotes)
}

// option returns the way to reach a remote, which may be on this machine if local.
func (r *Remote) option(local bool) *Option {
	o := &Option{Kind: "http", Runs: r.URL, local: local}
	o.url = o.inputs.template(r.URL, "the url", "", r.Variables)
	for _, h := range r.Headers {
		o.headers = append(o.headers, o.inputs.variable(h, "header"))
	}
	switch r.Type {
	case "streamable-http":
	case "sse":
		o.Kind = "sse"
	default:
		o.Unusable = fmt.Sprintf("its type %.40q is not known here", r.Type)
	}
	if err := o.checkParts(); err != nil {
		o.Unusable = err.Error()
		return o
	}
	if o.Unusable == "" {
		if err := o.checkStart(r.URL); err != nil {
			o.Unusable = err.Error()
		}
	}
	return o
}

// checkParts bounds how many places of an option hold an answer, since an entry is matched with
// all of them.
func (o *Option) checkParts() error {
	places := 0
	count := func(t template) {
		for _, p := range t {
			if p.input != "" {
				places++
			}
		}
	}
	count(o.url)
	for _, w := range slices.Concat(o.words, o.env, o.headers) {
		for _, t := range w.texts {
			count(t)
		}
	}
	if places > maxParts {
		return fmt.Errorf("it has more than %d places for answers", maxParts)
	}
	return nil
}

// checkStart refuses the url of a remote for what does not depend on answers.
func (o *Option) checkStart(text string) error {
	scheme, _, _ := strings.Cut(o.url[0].text, "://")
	host, _ := filler{o, nil}.host()
	switch {
	case len(o.url) == 1:
		return o.checkURL(text)
	case scheme == "https" || o.url[0].text == "":
		return nil
	case scheme != "http" || !egress.IsLoopback(host):
		return errNotEncrypted
	case !o.local:
		return errors.New("its url leads " + leadsTo(host))
	}
	return nil
}

// checkURL refuses the url of a remote that leads to this machine or into its network. If the registry is on this
// machine, so may the remote be.
func (o *Option) checkURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "" || u.User != nil || len(text) > maxValue:
		return errors.New("its url is no address of a server")
	case o.mayLeadTo(u.Hostname()) && (u.Scheme == "https" || u.Scheme == "http"):
		return nil
	case u.Scheme != "https" && !egress.IsLoopback(u.Hostname()):
		return errNotEncrypted
	}
	if where := leadsTo(u.Hostname()); where != "" {
		return errors.New("its url leads " + where)
	}
	return nil
}

var errNotEncrypted = errors.New("its url is not https, so what you send to it could be read on the way")

// mayLeadTo reports whether a host is this machine, and the registry is on it too.
func (o *Option) mayLeadTo(host string) bool { return o.local && egress.IsLoopback(host) }

// leadsTo says where a host leads that is not one of the internet, or returns "".
func leadsTo(host string) string {
	switch {
	case egress.CheckPublicHost(host) == nil:
		return ""
	case strings.HasSuffix(strings.ToLower(host), ".invalid"):
		return "nowhere: no host has a name that ends with .invalid"
	}
	return "to your own machine, or into your own network"
}
