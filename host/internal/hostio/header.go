package hostio

import (
	"slices"
	"strings"
)

// OfProtocol reports whether the protocol itself sets a header of a request: it says what a message is, or to
// which session it belongs. Neither an entry nor a provider may set it.
func OfProtocol(header string) bool {
	header = strings.ToLower(header)
	return strings.HasPrefix(header, "mcp-param-") || slices.Contains([]string{
		"accept", "content-type", "last-event-id", "mcp-method", "mcp-name", "mcp-protocol-version", "mcp-session-id"}, header)
}
