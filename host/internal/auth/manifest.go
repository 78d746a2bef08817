package auth

import (
	"net/url"
	"strings"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/internal/extism"
)

// maxOrigins is how many origins a manifest may name.
const maxOrigins = 50

// ReadManifest reads and checks the manifest of a provider. People read it in lists, so every text
// must have a fixed form or is cleaned.
func ReadManifest(b []byte) (*step.Manifest, error) {
	m := new(step.Manifest)
	if err := extism.DecodeManifest(b, m); err != nil {
		return nil, err
	}
	if err := extism.CheckManifest(step.Version, m.ABI, m.Name, m.Version, m.Settings); err != nil {
		return nil, err
	}
	if len(m.Wants.Origins) > maxOrigins {
		return nil, violationf("it has %d origins, there may be %d", len(m.Wants.Origins), maxOrigins)
	}
	if m.Wants.Body && !m.Wants.Requests {
		return nil, violationf("it wants the bodies of requests, and signs none")
	}
	m.About = cleantext.Line(m.About, 200)
	for _, origin := range m.Wants.Origins {
		if _, err := parseOrigin(origin); err != nil {
			return nil, violationf("it wants to call %q: %v", cleantext.Line(origin, 100), err)
		}
	}
	return m, nil
}

// parseOrigin reads a URL that has only a scheme, a host and a port. It returns the form in which
// origins are compared: see [originOf].
func parseOrigin(s string) (string, error) {
	origin, u, err := originOf(s)
	if err == nil && (strings.TrimSuffix(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" || u.ForceQuery) {
		err = violationf("an origin ends with its host and port")
	}
	return origin, err
}

// originOf returns a URL and its origin: in lower case, without the default port of the scheme.
func originOf(s string) (origin string, u *url.URL, err error) {
	if u, err = url.Parse(s); err != nil {
		return "", nil, violationf("it is no URL")
	}
	host := strings.ToLower(u.Hostname())
	switch {
	case u.Scheme != "https" && u.Scheme != "http":
		return "", nil, violationf("the scheme is neither https nor http")
	case host == "" || u.Opaque != "":
		return "", nil, violationf("there is no host")
	case u.User != nil:
		return "", nil, violationf("there is a user name or password in it")
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if p := u.Port(); p != "" && p != map[string]string{"https": "443", "http": "80"}[u.Scheme] {
		host += ":" + p
	}
	return u.Scheme + "://" + host, u, nil
}

// sameOrigin reports whether two URLs have the same origin.
func sameOrigin(a, b string) bool {
	oa, _, errA := originOf(a)
	ob, _, errB := originOf(b)
	return errA == nil && errB == nil && oa == ob
}
