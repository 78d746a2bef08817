package capability

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/cleantext"
)

// Origin is the grant of HTTP exchanges with one server: its scheme, host and
// port, and what lies under its path. [ParseOrigin] makes one; the fields are
// set before the first use and not changed after it.
type Origin struct {
	// AnyPath allows every path of the server. The transport of 2024-11-05
	// needs it: its server names the path to send to.
	AnyPath bool

	Methods []string   // what may be asked; default GET, POST and DELETE
	Headers []abi.Pair // sent with every request to this origin, and nowhere else
	TLS     TLS

	// Proxy is the URL of a proxy, "direct" for none, or empty for what the
	// environment says (HTTPS_PROXY, HTTP_PROXY and NO_PROXY).
	Proxy string

	// Credentials sign requests in: those whose path is SignedPath or under it,
	// with one of SignedMethods. What Headers hold is not theirs to set. May be
	// nil.
	Credentials   Credentials
	SignedPath    string   // escaped, as in a URL; default its own path, also with AnyPath
	SignedMethods []string // default all

	base   *url.URL
	socket string // of a server behind a unix socket; empty for tcp
}

// TLS says how the server is known and what we show it, be it that of an [Origin]
// or of an [Address]. The zero value is what the system trusts.
type TLS struct {
	CAFile   string // PEM; trusted beside what the system trusts
	CertFile string // PEM; our own certificate, with KeyFile
	KeyFile  string
	Name     string // the server's, where it is not the host that is dialled
}

// maxTarget bounds a target, and what a redirect may lead to.
const maxTarget = 8 << 10

var defaultMethods = []string{"GET", "POST", "DELETE"}

// Web is a URL as HTTP has it: a server of ws or wss is one of http or https that
// is asked to upgrade (RFC 6455, section 3).
func Web(url string) string {
	scheme, rest, _ := strings.Cut(url, ":")
	switch strings.ToLower(scheme) {
	case "ws":
		return "http:" + rest
	case "wss":
		return "https:" + rest
	}
	return url
}

// ParseOrigin reads the url of a server entry: https://host/path, http://host/path,
// the same with wss or ws, or, for a server behind a unix socket,
// unix:///run/x.sock#/path.
func ParseOrigin(s string) (*Origin, error) {
	o := &Origin{}
	s = Web(s)
	if rest, ok := strings.CutPrefix(s, "unix:"); ok {
		path, inner, _ := strings.Cut(strings.TrimPrefix(rest, "//"), "#")
		if err := checkSocketPath(path); err != nil {
			return nil, fmt.Errorf("url %q: %w", s, err)
		}
		o.socket, s = path, "http://localhost/"+strings.TrimPrefix(inner, "/")
	}
	u, err := url.Parse(s)
	if err == nil {
		err = checkBase(u)
	}
	if err != nil {
		return nil, fmt.Errorf("url %q: %w", bare(s), wrongURL(err))
	}
	u.Host, u.Fragment, u.RawFragment = strings.ToLower(u.Host), "", ""
	o.base = u
	return o, nil
}

// wrongURL takes the URL out of an error about it: it may hold a secret.
func wrongURL(err error) error {
	if wrapped, ok := err.(*url.Error); ok {
		return wrapped.Err
	}
	return err
}

// bare is a URL for people: without a query, where some put their secrets.
func bare(s string) string {
	s, _, _ = strings.Cut(s, "?")
	if scheme, rest, ok := strings.Cut(s, "://"); ok {
		return scheme + "://" + rest[strings.LastIndexByte(rest, '@')+1:]
	}
	return s
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
	return checkPath(u)
}

// Kind implements [Target].
func (*Origin) Kind() abi.OpenKind { return abi.OpenHTTP }

// String is the URL for people.
func (o *Origin) String() string {
	if o.socket != "" {
		return "unix://" + o.socket + "#" + o.base.EscapedPath()
	}
	return bare(o.base.String())
}

// Path is the path of the url, escaped.
func (o *Origin) Path() string { return o.base.EscapedPath() }

// Resource is the url as the resource of a token (RFC 8707, section 2): without a
// query, which may hold a secret, and without a slash for an empty path.
func (o *Origin) Resource() string {
	u := *o.base
	u.RawQuery = ""
	if u.Path == "/" {
		u.Path = ""
	}
	return u.String()
}

// label is a URL of this origin for people.
func (o *Origin) label(u *url.URL) string {
	if o.socket != "" {
		return "unix://" + o.socket + "#" + u.EscapedPath()
	}
	return bare(u.String())
}

// Check finds what is wrong with the fields. An origin that fails it can be
// granted, and every exchange with it fails for that reason.
func (o *Origin) Check() error {
	if _, err := o.proxy(); err != nil {
		return err
	}
	if _, err := o.tls(); err != nil {
		return err
	}
	if o.SignedPath != "" && o.SignedPath[0] != '/' {
		return fmt.Errorf("the path %q of the credentials does not begin with a slash", o.SignedPath)
	}
	_, err := ownHeaders(o.Headers)
	return err
}

// Opener implements [Target].
func (o *Origin) Opener(limits *Limits) Opener { return newClient(o, limits) }

func (o *Origin) checkMethod(c *order) (abi.Status, error) {
	methods := o.Methods
	if methods == nil {
		methods = defaultMethods
	}
	switch {
	case c.method == "":
		return abi.Malformed, fmt.Errorf("the method is missing")
	case !slices.Contains(methods, c.method):
		return abi.Denied, fmt.Errorf("%q is not granted, only %s", c.method, strings.Join(methods, ", "))
	case c.upgrade && c.method != "GET":
		return abi.Malformed, fmt.Errorf("only a GET can be upgraded")
	}
	return abi.OK, nil
}

// resolve returns where a URI reference leads from a URL of this origin, if that
// is within the grant.
func (o *Origin) resolve(from *url.URL, target string) (*url.URL, abi.Status, error) {
	if target == "" {
		return from, abi.OK, nil
	}
	if len(target) > maxTarget {
		return nil, abi.TooLarge, fmt.Errorf("its target is %d bytes long, it may have %d", len(target), maxTarget)
	}
	ref, err := url.Parse(target)
	if err != nil {
		return nil, abi.Malformed, fmt.Errorf("its target is no URI reference: %w", wrongURL(err))
	}
	u := from.ResolveReference(ref)
	u.Fragment, u.RawFragment = "", ""
	if err := checkPath(u); err != nil {
		return nil, abi.Malformed, fmt.Errorf("its target: %w", err)
	}
	if !o.covers(u) {
		return nil, abi.Denied, fmt.Errorf("%s is not granted, only %s", cleantext.Line(bare(u.String()), 200), o.scope())
	}
	return u, abi.OK, nil
}

// scope names what is granted, for people.
func (o *Origin) scope() string {
	if o.AnyPath {
		return "what " + o.base.Scheme + "://" + o.base.Host + " has"
	}
	return o.label(o.base) + " and what is under it"
}

// covers reports whether u is within the grant. Hosts are compared as they are
// written: two names of one machine are two origins.
func (o *Origin) covers(u *url.URL) bool {
	if u.Scheme != o.base.Scheme || u.User != nil || u.Opaque != "" || hostPort(u) != hostPort(o.base) {
		return false
	}
	return o.AnyPath || isUnder(u.EscapedPath(), o.base.EscapedPath())
}

// isUnder reports whether an escaped path is prefix or lies under it.
func isUnder(path, prefix string) bool {
	rest, under := strings.CutPrefix(path, prefix)
	return under && (rest == "" || rest[0] == '/' || strings.HasSuffix(prefix, "/")) || prefix == ""
}

// checkPath refuses what servers do not agree about: a path that leads upwards when
// it is decoded once more, when the parameters of a segment are cut off (RFC 3986,
// section 3.3), or when a backslash is taken for a slash.
func checkPath(u *url.URL) error {
	path := decodeAll(u.Path)
	if strings.Contains(path, `\`) {
		return fmt.Errorf("its path holds a backslash")
	}
	for segment := range strings.SplitSeq(path, "/") {
		if isDots(segment) {
			return fmt.Errorf("its path holds %q, which leads to the folder above on some servers", segment)
		}
	}
	return nil
}

// isDots reports whether a server may take a segment for "." or "..": it consists
// of dots, before what a server may cut off: parameters, a query, a fragment,
// blanks, and all from a control character on.
func isDots(segment string) bool {
	name := segment
	if end := strings.IndexFunc(segment, func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(";?#", r) }); end >= 0 {
		name = segment[:end]
	}
	return name != "" && strings.Trim(name, ".") == ""
}

// decodeAll decodes the percent forms of a path until none is left, also those that
// only decoding makes. What is no percent form stays: one such must not hide others.
func decodeAll(path string) string {
	out := make([]byte, 0, len(path))
	for i := range len(path) {
		out = append(out, path[i])
		for n := len(out); n >= 3 && out[n-3] == '%'; n = len(out) {
			b, err := hex.DecodeString(string(out[n-2:]))
			if err != nil {
				break
			}
			out = append(out[:n-3], b[0])
		}
	}
	return string(out)
}

// usualPorts are the ports of the schemes that lead to a server or a proxy.
var usualPorts = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}

// hostPort is the address of a URL's server, with the port even where it is the
// usual one.
func hostPort(u *url.URL) string {
	return net.JoinHostPort(strings.ToLower(u.Hostname()), cmp.Or(u.Port(), usualPorts[u.Scheme]))
}
