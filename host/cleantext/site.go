package cleantext

import (
	"net/url"
	"strings"
)

// longestHost is the longest name that a machine can have, with a port (RFC 1035, 2.3.4).
const longestHost = 253 + len(":65535")

// Site returns the machine that an address leads to, as a visible text, and what is suspicious about it.
func Site(address string) (site, warning string) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Hostname() == "" || len(u.Host) > longestHost:
		return "nowhere", "this is no address of the web."
	case strings.Contains(strings.ToLower(u.Host), "xn--") || strings.ContainsFunc(u.Host, func(r rune) bool { return r > 0x7f }):
		warning = "the name has letters that can look like others. Make sure that it is the one you know."
	case u.User != nil:
		warning = "what stands before the @ is not where it leads."
	case u.Scheme != "https":
		warning = "the connection to it is not encrypted."
	}
	return Visible(u.Host), warning
}
