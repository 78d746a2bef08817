package main

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/host/replay"
	"github.com/wharf-mcp/wharf/host/trace"
)

// recorders are the files of --trace and --record. They are created with the first
// host and closed at the very end of the program.
type recorders struct {
	trace  recorderFile[*trace.Recorder]
	replay recorderFile[*replay.Recorder]
}

// open returns the recorders of the files that the flags name; nil where a flag is
// not given.
func (r *recorders) open(f *flags) (*trace.Recorder, *replay.Recorder, error) {
	tracePath, recordPath := canonicalPath(f.trace), canonicalPath(f.record)
	if f.trace != "" && f.record != "" && (recordPath == tracePath || recordPath == tracePath+".1") {
		return nil, nil, exit.Usage(fmt.Errorf("--record %s: --trace writes that file", f.record), "name another file for one of them")
	}
	tr, err := r.trace.open(f.trace, trace.Create)
	if err != nil {
		return nil, nil, exit.Usage(err, "--trace names a file that is new, or a trace that may be replaced")
	}
	rr, err := r.replay.open(f.record, replay.Create)
	if err != nil {
		return nil, nil, exit.Usage(err, "--record names a file that is new, or a recording that may be replaced")
	}
	return tr, rr, nil
}

// flush writes what was recorded so far to the files, for a program that ends without closing
// them. It may be called from another goroutine.
func (r *recorders) flush() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	r.trace.get().Flush(ctx)
	r.replay.get().Flush(ctx)
}

// recorderFile is a recorder that is created at most once. A nil recorder records
// nothing. Safe for concurrent use.
type recorderFile[R any] struct {
	mu       sync.Mutex
	created  bool
	recorder R
}

// open creates the recorder at the first call with a path.
func (f *recorderFile[R]) open(path string, create func(string) (R, error)) (R, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if path == "" || f.created {
		return f.recorder, nil
	}
	recorder, err := create(path)
	if err == nil {
		f.recorder, f.created = recorder, true
	}
	return f.recorder, err
}

func (f *recorderFile[R]) get() R {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.recorder
}

// canonicalPath returns the path of a file that need not exist, with the links of its folder
// resolved.
func canonicalPath(path string) string {
	dir, err := filepath.Abs(filepath.Dir(path))
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return path // nothing can be written there
	}
	return filepath.Join(dir, filepath.Base(path))
}
