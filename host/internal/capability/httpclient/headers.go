package httpclient

import (
	"fmt"
	"maps"
	"net/http"
	"net/textproto"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/cleantext"
)

// Bounds of what a guest and a server may put into headers.
const (
	MaxHeaders     = 64       // of one request, as the guest gave it
	MaxHeaderBytes = 32 << 10 // of one request, as the guest gave it
	MaxHeadBytes   = 64 << 10 // of the head of one response
)

// canonical holds the names that nearly every request has, so that they are not made anew each
// time.
var canonical = map[string]string{
	"accept": "Accept", "content-type": "Content-Type", "last-event-id": "Last-Event-Id",
	"mcp-method": "Mcp-Method", "mcp-name": "Mcp-Name",
	"mcp-protocol-version": "Mcp-Protocol-Version", "mcp-session-id": "Mcp-Session-Id",
}

// requestHeaders makes the header of a request from the pairs of a guest. A guest may set only a
// few headers. The host sets those that name the sender, the target or the framing; the header has
// room for more of them.
func requestHeaders(pairs []abi.Pair, upgrade bool, more int) (http.Header, abi.Status, error) {
	if len(pairs) > MaxHeaders {
		return nil, abi.TooLarge, fmt.Errorf("%d headers, there may be %d", len(pairs), MaxHeaders)
	}
	header := make(http.Header, len(pairs)+more)
	values := make([]string, len(pairs))
	size := 0
	for i, p := range pairs {
		name := strings.ToLower(p.Key)
		if !IsToken(name) || !IsHeaderValue(p.Value) {
			return nil, abi.Malformed, fmt.Errorf("the header %q: %q is not a valid header", cleantext.Line(p.Key, 64), cleantext.Line(p.Value, 64))
		}
		if !guestMaySend(name, upgrade) {
			return nil, abi.Denied, fmt.Errorf("the header %s is not for plugins to send", cleantext.Line(name, 64))
		}
		key, known := canonical[name]
		if !known {
			key = textproto.CanonicalMIMEHeaderKey(name)
		}
		if _, twice := header[key]; twice {
			return nil, abi.Malformed, fmt.Errorf("the header %s stands twice", cleantext.Line(name, 64))
		}
		if size += len(name) + len(p.Value); size > MaxHeaderBytes {
			return nil, abi.TooLarge, fmt.Errorf("its headers are longer than %d bytes", MaxHeaderBytes)
		}
		values[i] = p.Value
		header[key] = values[i : i+1 : i+1]
	}
	return header, abi.OK, nil
}

// wholeHeader is the header of a request, with the pairs of the guest and the headers of the client that it was made
// from.
type wholeHeader struct {
	pairs  []abi.Pair
	own    *http.Header
	header http.Header
}

// signableHeaders returns the headers that reach the server unchanged.
func signableHeaders(header http.Header) []abi.Pair {
	var pairs []abi.Pair
	for _, name := range slices.Sorted(maps.Keys(header)) {
		for _, value := range header[name] {
			if !slices.Contains(FramingHeaders, name) {
				pairs = append(pairs, abi.Pair{Key: strings.ToLower(name), Value: value})
			}
		}
	}
	return pairs
}

// guestMaySend reports whether a guest may send the header of that name.
func guestMaySend(name string, upgrade bool) bool {
	switch name {
	case "accept", "content-type", "last-event-id":
		return true
	case "upgrade", "sec-websocket-version", "sec-websocket-protocol":
		return upgrade
	}
	return strings.HasPrefix(name, "mcp-")
}

// heardFirst holds the headers of a response that a guest may see, in addition to those that begin
// with Mcp-. The key is the name for net/http, the value the name for guests.
var heardFirst = []abi.Pair{
	{Key: "Content-Type", Value: "content-type"},
	{Key: "Retry-After", Value: "retry-after"},
	{Key: "Allow", Value: "allow"},
	{Key: "Sec-Websocket-Protocol", Value: "sec-websocket-protocol"},
}

// visibleHeaders returns the headers of a response that a guest may see. None of them reveals the
// server's address or the credentials.
func visibleHeaders(header http.Header) []abi.Pair {
	pairs := make([]abi.Pair, 0, 4) // most answers hold one or two
	for _, name := range heardFirst {
		pairs = appendVisible(pairs, name.Value, header[name.Key])
	}
	first := len(pairs)
	for name, values := range header {
		if strings.HasPrefix(name, "Mcp-") {
			pairs = appendVisible(pairs, strings.ToLower(name), values)
		}
	}
	slices.SortStableFunc(pairs[first:], func(a, b abi.Pair) int { return strings.Compare(a.Key, b.Key) })
	return pairs
}

// appendVisible appends values in the text form of the ABI, because a server may send any bytes.
func appendVisible(pairs []abi.Pair, name string, values []string) []abi.Pair {
	for _, value := range values {
		pairs = append(pairs, abi.Pair{Key: name, Value: strings.ToValidUTF8(value, "\uFFFD")})
	}
	return pairs
}

// FramingHeaders say how a message is framed. They cannot be configured: two different ends of one
// body would allow request smuggling.
var FramingHeaders = []string{
	"Accept-Encoding", "Connection", "Content-Encoding", "Content-Length", "Expect", "Keep-Alive",
	"Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// configuredHeaders makes the header that is added to every request of an origin.
func configuredHeaders(pairs []abi.Pair) (http.Header, error) {
	header := http.Header{"User-Agent": {UserAgent}}
	given := map[string]bool{}
	for _, p := range pairs {
		key := textproto.CanonicalMIMEHeaderKey(p.Key)
		switch {
		case !IsToken(p.Key):
			return nil, fmt.Errorf("the header %q: that is not a valid name", p.Key)
		case !IsHeaderValue(p.Value):
			return nil, fmt.Errorf("the header %s: its value holds a line end or another control character", key)
		case slices.Contains(FramingHeaders, key):
			return nil, fmt.Errorf("the header %s cannot be configured: it is set as each request needs it", key)
		}
		if !given[key] {
			delete(header, key)
			given[key] = true
		}
		header[key] = slices.Clip(append(header[key], p.Value))
	}
	return header, nil
}

// UserAgent is the User-Agent of requests, unless the user configures another.
const UserAgent = "wharf"

// IsToken reports whether s is what RFC 9110 calls a token.
func IsToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return s != ""
}

// IsHeaderValue reports whether s can be the value of a header. It accepts spaces at the ends,
// although they are lost on the way: that is up to the user.
func IsHeaderValue(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}
