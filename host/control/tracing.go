package control

import (
	"context"
	"errors"
	"path/filepath"
	"sync"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/trace"
)

// tracing is the trace that an editor has begun. What editors say is in no trace.
type tracing struct {
	recorder *trace.Recorder // of the host; nil if that writes a trace of its own

	mu   sync.Mutex
	file string // "" while none is written
}

// install has the host record what an editor may want to be traced.
func (t *tracing) install(to *host.Config) {
	if to.Trace == nil {
		t.recorder = trace.Standby()
		to.Trace = t.recorder
	}
}

// stop ends the trace, if one is written.
func (t *tracing) stop() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.file == "" {
		return nil
	}
	t.file = ""
	return t.recorder.Close()
}

// startTrace writes the messages between the host and its servers to a file, from now on.
func startTrace(_ context.Context, e *editor, p *TraceParams) (*Empty, error) {
	t := &e.control.tracing
	if !filepath.IsAbs(p.File) {
		return nil, invalid(KindParams, hintSchema, "trace/start: expected the whole path of a file that is new, or a trace that may be replaced")
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	err := trace.ErrStarted
	if t.recorder != nil {
		err = t.recorder.Start(p.File)
	}
	switch {
	case errors.Is(err, trace.ErrStarted):
		return nil, &fault{CodeFailed, "trace/start: " + err.Error(), ErrorData{Kind: KindTaken, Hint: "trace/stop ends the one that an editor has begun"}}
	case err != nil:
		return nil, invalid(KindParams, "name a file that is new, or a trace that may be replaced", "trace/start: %v", err)
	}
	t.file = p.File
	return &Empty{}, nil
}

// stopTrace ends the trace that an editor has begun.
func stopTrace(_ context.Context, e *editor, _ *Empty) (*TraceParams, error) {
	t := &e.control.tracing
	t.mu.Lock()
	file := t.file
	t.mu.Unlock()
	if file == "" {
		return nil, &fault{CodeFailed, "trace/stop: no editor has begun a trace", ErrorData{Kind: KindUnsupported}}
	}
	return &TraceParams{File: file}, t.stop()
}
