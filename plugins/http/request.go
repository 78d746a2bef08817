package main

import (
	"errors"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
)

// request is the open request of the moment, with the same place for its headers
// every time. It is valid until the next one is made.
type request struct{ abi.OpenRequest }

// The media types of MCP over HTTP.
const (
	mediaJSON   = "application/json"
	mediaEvents = "text/event-stream"
)

// post makes the request for a message. Headers that mirror it come with the
// facts, ready to be sent.
func (r *request) post(f *abi.Facts, s *session) *abi.OpenRequest {
	r.begin("POST")
	r.add("accept", mediaJSON+", "+mediaEvents)
	r.add("content-type", mediaJSON)
	r.add("mcp-protocol-version", f.Version)
	if s.has(f) {
		r.add("mcp-session-id", s.id)
	}
	r.Headers = append(r.Headers, f.Headers...)
	return &r.OpenRequest
}

// bare makes a request without a body, in a session.
func (r *request) bare(method string, s *session, lastID []byte) *abi.OpenRequest {
	r.begin(method)
	if method == "GET" {
		r.add("accept", mediaEvents)
	}
	r.add("mcp-protocol-version", s.version)
	r.add("mcp-session-id", s.id)
	r.add("last-event-id", string(lastID))
	return &r.OpenRequest
}

func (r *request) begin(method string) {
	r.OpenRequest = abi.OpenRequest{Grant: "main", Method: method, Headers: r.Headers[:0]}
}

// add adds a header, unless it is empty.
func (r *request) add(key, value string) {
	if value != "" {
		r.Headers = append(r.Headers, abi.Pair{Key: key, Value: value})
	}
}

// statusOf returns the status that the host refused a request with.
func statusOf(err error) abi.Status {
	var fault *sdk.Fault
	if errors.As(err, &fault) {
		return fault.Status
	}
	return abi.Internal
}
