package auth

import (
	"cmp"
	"net/url"
	"strings"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

// Bounds of a manifest.
const (
	maxManifest = 64 << 10
	maxSettings = 100
	maxOrigins  = 50
)

var (
	nameShape    = lazyregexp.New(`^[a-z0-9][a-z0-9-]{0,63}$`)
	settingShape = lazyregexp.New(`^[a-z][a-z0-9_-]{0,63}$`)
	versionShape = lazyregexp.New(`^[0-9A-Za-z][0-9A-Za-z.+-]{0,63}$`)
)

// ReadManifest reads and checks the manifest of a provider. People read it in lists, so every text
// must have a fixed form or is cleaned.
func ReadManifest(b []byte) (*step.Manifest, error) {
	if len(b) > maxManifest {
		return nil, violationf("its manifest has %d bytes, there may be %d", len(b), maxManifest)
	}
	m := new(step.Manifest)
	if err := strict(b, m); err != nil {
		return nil, violationf("its manifest is not of the contract: %v", err)
	}
	switch {
	case m.ABI != step.Version:
		return nil, violationf("it is built for %q, this host speaks %s", cleantext.Line(m.ABI, 64), step.Version)
	case !nameShape.MatchString(m.Name):
		return nil, violationf("it calls itself %q: a name has small letters, digits and hyphens", cleantext.Line(m.Name, 64))
	case !versionShape.MatchString(m.Version):
		return nil, violationf("its version is %q", cleantext.Line(m.Version, 64))
	case len(m.Settings) > maxSettings || len(m.Wants.Origins) > maxOrigins:
		return nil, violationf("it has %d settings and %d origins, there may be %d and %d", len(m.Settings), len(m.Wants.Origins), maxSettings, maxOrigins)
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
	seen := map[string]bool{}
	for i := range m.Settings {
		s := &m.Settings[i]
		s.Kind = cmp.Or(s.Kind, step.SettingText)
		if settingKinds[s.Kind].like == nil {
			return nil, violationf("its setting %q is a %q, which is no kind of setting", cleantext.Line(s.Key, 64), cleantext.Line(s.Kind, 64))
		}
		if !settingShape.MatchString(s.Key) || seen[s.Key] {
			return nil, violationf("its setting %q has no name of its own", cleantext.Line(s.Key, 64))
		}
		s.About = cleantext.Line(s.About, 200)
		seen[s.Key] = true
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
