package mcp

import "encoding/json"

// Root is a place that a client lets a server work in (2025-11-25/client/roots).
// The URI is a file URI.
type Root struct {
	URI  string          `json:"uri"`
	Name string          `json:"name,omitempty"`
	Meta json.RawMessage `json:"_meta,omitempty"`
}

// ListRootsResult is a client's answer to [MethodListRoots].
type ListRootsResult struct {
	Roots []Root `json:"roots"`
}

// The modes of an elicitation. One without a mode is a form, as before 2025-11-25.
const (
	ElicitForm = "form" // Message, RequestedSchema
	ElicitURL  = "url"  // Message, URL, ElicitationID
)

// Elicitation is a server's question to the person at the client
// (2025-11-25/client/elicitation). Message, URL and schema are the server's
// words: show them as such, and open a URL only with the person's consent.
type Elicitation struct {
	Mode            string          `json:"mode,omitempty"`
	Message         string          `json:"message"`
	RequestedSchema json.RawMessage `json:"requestedSchema,omitempty"`
	URL             string          `json:"url,omitempty"`
	ElicitationID   string          `json:"elicitationId,omitempty"`
	Meta            json.RawMessage `json:"_meta,omitempty"`
}

// The actions of an [ElicitResult].
const (
	ElicitAccept  = "accept"
	ElicitDecline = "decline"
	ElicitCancel  = "cancel"
)

// ElicitResult is a person's answer to an [Elicitation]. Content is what they filled in: it is
// there only with [ElicitAccept], and only for a form.
type ElicitResult struct {
	Action  string         `json:"action"`
	Content map[string]any `json:"content,omitempty"`
}

// CapabilityFor returns the capability that a client declares to be sent a request, such as "roots". It is "" for
// a request that the protocol does not have servers send.
func CapabilityFor(request string) string {
	switch request {
	case MethodListRoots:
		return "roots"
	case MethodCreateMessage:
		return "sampling"
	case MethodElicit:
		return "elicitation"
	}
	return ""
}
