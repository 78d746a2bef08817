package egress

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/wharf-mcp/wharf/host/internal/capability/dial"
	"github.com/wharf-mcp/wharf/host/internal/capability/httpclient"
)

// Policy says where an auth provider may send requests for one server entry. It comes from the
// user's own configuration, never from the provider or a server.
//
// An origin that is named may be anywhere, like the url of a server: the user wrote it down.
// An origin that is only discovered has to be public. It may be on this machine if the server
// is, and on a private network if the server is on one: the person who runs both has nothing
// to fear there. A public server that leads to a private address is an attack.
//
// Behind a proxy, the proxy looks up names and connects. A discovered name is then looked up here
// too, unless the proxy is one of socks5h. It is refused if the look-up fails or leads inside; a
// name that does not exist here passes. Names that only private networks use are refused. If the
// proxy's names differ from those of this machine, the host cannot know the address: a proxy that
// can reach a private network must refuse that itself.
type Policy struct {
	Origins  []string // that may be called: "https://sso.example", or http on this machine
	Discover bool     // allows the server's own origin, and the public https origins that it names

	// Server is the url of the entry, with its proxy and TLS; nil for a server
	// that is a process. No request of a provider has its headers.
	Server *httpclient.Origin
}

// OriginError says that the origin of a request is not granted to the provider. It ends the flow of
// the provider.
type OriginError struct {
	Origin string // "https://host", with the port if it is an unusual one
}

func (e *OriginError) Error() string {
	return fmt.Sprintf("%s is not granted; the entry of the plugin grants it with %s", e.Origin, e.Line())
}

// Line returns the line in the plugin's entry that would grant the origin.
func (e *OriginError) Line() string { return fmt.Sprintf("origins = [%q]", e.Origin) }

// RuleError says that a request or an answer was refused because it breaks a rule that no grant
// lifts.
type RuleError struct{ text string }

func (e *RuleError) Error() string { return e.text }

func ruleErrorf(rule string, args ...any) error { return &RuleError{fmt.Sprintf(rule, args...)} }

// relation says how an origin relates to the configuration.
type relation int

const (
	discovered relation = iota // the server names it
	named                      // granted by its name
	ownServer                  // the server's
)

// relate returns how the origin of u relates to the configuration, or an error if it is not
// granted.
func (r *Policy) relate(u *url.URL) (relation, error) {
	switch {
	case r.Server != nil && sameOrigin(u, r.Server.URL()) && (r.Discover || r.names(u)):
		return ownServer, nil
	case r.names(u):
		return named, nil
	case r.Discover:
		return discovered, nil
	}
	return discovered, &OriginError{originOf(u)}
}

// names reports whether the origin of u is granted by its name.
func (r *Policy) names(u *url.URL) bool {
	return slices.ContainsFunc(r.Origins, func(s string) bool {
		o, err := parseURL(s)
		return err == nil && sameOrigin(u, o)
	})
}

// sameOrigin compares hosts as written: two names of one machine are two origins.
func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && httpclient.HostPort(a) == httpclient.HostPort(b)
}

// originOf returns the origin of u, for people and for the configuration.
func originOf(u *url.URL) string { return u.Scheme + "://" + u.Host }

// parseURL reads the URL of a request.
func parseURL(s string) (*url.URL, error) {
	u, err := webURL("its URL", s)
	if err == nil && strings.Contains(s, "#") {
		err = ruleErrorf("its URL has a fragment")
	}
	return u, err
}

// webURL reads a URL; errors call it what. It accepts only forms that every program reads in the
// same way: a proxy that takes a name for an address would go to an unchecked place. Only https may
// leave this machine.
func webURL(what, s string) (*url.URL, error) {
	if len(s) > httpclient.MaxURL {
		return nil, ruleErrorf("%s is %d bytes long, it may have %d", what, len(s), httpclient.MaxURL)
	}
	u, err := url.Parse(s)
	if err != nil {
		return nil, ruleErrorf("%s: %v", what, httpclient.URLCause(err))
	}
	host := u.Hostname()
	switch {
	case u.Scheme != "https" && u.Scheme != "http" || u.Opaque != "" || host == "":
		return nil, ruleErrorf("%s is not a web address: want https://host/path", what)
	case u.User != nil:
		return nil, ruleErrorf("%s holds a user or password", what)
	case !isHost(host) || !isPort(u.Port()):
		return nil, ruleErrorf("the host of %s is neither a name in ASCII nor an address as they are usually written", what)
	case u.Scheme == "http" && !IsLoopback(host):
		return nil, ruleErrorf("%s is http; only https leaves this machine", what)
	}
	u.Host = strings.ToLower(u.Host)
	return u, nil
}

// isHost reports whether s is an address in its usual form, or a name of labels that
// consist of letters, digits, hyphens and underscores. It refuses a name that some
// programs take for an address: 127.1 and 0x7f000001 (WHATWG URL, section 3.5).
func isHost(s string) bool {
	if a, err := netip.ParseAddr(s); err == nil {
		return a.Zone() == ""
	}
	isOdd := func(r rune) bool {
		return !('a' <= r|0x20 && r|0x20 <= 'z' || '0' <= r && r <= '9' || r == '-' || r == '_')
	}
	last := ""
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || label[0] == '-' || strings.ContainsFunc(label, isOdd) {
			return false
		}
		last = label
	}
	return len(s) <= 253 && !('0' <= last[0] && last[0] <= '9')
}

func isPort(s string) bool {
	if s == "" {
		return true
	}
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n > 0
}

// IsLoopback reports whether a host is this machine by its name (RFC 6761,
// section 6.3) or address. An IPv4 address that is written as IPv6 does not count.
func IsLoopback(host string) bool {
	host = strings.ToLower(host)
	a, err := netip.ParseAddr(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || err == nil && !a.Is4In6() && a.IsLoopback()
}

// carrierPrivate is the address space that carriers share (RFC 6598). Its registry does not call it
// private, but large private networks use it.
var carrierPrivate = netip.MustParsePrefix("100.64.0.0/10")

// isPrivate reports whether a is an address of a private network. A link-local address, at
// which clouds keep their secrets, is not.
func isPrivate(a netip.Addr) bool {
	return !a.Is4In6() && a.Zone() == "" && (a.IsPrivate() || carrierPrivate.Contains(a))
}

// loopbackOnly is a [dial.Control] for names of this machine. It refuses any other address, because
// the resolver of such a name may be wrong.
func loopbackOnly(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err == nil && !at.Addr().IsLoopback() {
		err = ruleErrorf("the name of this machine leads to %s", at.Addr())
	}
	return err
}

// publicOrPrivate is a [dial.Control] for the origins that a server on a private network names. It
// accepts public addresses and those of private networks, and refuses this machine and link-local
// addresses.
func publicOrPrivate(network, address string, conn syscall.RawConn) error {
	if at, err := netip.ParseAddrPort(address); err == nil && isPrivate(at.Addr()) {
		return nil
	}
	return dial.PublicOnly(network, address, conn)
}

// privateZones are the top-level domains that the public name system does not have
// and private networks use: of the special-use registry of IANA (RFC 6761), those
// that RFC 6762 (appendix G) and ICANN found in use, and those of clusters.
var privateZones = []string{
	"arpa", // also home.arpa (RFC 8375): no zone below it has web servers for everybody
	"internal", "local", "localhost", "localdomain", "test", "invalid", "onion", "alt",
	"intranet", "private", "corp", "home", "lan", "mail",
	"svc", "consul",
}

// isPrivateName reports whether a host is a name that can only lead into a private
// network: one without a dot, which is completed there, or one of a zone that
// the public does not have.
func isPrivateName(host string) bool {
	zone := host[strings.LastIndexByte(host, '.')+1:]
	return zone == host || slices.Contains(privateZones, strings.ToLower(zone))
}
