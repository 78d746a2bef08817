package main

import (
	"errors"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
)

// request holds the current open request. It is valid until the next one is made.
type request struct {
	abi.OpenRequest // one without a body; its headers have the same place every time

	// Posts begin alike for as long as the session lasts.
	posts   abi.OpenWriter
	common  int    // the length of that beginning
	version string // in that beginning
	session string // likewise
}

// The media types of MCP over HTTP.
const (
	mediaJSON   = "application/json"
	mediaEvents = "text/event-stream"
)

// post returns the encoded request for a message. The facts have the headers that
// mirror the message, ready to be sent.
func (r *request) post(f *abi.FactsReader, session string) []byte {
	if version := f.Version(); r.common == 0 || session != r.session || string(version) != r.version {
		r.beginPosts(string(version), session)
	}
	r.posts.Cut(r.common)
	r.posts.Mirror(f)
	return r.posts.Block()
}

func (r *request) beginPosts(version, session string) {
	r.begin("POST")
	r.add("accept", mediaJSON+", "+mediaEvents)
	r.add("content-type", mediaJSON)
	r.add("mcp-protocol-version", version)
	r.add("mcp-session-id", session)
	r.posts.Begin(&r.OpenRequest)
	r.common, r.version, r.session = r.posts.Len(), version, session
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

// statusOf returns the status with which the host refused a request.
func statusOf(err error) abi.Status {
	var fault *sdk.Fault
	if errors.As(err, &fault) {
		return fault.Status
	}
	return abi.Internal
}
