package httpclient

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"net"
	"net/url"
	"strings"
)

// HTTPURL is a URL as HTTP has it: a server of ws or wss is one of http or https that
// is asked to upgrade (RFC 6455, section 3).
func HTTPURL(url string) string {
	scheme, rest, _ := strings.Cut(url, ":")
	switch strings.ToLower(scheme) {
	case "ws":
		return "http:" + rest
	case "wss":
		return "https:" + rest
	}
	return url
}

// MaxURL bounds a target, and what a redirect may lead to.
const MaxURL = 8 << 10

// URLCause takes the URL out of an error about it: it may hold a secret.
func URLCause(err error) error {
	if wrapped, ok := err.(*url.Error); ok {
		return wrapped.Err
	}
	return err
}

// BareURL is a URL for people: without a query, where some put their secrets.
func BareURL(s string) string {
	s, _, _ = strings.Cut(s, "?")
	if scheme, rest, ok := strings.Cut(s, "://"); ok {
		return scheme + "://" + rest[strings.LastIndexByte(rest, '@')+1:]
	}
	return s
}

// isUnder reports whether an escaped path is prefix or lies under it.
func isUnder(path, prefix string) bool {
	rest, under := strings.CutPrefix(path, prefix)
	return under && (rest == "" || rest[0] == '/' || strings.HasSuffix(prefix, "/")) || prefix == ""
}

// CheckPath refuses what servers do not agree about: a path that leads upwards when
// it is decoded once more, when the parameters of a segment are cut off (RFC 3986,
// section 3.3), or when a backslash is taken for a slash.
func CheckPath(u *url.URL) error {
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

// HostPort is the address of a URL's server, with the port even where it is the
// usual one.
func HostPort(u *url.URL) string {
	return net.JoinHostPort(strings.ToLower(u.Hostname()), cmp.Or(u.Port(), usualPorts[u.Scheme]))
}
