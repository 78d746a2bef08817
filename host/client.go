package host

import (
	"context"
	"encoding/json"

	"github.com/wharf-mcp/wharf/host/internal/session"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/policy"
)

// Client describes a program to its servers: its name, and the requests of servers that it
// answers. Each callback gets the name of the server that asks. A callback that is nil is not
// advertised, and its requests are refused.
type Client struct {
	// Info is how the program names itself. Without a Name, Wharf's own Info is sent.
	Info mcp.Implementation

	// Elicit asks the user something on behalf of a server.
	Elicit func(ctx context.Context, server string, e mcp.Elicitation) (mcp.ElicitResult, error)

	// Sample lets the program's model answer for a server. Params and result are the JSON of
	// sampling/createMessage.
	Sample func(ctx context.Context, server string, params json.RawMessage) (json.RawMessage, error)

	// Roots lists the folders that a server may know of.
	Roots func(ctx context.Context, server string) ([]mcp.Root, error)

	// Handlers answer requests of other methods, and those of the methods above whose callback is
	// nil. Params and result are JSON. Legacy servers send such requests themselves; modern ones
	// ask for them in their results. An [RPCError] that a handler returns is sent to a legacy
	// server as it is. Of any other error the server learns only that the request failed. A request
	// without a handler is refused with -32601.
	Handlers map[string]func(ctx context.Context, server string, params json.RawMessage) (json.RawMessage, error)

	// Other answers requests of methods that have no callback and no handler of their own.
	Other func(ctx context.Context, server, method string, params json.RawMessage) (json.RawMessage, error)

	// Event gets the notifications of the sessions of this client, in place of
	// [Config.Event]. Warnings still go to Config.Event.
	Event func(e Event)

	// Capabilities are declared beside those of the callbacks: by name, each with its settings,
	// a JSON object. Examples are "experimental", or "sampling" with tools and context. An entry
	// takes the place of what Wharf declares for the callback of the same name: "elicitation"
	// with {"form":{}} offers forms and no pages. A request in a mode that is not offered is
	// refused.
	Capabilities map[string]json.RawMessage

	// Extensions are declared by their names, each with its settings, a JSON object.
	Extensions map[string]json.RawMessage

	// Caller is who makes the requests whose context has no caller of its own, see
	// [policy.WithCaller]. The zero Caller is the user who runs the program.
	Caller policy.Caller

	// Private keeps what servers list to this client apart from what they list to others: the
	// lists in [Config.CatalogueDir] are not used, and nothing is saved there.
	Private bool
}

// name sets the client's name to that of Wharf if it has none.
func (c *Client) name() {
	if c.Info.Name == "" {
		c.Info = mcp.Implementation{Name: "wharf", Version: "0.1.0"}
	}
}

// offer puts what the client declares and answers into the configuration of a session.
func (c *Client) offer(to *session.Config) {
	name := to.Name
	to.Client, to.Capabilities, to.Extensions = c.Info, c.Capabilities, c.Extensions
	if f := c.Elicit; f != nil {
		to.Elicit = func(ctx context.Context, e mcp.Elicitation) (mcp.ElicitResult, error) { return f(ctx, name, e) }
	}
	if f := c.Sample; f != nil {
		to.Sample = func(ctx context.Context, p json.RawMessage) (json.RawMessage, error) { return f(ctx, name, p) }
	}
	if f := c.Roots; f != nil {
		to.Roots = func(ctx context.Context) ([]mcp.Root, error) { return f(ctx, name) }
	}
	if f := c.Other; f != nil {
		to.Other = func(ctx context.Context, method string, p json.RawMessage) (json.RawMessage, error) {
			return f(ctx, name, method, p)
		}
	}
	to.Handlers = make(map[string]func(context.Context, json.RawMessage) (json.RawMessage, error), len(c.Handlers))
	for method, f := range c.Handlers {
		to.Handlers[method] = func(ctx context.Context, p json.RawMessage) (json.RawMessage, error) { return f(ctx, name, p) }
	}
}
