package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/observe"
	"github.com/wharf-mcp/wharf/host/status"
)

// Metrics are the counts of a gateway since [New].
type Metrics struct {
	LegacyClients, ModernClients uint64 // clients that have sent a request
	Requests                     uint64 // of clients
	InFlight                     int64  // requests that have no answer yet
	Invalid                      uint64 // requests that were answered with an error because they were not valid
	Failed                       uint64 // requests that were answered with another error
	Cancelled                    uint64 // requests that the client gave up, or that ended with it
	BytesIn, BytesOut            uint64 // of the params of requests, and of the results
	Parked                       uint64 // calls that were parked until the client had answered a question
	Divided                      uint64 // servers that have turned out to need a copy for each client
	KnownLists                   uint64 // lists of all servers that were returned without asking a server

	// Connected says for each of [Config].Servers whether the host has a connection to it.
	Connected map[string]bool

	// Connections are the connections of the host to its servers. They include those of sessions
	// that the gateway has not made.
	Connections status.Counts
}

// Metrics returns the counts. They are not read at one moment, so they may not agree with each
// other.
func (g *Gateway) Metrics() Metrics {
	c := &g.counts
	return Metrics{
		LegacyClients: c.legacyClients.Load(), ModernClients: c.modernClients.Load(),
		Requests: c.requests.Load(), InFlight: c.inFlight.Load(),
		Invalid: c.invalid.Load(), Failed: c.failed.Load(), Cancelled: c.cancelled.Load(),
		BytesIn: c.bytesIn.Load(), BytesOut: c.bytesOut.Load(),
		Parked: c.parked.Load(), Divided: c.divided.Load(), KnownLists: c.knownLists.Load(),
		Connections: g.host.Counts(), Connected: g.connected(),
	}
}

func (g *Gateway) connected() map[string]bool {
	connected := make(map[string]bool, len(g.config.Servers))
	for _, s := range g.config.Servers {
		connected[s.Name] = false
	}
	for _, s := range g.host.Servers() {
		if _, ours := connected[s.Name]; ours && s.State == status.Connected {
			connected[s.Name] = true
		}
	}
	return connected
}

// counts are the counters behind [Metrics].
type counts struct {
	legacyClients, modernClients, requests, invalid, failed, cancelled, bytesIn, bytesOut, parked, divided, knownLists atomic.Uint64
	inFlight                                                                                                           atomic.Int64
}

// addClient counts a client.
func (c *counts) addClient(era mcp.Era) {
	if era == mcp.Modern {
		c.modernClients.Add(1)
	} else {
		c.legacyClients.Add(1)
	}
}

// serve passes a request to a client that reaches a server, or all as one, and returns its answer. It
// counts both, and tells the observer of the host.
func (g *Gateway) serve(ctx context.Context, server string, to client, r *request) (json.RawMessage, error) {
	if !g.admit(r.method) {
		return nil, g.clientError(ErrClosed)
	}
	defer g.answered(r.method)
	c := &g.counts
	c.requests.Add(1)
	c.bytesIn.Add(uint64(len(r.params)))
	var end func(observe.Outcome)
	if o := g.host.Observer(); o != nil {
		ctx, end = o.Serve(ctx, observed(server, r))
	}
	c.inFlight.Add(1)
	r.from.inFlight.Add(1)
	result, err := to.serve(ctx, r)
	r.from.inFlight.Add(-1)
	c.inFlight.Add(-1)
	c.bytesOut.Add(uint64(len(result)))
	if errors.Is(err, ErrClosed) {
		err = g.clientError(err)
	}
	if err != nil {
		c.addError(ctx, err)
	}
	if err == nil && server != "" && g.host.NeedsCaller() {
		r.from.listed(r, result)
	}
	if end != nil {
		end(outcome(ctx, result, err))
	}
	return result, err
}

// observed returns what an observer is told of a request.
func observed(server string, r *request) *observe.Request {
	o := &observe.Request{Server: server, Method: r.method, ID: string(r.id), Params: r.params}
	switch r.method {
	case mcp.MethodCallTool:
		o.Tool = text(r.params, "name")
	case mcp.MethodGetPrompt:
		o.Prompt = text(r.params, "name")
	case mcp.MethodReadResource, mcp.MethodSubscribe, mcp.MethodUnsubscribe:
		o.URI = text(r.params, "uri")
	}
	return o
}

// outcome says how a request ended.
func outcome(ctx context.Context, result json.RawMessage, err error) observe.Outcome {
	var fault *rpc.Error
	switch {
	case err == nil && string(member(result, "isError")) == "true":
		return observe.ToolError
	case err == nil:
		return observe.OK
	case ctx.Err() != nil:
		return observe.Cancelled
	case !errors.As(err, &fault):
		return observe.Failed
	case isInvalid(fault.Code):
		return observe.Invalid
	case fault.Raw != nil:
		return observe.ServerError
	}
	return observe.Failed
}

// isInvalid reports whether an error says that the request was not valid.
func isInvalid(code int) bool {
	return code == mcp.CodeInvalidRequest || code == mcp.CodeMethodNotFound || code == mcp.CodeInvalidParams
}

func (c *counts) addError(ctx context.Context, err error) {
	var fault *rpc.Error
	switch {
	case errors.As(err, &fault) && isInvalid(fault.Code):
		c.invalid.Add(1)
	case ctx.Err() != nil:
		c.cancelled.Add(1)
	default:
		c.failed.Add(1)
	}
}
