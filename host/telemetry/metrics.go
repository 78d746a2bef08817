package telemetry

import (
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/trace"

	"github.com/wharf-mcp/wharf/host/gateway"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/observe"
)

// maxTools bounds the names of tools that are labels. Further tools count as other.
const maxTools = 1000

const other = "other" // the label of what has no label of its own

// Metrics are the metrics of a program. Their methods may be called from any goroutine.
type Metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	served   *prometheus.HistogramVec
	sent     *prometheus.HistogramVec

	mu    sync.Mutex
	tools map[tool]bool // those that have a label
}

type tool struct{ server, name string }

// buckets are those of the conventions for MCP, in seconds.
var buckets = []float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300}

// NewMetrics returns the metrics of a program with a gateway, whose counts it reads each time that
// Prometheus asks.
func NewMetrics(counts func() gateway.Metrics) *Metrics {
	histogram := func(name, help string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, []string{"server", "method"})
	}
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "wharf_requests_total",
			Help: "Requests that have ended: of clients (side=client), and to servers (side=server).",
		}, []string{"side", "server", "method", "tool", "outcome"}),
		served: histogram("mcp_server_operation_duration_seconds", "From a request of a client to its answer."),
		sent:   histogram("mcp_client_operation_duration_seconds", "From a request to a server to its answer."),
		tools:  make(map[tool]bool),
	}
	m.registry.MustRegister(m.requests, m.served, m.sent, collector(counts))
	return m
}

// Handler answers Prometheus.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// add counts a request that has ended.
func (m *Metrics) add(kind trace.SpanKind, r *observe.Request, outcome observe.Outcome, took time.Duration) {
	method := r.Method
	if !slices.Contains(methods, method) {
		method = other
	}
	side, durations := "client", m.served
	if kind == trace.SpanKindClient {
		side, durations = "server", m.sent
	}
	m.requests.WithLabelValues(side, r.Server, method, m.toolLabel(r, outcome), string(outcome)).Inc()
	durations.WithLabelValues(r.Server, method).Observe(took.Seconds())
}

// toolLabel returns the label of the tool of a request, or "". A tool gets a label of its own when a
// call of it succeeds: otherwise a client could use them up by names that no server knows.
func (m *Metrics) toolLabel(r *observe.Request, outcome observe.Outcome) string {
	if r.Tool == "" {
		return ""
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	t := tool{r.Server, r.Tool}
	if !m.tools[t] {
		if outcome != observe.OK || len(m.tools) == maxTools {
			return other
		}
		m.tools[t] = true
	}
	return r.Tool
}

// methods are the methods that are labels: the requests of clients.
var methods = []string{
	mcp.MethodInitialize, mcp.MethodDiscover, mcp.MethodPing, mcp.MethodListTools, mcp.MethodCallTool,
	mcp.MethodListPrompts, mcp.MethodGetPrompt, mcp.MethodListResources, mcp.MethodListTemplates,
	mcp.MethodReadResource, mcp.MethodComplete, mcp.MethodSetLevel, mcp.MethodSubscribe,
	mcp.MethodUnsubscribe, mcp.MethodListen, mcp.MethodGetTask, mcp.MethodCancelTask,
	mcp.MethodListTasks, mcp.MethodTaskResult, mcp.MethodUpdateTask,
}
