package httpclient

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"net"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// HTTPURL returns a URL with ws replaced by http and wss by https: a WebSocket begins as an HTTP
// request (RFC 6455, section 3).
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

// MaxURL is the longest target, and the longest target of a redirect, in bytes.
const MaxURL = 8 << 10

// URLCause returns the cause of an error about a URL, without the URL, which may hold a secret.
func URLCause(err error) error {
	if wrapped, ok := err.(*url.Error); ok {
		return wrapped.Err
	}
	return err
}

// BareURL returns a URL for people: without the query, in which some users put secrets.
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

// CheckPath refuses paths that servers read in different ways: a path that leads upwards when
// it is decoded once more, when the parameters of a segment are cut off (RFC 3986, section
// 3.3), when a character counts as the one that it looks like, or when a backslash is taken
// for a slash.
func CheckPath(u *url.URL) error {
	path := decodeAll(u.Path)
	for before := ""; before != path; {
		if !utf8.ValidString(path) { // C0 AE is a dot to some
			return fmt.Errorf("its path is not UTF-8")
		}
		before, path = path, decodeAll(lookalikes.Replace(strings.Map(compatible, path)))
	}
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

// isDots reports whether a server may take a segment for "." or "..": it consists of dots, followed
// by nothing or by something that a server may cut off: parameters, a query, a fragment, blanks, or
// a control character and the rest.
func isDots(segment string) bool {
	if end := strings.IndexFunc(segment, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune(";?#", r) }); end >= 0 {
		segment = segment[:end]
	}
	return segment != "" && strings.Trim(segment, ".") == ""
}

// lookalikes maps characters that a server may take for ASCII with a meaning in a path (NFKC, or
// the name of the character), in addition to those of full width.
var lookalikes = strings.NewReplacer(
	"․", ".", "﹒", ".", "。", ".", "｡", ".", "︒", ".", "‥", "..", "︰", "..", "…", "...", "︙", "...",
	"⁄", "/", "∕", "/", "﹨", `\`, "∖", `\`, "﹪", "%", "﹔", ";", "︔", ";", "\u037e", ";", "﹖", "?", "︖", "?", "﹟", "#",
)

// compatible returns the ASCII of a full-width character, and drops an invisible one.
func compatible(r rune) rune {
	switch {
	case '！' <= r && r <= '～':
		return r - '！' + '!'
	case unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point):
		return -1
	}
	return r
}

// decodeAll decodes the percent forms of a path until none is left, also those that only decoding
// makes. Text that is no percent form stays, and does not stop the decoding of the rest.
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

// usualPorts maps the scheme of a server or a proxy to its default port.
var usualPorts = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}

// HostPort returns the host and port of a URL, also if the port is the default one.
func HostPort(u *url.URL) string {
	return net.JoinHostPort(strings.ToLower(u.Hostname()), cmp.Or(u.Port(), usualPorts[u.Scheme]))
}
