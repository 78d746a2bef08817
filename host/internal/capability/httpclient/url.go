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

// isDots reports whether a server may take a segment for "." or "..": it consists
// of dots, before what a server may cut off: parameters, a query, a fragment,
// blanks, and all from a control character on.
func isDots(segment string) bool {
	if end := strings.IndexFunc(segment, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune(";?#", r) }); end >= 0 {
		segment = segment[:end]
	}
	return segment != "" && strings.Trim(segment, ".") == ""
}

// lookalikes are characters that a server may take for ASCII that means something in a
// path (NFKC, or the name of the character), beside those of full width.
var lookalikes = strings.NewReplacer(
	"․", ".", "﹒", ".", "。", ".", "｡", ".", "︒", ".", "‥", "..", "︰", "..", "…", "...", "︙", "...",
	"⁄", "/", "∕", "/", "﹨", `\`, "∖", `\`, "﹪", "%", "﹔", ";", "︔", ";", "\u037e", ";", "﹖", "?", "︖", "?", "﹟", "#",
)

// compatible is ASCII for a character of full width, and leaves out what is not shown.
func compatible(r rune) rune {
	switch {
	case '！' <= r && r <= '～':
		return r - '！' + '!'
	case unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point):
		return -1
	}
	return r
}

// decodeAll decodes the percent forms of a path until none is left, also those that only
// decoding makes. A text that is no percent form stays, and does not hide the forms after it.
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
