package main

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/replay"
)

// reel is the file of --record: made with the first host, closed at the very end.
type reel struct {
	mu       sync.Mutex
	recorder *replay.Recorder
}

// record returns what writes the file of that name, nil where there is no name.
func (r *reel) record(path string) (*replay.Recorder, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if path == "" || r.recorder != nil {
		return r.recorder, nil
	}
	recorder, err := replay.Create(path)
	if err != nil {
		return nil, exit.Usage(err, "--record names a file that is new, or a recording that may be replaced")
	}
	r.recorder = recorder
	return recorder, nil
}

// apart is an error where one of the two files that are written would take the place
// of the other, or of what a trace puts aside.
func (f *flags) apart() error {
	trace, record := placeOf(f.trace), placeOf(f.record)
	if f.trace == "" || f.record == "" || record != trace && record != trace+".1" {
		return nil
	}
	return exit.Usage(fmt.Errorf("--record %s: --trace writes that file", f.record), "name another file for one of them")
}

// placeOf is where a file is that need not be there, however its folder is written.
func placeOf(path string) string {
	dir, err := filepath.Abs(filepath.Dir(path))
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return path // nothing can be written there
	}
	return filepath.Join(dir, filepath.Base(path))
}

// current returns what was made, if anything.
func (r *reel) current() *replay.Recorder {
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
