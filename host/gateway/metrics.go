package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
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
		Connections: g.host.Counts(),
	}
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

// serve passes a request to a client, returns its answer, and counts both.
func (c *counts) serve(ctx context.Context, to client, r *request) (json.RawMessage, error) {
	c.requests.Add(1)
	c.bytesIn.Add(uint64(len(r.params)))
	c.inFlight.Add(1)
	result, err := to.serve(ctx, r)
	c.inFlight.Add(-1)
	c.bytesOut.Add(uint64(len(result)))
	if err != nil {
		c.addError(ctx, err)
	}
	return result, err
}

func (c *counts) addError(ctx context.Context, err error) {
	var fault *rpc.Error
	if errors.As(err, &fault) {
		switch fault.Code {
		case mcp.CodeInvalidRequest, mcp.CodeMethodNotFound, mcp.CodeInvalidParams:
			c.invalid.Add(1)
			return
		}
	}
	if ctx.Err() != nil {
		c.cancelled.Add(1)
	} else {
		c.failed.Add(1)
	}
}
