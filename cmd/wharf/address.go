package main

import (
	"net/url"
	"strings"

	"github.com/wharf-mcp/wharf/host"
)

// atAddress reports whether a word is the address of a server, and returns it with its
// scheme in lower case: schemes are case-insensitive (RFC 3986, 3.1).
func atAddress(word string) (address string, ok bool) {
	scheme, rest, found := strings.Cut(word, "://")
	scheme = strings.ToLower(scheme)
	return scheme + "://" + rest, found && (scheme == "http" || scheme == "https" || scheme == "unix")
}

// remote returns the server at an address. Its name is the host name, which holds no secret.
func remote(address string) host.Server {
	name := "remote"
	if u, err := url.Parse(address); err == nil && u.Hostname() != "" {
		name = u.Hostname()
	}
	return host.Server{Name: name, URL: address}.Literal()
}
