package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/wharf-mcp/wharf/host/gateway"
)

// collector reads the counts of a gateway each time that Prometheus asks.
type collector func() gateway.Metrics

// gatewayMetric is one count of a gateway.
type gatewayMetric struct {
	kind   prometheus.ValueType
	about  *prometheus.Desc
	labels []string
	value  func(*gateway.Metrics) float64
}

func counter(name, help string, value func(*gateway.Metrics) uint64) gatewayMetric {
	return gatewayMetric{prometheus.CounterValue, prometheus.NewDesc("wharf_"+name+"_total", help, nil, nil), nil,
		func(m *gateway.Metrics) float64 { return float64(value(m)) }}
}

var (
	clients = prometheus.NewDesc("wharf_clients_total", "Clients that have sent a request, by the era of the protocol.", []string{"era"}, nil)
	up      = prometheus.NewDesc("wharf_server_connected", "1 if the host has a connection to the server.", []string{"server"}, nil)
)

var gatewayMetrics = []gatewayMetric{
	{prometheus.CounterValue, clients, []string{"legacy"}, func(m *gateway.Metrics) float64 { return float64(m.LegacyClients) }},
	{prometheus.CounterValue, clients, []string{"modern"}, func(m *gateway.Metrics) float64 { return float64(m.ModernClients) }},
	{prometheus.GaugeValue, prometheus.NewDesc("wharf_requests_in_flight", "Requests of clients that have no answer yet.", nil, nil), nil,
		func(m *gateway.Metrics) float64 { return float64(m.InFlight) }},
	counter("received_bytes", "Bytes of the params of requests of clients.", func(m *gateway.Metrics) uint64 { return m.BytesIn }),
	counter("sent_bytes", "Bytes of the results to clients.", func(m *gateway.Metrics) uint64 { return m.BytesOut }),
	counter("parked_calls", "Calls that were parked until the client had answered a question.", func(m *gateway.Metrics) uint64 { return m.Parked }),
	counter("divided_servers", "Servers that have turned out to need a copy for each client.", func(m *gateway.Metrics) uint64 { return m.Divided }),
	counter("known_lists", "Lists that were returned without asking a server.", func(m *gateway.Metrics) uint64 { return m.KnownLists }),
	counter("connections", "Connections to servers that were ready for calls.", func(m *gateway.Metrics) uint64 { return m.Connections.Connected }),
	counter("reconnections", "Of these, those of a session that had one before.", func(m *gateway.Metrics) uint64 { return m.Connections.Reconnected }),
	counter("idle_stops", "Connections that were ended since no request needed the server.", func(m *gateway.Metrics) uint64 { return m.Connections.Stopped }),
}

// Describe implements [prometheus.Collector].
func (collector) Describe(to chan<- *prometheus.Desc) {
	for i := range gatewayMetrics {
		to <- gatewayMetrics[i].about
	}
	to <- up
}

// Collect implements [prometheus.Collector].
func (c collector) Collect(to chan<- prometheus.Metric) {
	m := c()
	for _, one := range gatewayMetrics {
		to <- prometheus.MustNewConstMetric(one.about, one.kind, one.value(&m), one.labels...)
	}
	for name, connected := range m.Connected {
		value := 0.0
		if connected {
			value = 1
		}
		to <- prometheus.MustNewConstMetric(up, prometheus.GaugeValue, value, name)
	}
}
