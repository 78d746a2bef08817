package auth

import (
	"errors"
	"strings"
)

// reserved are headers that no credential may set: they say how a request is
// carried and framed, or belong to the protocol that runs over it. The host
// refuses the former in any case; here a provider can say it in its own words.
var reserved = []string{
	"Accept-Encoding", "Connection", "Content-Encoding", "Content-Length", "Expect", "Host", "Keep-Alive",
	"Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
	"Accept", "Content-Type", "Last-Event-Id",
	"Mcp-Method", "Mcp-Name", "Mcp-Protocol-Version", "Mcp-Session-Id",
}

// CheckHeader says what keeps credentials from setting a header. Its error quotes
// neither the value, which is a secret, nor a name that is not one of its own
// list: who gets both from elsewhere may have them mixed up.
func CheckHeader(name, value string) error {
	if name == "" || strings.Trim(name, tokenBytes) != "" {
		return errors.New("the name of a header has letters, digits and hyphens")
	}
	for _, r := range reserved {
		if strings.EqualFold(name, r) {
			return errors.New("the header " + r + " is not for credentials to set")
		}
	}
	if len(name) >= 10 && strings.EqualFold(name[:10], "Mcp-Param-") {
		return errors.New("headers that begin with Mcp-Param- are not for credentials to set")
	}
	return checkValue(value)
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
