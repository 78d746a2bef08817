// Package observe lets a program see the requests that pass through it: those that clients make to it,
// and those that it makes to servers. Package telemetry makes traces and metrics of them.
package observe

import (
	"context"
	"encoding/json"
)

// Observer sees requests. Its methods may be called from any goroutine, must not wait, and do not change
// what happens to a request.
type Observer interface {
	// Serve sees a request of a client. The request is answered in the context that it returns, and end
	// is called once, with the outcome.
	Serve(ctx context.Context, r *Request) (_ context.Context, end func(Outcome))

	// Send sees a request to a server, which may be sent more than once before it is answered. meta is
	// an object with members for its _meta, or nil.
	Send(ctx context.Context, r *Request) (_ context.Context, meta json.RawMessage, end func(Outcome))
}

// Request is what is told of a request. What is not known is empty.
type Request struct {
	Server            string // the name of its entry; "" for all servers as one
	Method            string
	Tool, Prompt, URI string // what it is about
	ID                string // of JSON-RPC, as it is written
	Session           string // of HTTP
	Revision          string // of the protocol

	// Params are those of a client's request, for the trace that their _meta names.
	Params json.RawMessage
}

// Outcome is how a request ended.
type Outcome string

// The outcomes.
const (
	OK          Outcome = "ok"
	ToolError   Outcome = "tool_error" // the server answered that the tool failed
	Invalid     Outcome = "invalid"    // it was refused: its method, params or arguments
	Denied      Outcome = "denied"     // it is not allowed
	Cancelled   Outcome = "cancelled"  // its caller has given it up
	Timeout     Outcome = "timeout"
	ServerError Outcome = "server_error" // the server answered with an error
	Failed      Outcome = "failed"       // no answer came
)
