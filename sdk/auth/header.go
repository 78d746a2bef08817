package auth

import (
	"errors"
	"strings"

	"github.com/wharf-mcp/wharf/abi/step"
)

// CheckHeader returns why credentials cannot set a header, or nil. The host refuses such a header
// in any case; here a provider can do so in words that its user understands. The error quotes at
// most an entry of the host's list. The value is a secret, and so may the name be: a caller that
// gets both from elsewhere may have mixed them up.
func CheckHeader(name, value string) error {
	if name == "" || strings.Trim(name, tokenBytes) != "" {
		return errors.New("the name of a header has letters, digits and hyphens")
	}
	if r := step.Reserved(name); r != "" {
		return errors.New("the header " + ellipsis(r) + " is not for credentials to set")
	}
	return checkValue(value)
}

// ellipsis adds "…" to the beginning of a name, which ends in a hyphen.
func ellipsis(name string) string {
	if strings.HasSuffix(name, "-") {
		return name + "…"
	}
	return name
}

// tokenBytes are the bytes that names consist of (RFC 9110, section 5.6.2).
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
