package main

import (
	"net/url"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/host"
)

// atAddress reports whether a word is the address of a server, and returns it with its
// scheme in lower case: schemes are case-insensitive (RFC 3986, 3.1).
func atAddress(word string) (address string, ok bool) {
	scheme, rest, found := strings.Cut(word, "://")
	scheme = strings.ToLower(scheme)
	return scheme + "://" + rest, found && slices.Contains([]string{"http", "https", "unix", "ws", "wss"}, scheme)
}

// remote returns the server at an address. Its name is the host name, which holds no secret.
func remote(address string) host.Server {
	name := "remote"
	if u, err := url.Parse(address); err == nil && u.Hostname() != "" {
		name = u.Hostname()
	}
	s := host.Server{Name: name, URL: address}
	if strings.HasPrefix(address, "ws") {
		s.Transport = "websocket" // which is no part of wharf; the url of an entry needs it too
	}
	return s.Literal()
}
