package main

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/release"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/telemetry"
)

// tracing is the tracer of the program. The first host makes it, if the environment names a receiver,
// and the end of the program closes it. It may be used from any goroutine. A nil tracing makes none.
type tracing struct {
	mu     sync.Mutex
	asked  bool
	tracer *telemetry.Tracer
}

// open returns the tracer, or nil if traces are off. report is told when spans are lost.
func (t *tracing) open(report func(error)) (*telemetry.Tracer, error) {
	if t == nil {
		return nil, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.asked {
		return t.tracer, nil
	}
	tracer, err := telemetry.NewTracer(os.Getenv, release.Version(), report)
	if err != nil {
		return nil, exit.Usage(err, "OTEL_SDK_DISABLED=true turns traces off")
	}
	t.asked, t.tracer = true, tracer
	return tracer, nil
}

// tracesWait is how long the end of the program waits for a receiver of traces.
const tracesWait = 2 * time.Second

// close sends what was traced.
func (t *tracing) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.tracer == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), tracesWait)
	defer cancel()
	t.tracer.Close(ctx) // what is lost was reported
}

// countIn makes a host count its requests in metrics, beside its traces.
func countIn(m *telemetry.Metrics) func(*host.Config) {
	return func(c *host.Config) {
		o := &telemetry.Observer{Metrics: m}
		if traces, ok := c.Observer.(*telemetry.Observer); ok {
			o.Tracer = traces.Tracer
		}
		c.Observer = o
	}
}
