package control

import (
	"context"
	"time"
)

// Gateways are the gateways of the program, at whose clients editors may look. Its functions may be called
// from any goroutine.
type Gateways struct {
	Status  func() GatewayStatus
	Clients func() []GatewayClient // the oldest first
}

// GatewayStatus is the result of gateway/status. Its counts are of the gateways that run now.
type GatewayStatus struct {
	Gateways int    `json:"gateways" jsonschema:"how many run: the daemon has one for each folder that programs use it from"`
	Clients  int    `json:"clients" jsonschema:"that are there now"`
	InFlight int64  `json:"inFlight" jsonschema:"their requests that have no answer yet"`
	Served   uint64 `json:"served" jsonschema:"clients so far"`
	Requests uint64 `json:"requests" jsonschema:"of clients, so far"`
	Failed   uint64 `json:"failed" jsonschema:"of these, answered with an error, or cancelled"`
}

// GatewayClient is a client of a gateway of this program.
type GatewayClient struct {
	ID        string    `json:"id" jsonschema:"names it among all clients"`
	Name      string    `json:"name" jsonschema:"what it calls itself, which nothing proves"`
	Version   string    `json:"version,omitempty"`
	Kind      string    `json:"kind" jsonschema:"the way that it has come: command, bridge or gateway"`
	Era       string    `json:"era" jsonschema:"of MCP that it speaks: legacy or modern"`
	Principal string    `json:"principal,omitempty" jsonschema:"who has proven to be there; absent for the person"`
	Peer      string    `json:"peer,omitempty" jsonschema:"the address that it comes from, where it comes over HTTP"`
	Since     time.Time `json:"since" jsonschema:"when its first request came"`
	InFlight  int       `json:"inFlight" jsonschema:"its requests that have no answer yet"`
	All       bool      `json:"all" jsonschema:"it reaches all servers as one"`
	Servers   []string  `json:"servers" jsonschema:"those that it uses"`
}

// GatewayClients is the result of gateway/clients.
type GatewayClients struct {
	Clients []GatewayClient `json:"clients" jsonschema:"the oldest first"`
}

// TellClient tells editors of a client of a gateway that has come, or that has left. It returns at once.
func (c *Control) TellClient(client GatewayClient, left bool) {
	c.events.add(Event{Kind: ClientOfGateway, Client: &client, Left: left})
}

func gatewayStatus(_ context.Context, e *editor, _ *Empty) (*GatewayStatus, error) {
	s := GatewayStatus{}
	if g := e.control.config.Gateways; g != nil {
		s = g.Status()
	}
	return &s, nil
}

func gatewayClients(_ context.Context, e *editor, _ *Empty) (*GatewayClients, error) {
	list := &GatewayClients{}
	if g := e.control.config.Gateways; g != nil {
		list.Clients = g.Clients()
	}
	list.Clients = notNil(list.Clients)
	return list, nil
}
