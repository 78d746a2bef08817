package main

import (
	"net/netip"
	"net/url"
	"strings"
)

// isSecure reports whether an address is fit for what OAuth sends: https, or http
// on the loopback interface where that is allowed. It has no user name, which
// only ever serves to mislead.
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

// originOf returns scheme, host and port as they are compared: in lower case, and
// without the port that the scheme has by itself.
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

// covers reports whether a resource is the server, or what the server is part of:
// the same origin, and a path that the server's begins with, by whole segments.
// A resource with a query is the server only if both have the same.
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
