package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// answering is a client that does nothing but answer.
type answering struct {
	client
	result json.RawMessage
	err    error
}

func (a *answering) serve(context.Context, *request) (json.RawMessage, error) { return a.result, a.err }

func TestCounts(t *testing.T) {
	g := &Gateway{host: new(host.Host)}
	c := &g.counts
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	r := &request{from: new(presence), params: json.RawMessage(`{"a":1}`)}
	g.serve(t.Context(), "", &answering{result: json.RawMessage(`{}`)}, r)
	g.serve(t.Context(), "", &answering{err: invalidParams("no")}, r)
	g.serve(t.Context(), "", &answering{err: internalError(errors.New("no"))}, r)
	g.serve(gone, "", &answering{err: context.Canceled}, r)
	c.addClient(mcp.Modern)
	if c.requests.Load() != 4 || c.invalid.Load() != 1 || c.failed.Load() != 1 || c.cancelled.Load() != 1 || c.inFlight.Load() != 0 ||
		c.bytesIn.Load() != 28 || c.bytesOut.Load() != 2 || c.modernClients.Load() != 1 {
		t.Errorf("%d %d %d %d %d %d %d %d", c.requests.Load(), c.invalid.Load(), c.failed.Load(), c.cancelled.Load(), c.inFlight.Load(), c.bytesIn.Load(), c.bytesOut.Load(), c.modernClients.Load())
	}
}

// To count a request costs no allocation.
func TestCountsCost(t *testing.T) {
	g := &Gateway{host: new(host.Host)}
	r := &request{from: new(presence), params: json.RawMessage(`{}`)}
	well, ill := &answering{result: json.RawMessage(`{}`)}, &answering{err: invalidParams("no")}
	if n := testing.AllocsPerRun(100, func() { g.serve(t.Context(), "", well, r); g.serve(t.Context(), "", ill, r) }); n > 1 { // that of errors.As
		t.Errorf("%v allocations", n)
	}
	if n := testing.AllocsPerRun(100, func() { g.serve(t.Context(), "", well, r) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
