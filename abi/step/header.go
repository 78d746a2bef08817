package step

import "strings"

// reserved are the headers that no credential may set. They say where a request goes and how it
// is carried, or belong to the protocol above, to the program or to its proofs. A name that ends
// in a hyphen stands for all that begin with it.
var reserved = []string{
	"Accept", "Accept-Encoding", "Connection", "Content-", "Cookie", "Cookie2", "DPoP", "Expect", "Host", "HTTP2-Settings",
	"Keep-Alive", "Last-Event-ID", "Mcp-", "Proxy-", "Sec-WebSocket-", "TE", "Trailer", "Transfer-Encoding", "Upgrade", "User-Agent",
}

// Reserved returns the entry of reserved that covers a name: the header itself, or the
// beginning of its name, with a hyphen at the end. It returns "" for a name that a provider may
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
