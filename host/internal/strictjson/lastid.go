package strictjson

import "github.com/wharf-mcp/wharf/internal/lazyregexp"

// idAtEnd matches the end of an object whose last member is its id, or its id followed by simple
// members such as "jsonrpc". Only the end of the message itself can match: another bracket would
// follow an inner object, and quotes in a string would be escaped.
var idAtEnd = lazyregexp.New(`[,{]\s*"id"\s*:\s*(-?[0-9]+|"(?:[^"\\]|\\.)*")\s*(?:,\s*"[a-z]+"\s*:\s*"[^"\\]*"\s*)*}\s*$`)

// LastID returns the id at the end of a message, as it is written, or nil if there is none.
func LastID(tail []byte) []byte {
	if m := idAtEnd.FindSubmatch(tail); m != nil {
		return m[1]
	}
	return nil
}
