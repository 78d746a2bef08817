package control

import (
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/host"
)

// Editors look at the clients of gateways, and hear of those that come and leave. A program without a gateway
// answers with an empty list.
func TestClientsOfGateways(t *testing.T) {
	c := newScene(t).ready(all)
	c.wantHas(c.call("gateway/clients", `{}`), `{"clients":[]}`)
	c.wantHas(c.call("gateway/status", `{}`), `{"gateways":0,"clients":0,"inFlight":0,"served":0,"requests":0,"failed":0}`)

	zed := GatewayClient{ID: "A", Name: "zed", Version: "1", Kind: "bridge", Era: "legacy", Since: time.Unix(0, 0).UTC(), InFlight: 2, Servers: []string{"files"}}
	s := newScene(t, func(c *Control, _ *host.Config) {
		c.config.Gateways = &Gateways{
			Status: func() GatewayStatus {
				return GatewayStatus{Gateways: 1, Clients: 1, InFlight: 2, Served: 3, Requests: 4}
			},
			Clients: func() []GatewayClient { return []GatewayClient{zed} },
		}
	})
	c = s.ready(all)
	c.call("events/since", `{}`)
	const shown = `{"id":"A","name":"zed","version":"1","kind":"bridge","era":"legacy","since":"1970-01-01T00:00:00Z","inFlight":2,"all":false,"servers":["files"]}`
	c.wantHas(c.call("gateway/clients", `{}`), `{"clients":[`+shown+`]}`)
	c.wantHas(c.call("gateway/status", `{}`), `{"gateways":1,"clients":1,"inFlight":2,"served":3,"requests":4,"failed":0}`)
	s.control.TellClient(zed, false)
	c.event(ClientOfGateway, `"client":`+shown+`}`)
	s.control.TellClient(zed, true)
	c.event(ClientOfGateway, `"left":true`)
}
