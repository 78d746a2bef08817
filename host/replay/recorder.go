package replay

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/redact"
	"github.com/wharf-mcp/wharf/host/trace"
)

// Recorder writes what passes between guests and their host to a file, as the
// package says. A nil Recorder records nothing. It may be used from any goroutine,
// and must be closed.
type Recorder struct {
	known redact.Set
	queue queue

	mu    sync.Mutex
	count int // connections there have been
}

// recordings are the files of a Recorder.
var recordings = trace.File{Noun: "recording", Mark: `{"kind":"start","format":"wharf-record/`}

// Create makes a recording that nobody but the user can read. A recording of before
// is replaced by it; anything else that is there stays, and is an error.
func Create(path string) (*Recorder, error) {
	file, err := recordings.Create(path)
	if err != nil {
		return nil, err
	}
	return NewRecorder(file), nil
}

// NewRecorder makes a recorder that writes to w, and closes it in the end.
func NewRecorder(w io.WriteCloser) *Recorder { return newRecorder(w, fileCap) }

func newRecorder(w io.WriteCloser, most int64) *Recorder {
	r := &Recorder{}
	r.queue.Start(newScribe(w, &r.known, most))
	return r
}

// Close writes what is left and closes the file. What is recorded after it is gone.
// An error says that the file is not complete.
func (r *Recorder) Close() error {
	if r == nil {
		return nil
	}
	return r.queue.Close()
}

// Flush returns when what was recorded before it is in the file, or when ctx is
// done: for a program that leaves on the spot.
func (r *Recorder) Flush(ctx context.Context) {
	if r != nil {
		r.queue.Flush(ctx)
	}
}

// Hide names texts that are secret wherever they occur, if they have 8 bytes or
// more. They are those of the configuration, and stay.
func (r *Recorder) Hide(texts ...string) {
	if r != nil && len(texts) > 0 {
		r.known.Hide(texts...)
	}
}

// HideNamed is [Recorder.Hide] for texts that are called secrets: 4 bytes are enough.
func (r *Recorder) HideNamed(texts ...string) {
	if r != nil && len(texts) > 0 {
		r.known.HideNamed(texts...)
	}
}

// HideRecent is [Recorder.Hide] for what a sign-in has given: others take its place
// in time, and only the newest hundreds are remembered.
func (r *Recorder) HideRecent(texts ...string) {
	if r != nil && len(texts) > 0 {
		r.known.HideRecent(texts...)
	}
}

// Connect begins a connection with a server, by the plugin of that name, whose file
// has that hash.
func (r *Recorder) Connect(server, plugin, sha256 string) *Take {
	r.mu.Lock()
	r.count++
	number := r.count
	r.mu.Unlock()
	began := time.Now()
	return &Take{queue: &r.queue, connection: number, began: began, opening: &opening{
		connection: number, at: began, server: server, plugin: plugin, sha256: sha256, abi: abi.Module,
	}}
}
