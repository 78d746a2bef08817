package main

import (
	"context"
	"sync"
	"time"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/trace"
)

// tape is the file of --trace: made with the first host, closed at the very end.
type tape struct {
	mu       sync.Mutex
	recorder *trace.Recorder
}

// record returns what writes the file of that name, nil where there is no name.
func (t *tape) record(path string) (*trace.Recorder, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if path == "" || t.recorder != nil {
		return t.recorder, nil
	}
	r, err := trace.Create(path)
	if err != nil {
		return nil, exit.Usage(err, "--trace names a file that is new, or a trace that may be replaced")
	}
	t.recorder = r
	return r, nil
}

// flushGrace is what a program that leaves on the spot has for its trace.
const flushGrace = time.Second

// flush brings to the file what was recorded, for a program that leaves without
// closing it. It may be called from another goroutine.
func (t *tape) flush() {
	t.mu.Lock()
	r := t.recorder
	t.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), flushGrace)
	defer cancel()
	r.Flush(ctx)
}

// close ends the file. An error says that it is not complete.
func (t *tape) close() error {
	t.mu.Lock()
	r := t.recorder
	t.mu.Unlock()
	return r.Close()
}

// endTrace closes the trace, and tells if it is not complete: the command itself
// has succeeded or failed without it.
func (a *app) endTrace() {
	if err := a.tape.close(); err != nil {
		a.hear(host.Event{Warning: err.Error()})
	}
}
