package replay

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/jsonl"
	"github.com/wharf-mcp/wharf/host/internal/redact"
)

// Recorder writes to a file what transport plugins do: every event, every host call with its
// result, the clock and the randomness. It overwrites secrets. Package trace records the
// messages alone. A nil Recorder records nothing. It may be used from any goroutine. The program
// that created it closes it, after the hosts.
type Recorder struct {
	secrets redact.Set
	queue   jsonl.Writer[line]

	mu    sync.Mutex
	count int // connections so far
}

// recordings is the kind of file that a [Recorder] writes.
var recordings = jsonl.Kind{Noun: "recording", Prefix: `{"kind":"start","format":"wharf-record/`}

// Create creates a recording that only the user can read. It replaces an older recording;
// any other file at path is an error.
func Create(path string) (*Recorder, error) {
	file, err := recordings.Create(path)
	if err != nil {
		return nil, err
	}
	return NewRecorder(file), nil
}

// NewRecorder returns a recorder that writes to w, and closes w.
func NewRecorder(w io.WriteCloser) *Recorder { return newRecorder(w, fileCap) }

func newRecorder(w io.WriteCloser, most int64) *Recorder {
	r := &Recorder{}
	r.queue.Start(newWriter(w, &r.secrets, most))
	return r
}

// Close writes what is left and closes the file. It discards what is recorded later. An error
// says that the file is not complete.
func (r *Recorder) Close() error {
	if r == nil {
		return nil
	}
	return r.queue.Close()
}

// Flush waits until what was recorded so far is in the file, or until ctx is done. It
// is for programs that exit without Close.
func (r *Recorder) Flush(ctx context.Context) {
	if r != nil {
		r.queue.Flush(ctx)
	}
}

// Secrets returns the texts that the recorder overwrites. A host adds those of its
// servers. It is nil for a nil Recorder.
func (r *Recorder) Secrets() *redact.Set {
	if r == nil {
		return nil
	}
	return &r.secrets
}

// Flow adds a flow of an auth provider: a line of package host/internal/flowrecord, which
// has no secrets. The recorder owns the line from then on.
func (r *Recorder) Flow(text []byte) {
	if b := r.queue.Acquire(); b != nil {
		defer r.queue.Release()
		o := line{kind: kindFlow, flow: text}
		if b.Weight += len(text); b.Weight > queueCap {
			o = line{kind: kindCut, why: "sign-ins came faster than they could be written"}
		}
		b.Entries = append(b.Entries, o)
	}
}

// Connect begins a connection to a server, over the transport plugin of that name, whose
// file has that hash. r must not be nil.
func (r *Recorder) Connect(server, plugin, sha256 string) *Connection {
	r.mu.Lock()
	r.count++
	number := r.count
	r.mu.Unlock()
	began := time.Now()
	return &Connection{queue: &r.queue, number: number, began: began, opening: &opening{
		server: server, plugin: plugin, sha256: sha256, abi: abi.Module,
	}}
}
