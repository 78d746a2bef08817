package main

import (
	"context"
	"sync"

	"github.com/wharf-mcp/wharf/host"
)

// reel is the file of --record: made with the first host, closed at the very end.
type reel struct {
	mu       sync.Mutex
	recorder *host.GuestRecorder
}

// record returns what writes the file of that name, nil where there is no name.
func (r *reel) record(path string) (*host.GuestRecorder, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if path == "" || r.recorder != nil {
		return r.recorder, nil
	}
	recorder, err := host.CreateRecording(path)
	if err != nil {
		return nil, usage(err, "--record names a file that is new, or a recording that may be replaced")
	}
	r.recorder = recorder
	return recorder, nil
}

// current returns what was made, if anything.
func (r *reel) current() *host.GuestRecorder {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.recorder
}

// flush brings to the file what was recorded, for a program that leaves without
// closing it. It may be called from another goroutine.
func (r *reel) flush() {
	ctx, cancel := context.WithTimeout(context.Background(), flushGrace)
	defer cancel()
	r.current().Flush(ctx)
}

// endRecording closes the recording, and tells if it is not complete: the command
// itself has succeeded or failed without it.
func (a *app) endRecording() {
	if err := a.reel.current().Close(); err != nil {
		a.hear(host.Event{Warning: err.Error()})
	}
}
