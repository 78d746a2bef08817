package main

import (
	"errors"
	"net/url"
	"path"
	"slices"
	"strings"
)

// canonicalURL splits a URL into the forms that are signed. It encodes the path as it
// came, so an encoded character in it is encoded twice: all services but S3 demand
// that.
func canonicalURL(raw string) (uri, query, host string, err error) {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return "", "", "", errors.New("the URL of the request cannot be read")
	}
	if query, err = canonicalQuery(u.RawQuery); err != nil {
		return "", "", "", err
	}
	return canonicalPath(wirePath(raw)), query, u.Host, nil
}

// wirePath returns the path of an absolute URL, in the encoding that the URL has.
func wirePath(raw string) string {
	_, rest, _ := strings.Cut(raw, "://")
	rest, _, _ = strings.Cut(rest, "#")
	rest, _, _ = strings.Cut(rest, "?")
	_, p, _ := strings.Cut(rest, "/")
	return "/" + p
}

// canonicalPath resolves dots and doubled slashes, and keeps a slash at the end.
func canonicalPath(p string) string {
	clean := path.Clean(p)
	if strings.HasSuffix(p, "/") && clean != "/" {
		clean += "/"
	}
	return encode(clean, "/")
}

// canonicalQuery sorts the parameters as they are encoded, names first.
func canonicalQuery(raw string) (string, error) {
	if raw == "" {
		return "", nil
	}
	var pairs [][2]string
	for part := range strings.SplitSeq(raw, "&") {
		name, value, _ := strings.Cut(part, "=")
		name, err1 := url.QueryUnescape(name)
		value, err2 := url.QueryUnescape(value)
		if err1 != nil || err2 != nil {
			return "", errors.New("the query of the request cannot be read")
		}
		if part != "" {
			pairs = append(pairs, [2]string{encode(name, ""), encode(value, "")})
		}
	}
	slices.SortFunc(pairs, func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
	var b strings.Builder
	for i, p := range pairs {
		if i > 0 {
			b.WriteByte('&')
		}
		b.WriteString(p[0] + "=" + p[1])
	}
	return b.String(), nil
}

// encode applies the percent-encoding of RFC 3986 to all characters but the unreserved
// ones and those in keep.
func encode(s, keep string) string {
	const (
		unreserved = "-._~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		digits     = "0123456789ABCDEF"
	)
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; strings.IndexByte(unreserved, c) >= 0 || strings.IndexByte(keep, c) >= 0 {
			b.WriteByte(c)
		} else {
			b.WriteString(string([]byte{'%', digits[c>>4], digits[c&15]}))
		}
	}
	return b.String()
}
