// Package telemetry tells an operator what a program does: traces for a receiver of OpenTelemetry, and
// metrics for Prometheus.
//
//	requests of clients ──┐
//	                      ├─► [Observer] ─┬─► spans ─► batches of the SDK ─► exporter ─► receiver (OTLP)
//	requests to servers ──┘               └─► [Metrics] ◄─ /metrics ◄─ Prometheus
//
// A program without an Observer pays nothing. Names of spans, attributes and histograms are those of the
// conventions for MCP (open-telemetry/semantic-conventions-genai, docs/gen-ai/mcp.md, in development).
//
// # Traces
//
// A request of a client joins the trace that its _meta names (traceparent, tracestate), and the request
// to the server names the span of this program. So one trace goes through client, gateway and server.
// Without traces, these members pass unchanged.
//
// # Metrics
//
// Labels are names of the configuration and of the protocol, and at most [maxTools] names of tools that
// have answered. No label is a URI, a session, a principal, or a name that only a client has chosen.
package telemetry
