package httpclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/internal/capability/dial"
)

// Origin is the grant of HTTP exchanges with one server: its scheme, host and port, and everything
// under its path. [ParseOrigin] makes one. The fields must be set before the first use and not
// changed later.
type Origin struct {
	// AnyPath allows every path of the server. The transport of 2024-11-05
	// needs it: its server names the path to send to.
	AnyPath bool

	Methods []string   // allowed for guests; default GET, POST and DELETE
	Headers []abi.Pair // sent with every request to this origin, and nowhere else
	Keys    []string   // the names in Headers that sound secret, for a [Refusal]
	TLS     dial.TLS

	// Reread returns the Headers as they are now, because a server has answered 401 or 403. A request that was
	// sent with others is sent again with these. It is nil if they cannot change. It must return when ctx ends.
	Reread func(ctx context.Context) ([]abi.Pair, error)

	// Proxy is the URL of a proxy, "direct" for none, or empty for what the
	// environment says (HTTPS_PROXY, HTTP_PROXY and NO_PROXY).
	Proxy string

	// Credentials sign in each request whose method is in SignedMethods and whose path is
	// SignedPath or under it. They must not set a header that is in Headers, unless CredentialsWin. May be nil.
	Credentials   Credentials
	SignedPath    string   // escaped, as in a URL; default its own path, also with AnyPath
	SignedMethods []string // default all

	CredentialsWin bool // a header of the credentials takes the place of that in Headers

	base   *url.URL
	socket string // the unix socket of the server; empty for tcp
}

var defaultMethods = []string{"GET", "POST", "DELETE"}

// ParseOrigin reads the url of a server entry: https://host/path, http://host/path,
// the same with wss or ws, or, for a server behind a unix socket,
// unix:///run/x.sock#/path.
func ParseOrigin(s string) (*Origin, error) {
	o := &Origin{}
	s = HTTPURL(s)
	if rest, ok := strings.CutPrefix(s, "unix:"); ok {
		path, inner, _ := strings.Cut(strings.TrimPrefix(rest, "//"), "#")
		if err := dial.CheckSocketPath(path); err != nil {
			return nil, fmt.Errorf("url %q: %w", s, err)
		}
		o.socket, s = path, "http://localhost/"+strings.TrimPrefix(inner, "/")
	}
	u, err := url.Parse(s)
	switch {
	case err == nil:
		err = checkBase(u)
	case strings.Contains(s, "@"): // the error may quote a part of a password that is not escaped
		err = errors.New("want https://host/path; a user or password goes into a header instead")
	}
	if err != nil {
		return nil, fmt.Errorf("url %q: %w", BareURL(s), URLCause(err))
	}
	u.Host, u.Fragment, u.RawFragment = strings.ToLower(u.Host), "", ""
	o.base = u
	return o, nil
}

func checkBase(u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return fmt.Errorf("want https://host/path, http://host/path or unix:///path/to/socket#/path")
	case u.User != nil:
		return fmt.Errorf("it holds a user or password; put them into a header instead")
	case strings.ContainsFunc(u.Host, func(r rune) bool { return r > 0x7e || r <= ' ' }):
		return fmt.Errorf("write the host in its ASCII form (xn--…)")
	}
	return CheckPath(u)
}

// Kind implements [capability.Target].
func (*Origin) Kind() abi.OpenKind { return abi.OpenHTTP }

// String returns the URL for people.
func (o *Origin) String() string { return o.display(o.base) }

// URL returns the url. The caller must not change it. For a server behind a unix socket, its host
// is localhost.
func (o *Origin) URL() *url.URL { return o.base }

// Socket returns the path of the server's unix socket, or "".
func (o *Origin) Socket() string { return o.socket }

// Path returns the escaped path of the url.
func (o *Origin) Path() string { return o.base.EscapedPath() }

// Resource returns the url as the resource of a token (RFC 8707, section 2): without a query, which
// may hold a secret, and without a slash for an empty path.
func (o *Origin) Resource() string {
	u := *o.base
	u.RawQuery = ""
	if u.Path == "/" {
		u.Path = ""
	}
	return u.String()
}

// display returns a URL of this origin for people.
func (o *Origin) display(u *url.URL) string {
	if o.socket != "" {
		return "unix://" + o.socket + "#" + u.EscapedPath()
	}
	return BareURL(u.String())
}

// Check returns an error for invalid fields. An origin with an error can be granted, but every
// exchange with it fails with that error.
func (o *Origin) Check() error {
	if _, err := o.proxy(); err != nil {
		return err
	}
	if _, err := o.TLS.Config(); err != nil {
		return err
	}
	if o.SignedPath != "" && o.SignedPath[0] != '/' {
		return fmt.Errorf("the path %q of the credentials does not begin with a slash", o.SignedPath)
	}
	_, err := configuredHeaders(o.Headers)
	return err
}

// resolve resolves a URI reference against a URL of this origin. It returns an error if the result
// is outside of the grant.
func (o *Origin) resolve(from *url.URL, target string) (*url.URL, abi.Status, error) {
	if target == "" {
		return from, abi.OK, nil
	}
	if len(target) > MaxURL {
		return nil, abi.TooLarge, fmt.Errorf("its target is %d bytes long, it may have %d", len(target), MaxURL)
	}
	ref, err := url.Parse(target)
	if err != nil {
		return nil, abi.Malformed, fmt.Errorf("its target is no URI reference: %w", URLCause(err))
	}
	u := from.ResolveReference(ref)
	u.Fragment, u.RawFragment = "", ""
	if err := CheckPath(u); err != nil {
		return nil, abi.Malformed, fmt.Errorf("its target: %w", err)
	}
	// Hosts are compared as they are written: two names of one machine are two origins.
	ours := u.Scheme == o.base.Scheme && u.User == nil && u.Opaque == "" && HostPort(u) == HostPort(o.base)
	if !ours || !o.AnyPath && !isUnder(u.EscapedPath(), o.base.EscapedPath()) {
		granted := o.String() + " and what is under it"
		if o.AnyPath {
			granted = "what " + o.base.Scheme + "://" + o.base.Host + " has"
		}
		return nil, abi.Denied, fmt.Errorf("%s is not granted, only %s", cleantext.Line(BareURL(u.String()), 200), granted)
	}
	return u, abi.OK, nil
}

func (o *Origin) proxy() (ProxyFunc, error) {
	if o.socket != "" {
		return nil, nil
	}
	return ParseProxy(o.Proxy)
}

// ProxyFunc returns the proxy of a request. A nil ProxyFunc, or a nil URL, means none.
type ProxyFunc = func(*http.Request) (*url.URL, error)

// ParseProxy reads the proxy of a server entry: see [Origin.Proxy].
func ParseProxy(setting string) (ProxyFunc, error) {
	switch setting {
	case "direct":
		return nil, nil
	case "":
		return http.ProxyFromEnvironment, nil
	}
	u, err := url.Parse(setting)
	if err != nil {
		return nil, fmt.Errorf("proxy %q: %w", BareURL(setting), URLCause(err))
	}
	if usualPorts[u.Scheme] == "" || u.Hostname() == "" {
		return nil, fmt.Errorf(`proxy %q: want http://host:port, https://host:port, socks5://host:port or "direct"`, BareURL(setting))
	}
	return http.ProxyURL(u), nil
}

// signs reports whether credentials see a request.
func (o *Origin) signs(method string, u *url.URL) bool {
	return o.Credentials != nil && isUnder(u.EscapedPath(), cmp.Or(o.SignedPath, o.base.EscapedPath())) &&
		(o.SignedMethods == nil || slices.Contains(o.SignedMethods, method))
}
