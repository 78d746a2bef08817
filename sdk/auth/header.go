package auth

import (
	"errors"
	"strings"
)

// reserved are headers that no credential may set: they say where a request goes
// and how it is carried, or belong to the protocol that runs over it, to the
// program or to its proofs. One that ends in a hyphen stands for all that begin
// so. The host refuses them in any case; here a provider can do it in words that
// its user understands.
var reserved = []string{
	"Accept", "Accept-Encoding", "Connection", "Content-", "Cookie", "Cookie2", "DPoP", "Expect", "Host", "HTTP2-Settings",
	"Keep-Alive", "Last-Event-ID", "Mcp-", "Proxy-", "Sec-WebSocket-", "TE", "Trailer", "Transfer-Encoding", "Upgrade", "User-Agent",
}

// CheckHeader says what keeps credentials from setting a header. Its error quotes
// neither the value, which is a secret, nor a name that is not one of its own
// list: who gets both from elsewhere may have them mixed up.
func CheckHeader(name, value string) error {
	if name == "" || strings.Trim(name, tokenBytes) != "" {
		return errors.New("the name of a header has letters, digits and hyphens")
	}
	for _, r := range reserved {
		stem := name[:min(len(name), len(r))]
		if strings.EqualFold(stem, r) && (stem == name || strings.HasSuffix(r, "-")) {
			return errors.New("the header " + ellipsis(r) + " is not for credentials to set")
		}
	}
	return checkValue(value)
}

// ellipsis shows that a name goes on.
func ellipsis(name string) string {
	if strings.HasSuffix(name, "-") {
		return name + "…"
	}
	return name
}

// tokenBytes are what RFC 9110, section 5.6.2, makes names of.
const tokenBytes = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

func checkValue(value string) error {
	for i := range len(value) {
		if c := value[i]; c < ' ' && c != '\t' || c == 0x7f {
			return errors.New("the value of a header has a line end or another control character in it")
		}
	}
	switch {
	case value == "":
		return errors.New("the value of a header is empty")
	case strings.Trim(value, " \t") != value:
		return errors.New("the value of a header begins or ends with a space")
	}
	return nil
}
