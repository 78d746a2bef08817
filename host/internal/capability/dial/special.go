package dial

import (
	"fmt"
	"net/netip"
	"syscall"

	"github.com/wharf-mcp/wharf/abi"
)

// reserved holds the address ranges that do not lead to a public machine, or lead to one through an
// address embedded in another: the special-purpose registries of IANA (RFC 6890), and deprecated
// ranges that some networks still route.
var reserved = []struct {
	prefix netip.Prefix
	is     string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "local"},
	{netip.MustParsePrefix("10.0.0.0/8"), "private"},
	{netip.MustParsePrefix("100.64.0.0/10"), "carrier-private"},
	{netip.MustParsePrefix("127.0.0.0/8"), "loopback"},
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local"},
	{netip.MustParsePrefix("172.16.0.0/12"), "private"},
	{netip.MustParsePrefix("192.0.0.0/24"), "reserved"},
	{netip.MustParsePrefix("192.0.2.0/24"), "documentation"},
	{netip.MustParsePrefix("192.31.196.0/24"), "reserved"},
	{netip.MustParsePrefix("192.52.193.0/24"), "reserved"},
	{netip.MustParsePrefix("192.88.99.0/24"), "translated"},
	{netip.MustParsePrefix("192.168.0.0/16"), "private"},
	{netip.MustParsePrefix("192.175.48.0/24"), "reserved"},
	{netip.MustParsePrefix("198.18.0.0/15"), "benchmark"},
	{netip.MustParsePrefix("198.51.100.0/24"), "documentation"},
	{netip.MustParsePrefix("203.0.113.0/24"), "documentation"},
	{netip.MustParsePrefix("224.0.0.0/4"), "multicast"},
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved"},
}

// public is the part of IPv6 that is given out to machines. Everything outside of it is
// special, known to us or not: loopback, ::/96, mapped and translated addresses
// (64:ff9b::/96, 64:ff9b:1::/48), private, link-local, site-local, multicast.
var public = netip.MustParsePrefix("2000::/3")

// inside holds the special ranges within public.
var inside = []struct {
	prefix netip.Prefix
	is     string
}{
	{netip.MustParsePrefix("2001::/23"), "translated or reserved"}, // Teredo, ORCHID, benchmarks
	{netip.MustParsePrefix("2001:db8::/32"), "documentation"},
	{netip.MustParsePrefix("2002::/16"), "translated"}, // 6to4
	{netip.MustParsePrefix("2620:4f:8000::/48"), "reserved"},
	{netip.MustParsePrefix("3ffe::/16"), "reserved"},
	{netip.MustParsePrefix("3fff::/20"), "documentation"},
}

// Special says what kind of address a is, or "" for a public one.
func Special(a netip.Addr) string {
	ranges := reserved
	if !a.Is4() {
		if !public.Contains(a.WithZone("")) {
			return "special"
		}
		ranges = inside
	}
	for _, r := range ranges {
		if r.prefix.Contains(a.WithZone("")) {
			return r.is
		}
	}
	return ""
}

// AddressError is the error of a dial that the policy forbids: a name outside of the user's
// configuration resolved to an address that is not public.
type AddressError struct {
	Addr netip.Addr
	Is   string // what kind of address it is
}

func (e *AddressError) Error() string {
	return fmt.Sprintf("the name leads to %s, a %s address; only what your configuration names itself may be there", e.Addr, e.Is)
}

// Status returns the status for the guest.
func (*AddressError) Status() abi.Status { return abi.Denied }

// PublicOnly is a [Control] that refuses each address that is not public, with an [*AddressError].
func PublicOnly(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("address %q: %w", address, err)
	}
	if is := Special(at.Addr()); is != "" {
		return &AddressError{Addr: at.Addr(), Is: is}
	}
	return nil
}
