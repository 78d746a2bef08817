package main

import (
	"net/netip"
	"net/url"
	"strings"
)

// isSecure reports whether an address may be sent what OAuth sends: it is https, or http on the
// loopback interface if loopback is set. It must not have a user name, whose only use is to
// mislead.
func isSecure(u *url.URL, loopback bool) bool {
	if u.Host == "" || u.Opaque != "" || u.User != nil {
		return false
	}
	return u.Scheme == "https" || loopback && u.Scheme == "http" && isLoopback(u)
}

func isLoopback(u *url.URL) bool {
	host := u.Hostname()
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.IsLoopback()
}

// originOf returns scheme, host and port in the form in which they are compared: in lower case,
// and without the default port of the scheme.
func originOf(u *url.URL) string {
	host := strings.ToLower(u.Host)
	switch u.Scheme {
	case "https":
		host = strings.TrimSuffix(host, ":443")
	case "http":
		host = strings.TrimSuffix(host, ":80")
	}
	return u.Scheme + "://" + host
}

// covers reports whether a resource is the server, or contains it. They have the same origin,
// and the server's path begins with the resource's, by whole segments. A resource with a query
// covers the server only if both have the same.
func covers(resource, server *url.URL) bool {
	if originOf(resource) != originOf(server) || resource.User != nil || resource.Fragment != "" || resource.Opaque != "" {
		return false
	}
	path, whole := strings.TrimSuffix(resource.EscapedPath(), "/"), strings.TrimSuffix(server.EscapedPath(), "/")
	if resource.RawQuery != "" {
		return path == whole && resource.RawQuery == server.RawQuery
	}
	return whole == path || strings.HasPrefix(whole, path+"/")
}

// wellKnown puts a well-known name between the host and the path of an address
// (RFC 8615, section 3; RFC 8414, section 3.1; RFC 9728, section 3.1).
func wellKnown(u *url.URL, name string) string {
	return originOf(u) + "/.well-known/" + name + strings.TrimSuffix(u.EscapedPath(), "/")
}
