package auth

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/internal/capability/httpclient"
	"github.com/wharf-mcp/wharf/host/internal/secret"
)

// credentials are what a flow gives to requests.
type credentials struct {
	headers []header      // sorted by name; Authorization is the last
	token   secret.Secret // without its scheme
	key     *key          // signs a proof for each request; nil if there is none
	expires time.Time     // zero if it is not known
}

type header struct {
	name  string
	value secret.Secret
}

// Bounds of the headers of credentials.
const (
	maxHeaders     = 64
	maxHeaderBytes = 64 << 10
)

// readCredentials checks the credentials that a provider gives. No error quotes a value.
func readCredentials(c *step.Credentials, keys map[string]*key) (*credentials, error) {
	if (c.Token == "") != (c.Scheme == "") || c.Token == "" && c.DPoP != "" {
		return nil, violationf("its credentials have a scheme without a token, or the other way round")
	}
	out := &credentials{token: secret.New(c.Token)}
	for _, name := range slices.Sorted(maps.Keys(c.Headers)) {
		out.headers = append(out.headers, header{name, secret.New(c.Headers[name])})
	}
	if c.Token != "" {
		if !httpclient.IsToken(c.Scheme) {
			return nil, violationf("the scheme of its credentials is none")
		}
		out.headers = append(out.headers, header{"Authorization", secret.New(c.Scheme + " " + c.Token)})
	}
	size, seen := 0, map[string]bool{}
	for _, h := range out.headers {
		name, shown := strings.ToLower(h.name), cleantext.Line(h.name, 64)
		size += len(name) + len(h.value.Reveal())
		switch {
		case !httpclient.IsToken(h.name):
			return nil, violationf("its credentials set the header %q, which is no name", shown)
		case step.Reserved(name) != "":
			return nil, violationf("its credentials set the header %s, which is not theirs to set", shown)
		case !httpclient.IsHeaderValue(h.value.Reveal()):
			return nil, violationf("its credentials set the header %s to a value with a line end or another control character", shown)
		case seen[name]:
			return nil, violationf("its credentials set the header %s twice", shown)
		}
		seen[name] = true
	}
	if len(out.headers) > maxHeaders || size > maxHeaderBytes {
		return nil, violationf("its credentials set %d headers of %d bytes, there may be %d of %d", len(out.headers), size, maxHeaders, maxHeaderBytes)
	}
	if c.DPoP != "" {
		if out.key = keys[c.DPoP]; out.key == nil {
			return nil, violationf("it has no key %q", cleantext.Line(c.DPoP, 64))
		}
	}
	if c.ExpiresAt != 0 {
		// The time is read from the clock on the wall, and kept by the monotonic one.
		const year = 366 * 24 * time.Hour // far enough, and no duration overflows
		now := time.Now()
		out.expires = now.Add(max(-year, min(10*year, time.UnixMilli(c.ExpiresAt).Sub(now.Round(0)))))
	}
	return out, nil
}

// pairs returns the headers for an exchange, without a proof.
func (c *credentials) pairs() []abi.Pair {
	out := make([]abi.Pair, 0, len(c.headers))
	for _, h := range c.headers {
		out = append(out, abi.Pair{Key: h.name, Value: h.value.Reveal()})
	}
	return out
}
