package step

import "strings"

// reserved are headers that no credential sets: they say where a request goes and
// how it is carried, or belong to the protocol that runs over it, to the program or
// to its proofs. One that ends in a hyphen stands for all that begin so.
var reserved = []string{
	"Accept", "Accept-Encoding", "Connection", "Content-", "Cookie", "Cookie2", "DPoP", "Expect", "Host", "HTTP2-Settings",
	"Keep-Alive", "Last-Event-ID", "Mcp-", "Proxy-", "Sec-WebSocket-", "TE", "Trailer", "Transfer-Encoding", "Upgrade", "User-Agent",
}

// Reserved returns the entry of reserved that a name falls under: a header itself,
// or a beginning with a hyphen at its end. It is "" for a name that a provider may
// set.
func Reserved(name string) string {
	for _, r := range reserved {
		stem := name[:min(len(name), len(r))]
		if strings.EqualFold(stem, r) && (stem == name || strings.HasSuffix(r, "-")) {
			return r
		}
	}
	return ""
}
