package trace

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"github.com/wharf-mcp/wharf/host/internal/jsonl"
	"github.com/wharf-mcp/wharf/host/internal/redact"
)

// Recorder writes every message between hosts and their servers to a file, one [Record] a line,
// without the secrets that it knows of. Several hosts may share one. A nil Recorder records
// nothing. It may be used from any goroutine. The program that created it closes it, after the
// hosts.
//
// Recording never blocks a message: it copies the first 64 KiB, and one goroutine does the rest.
// If the disk falls behind by 16 MiB, messages are left out, and the file says how many, and
// where.
type Recorder struct {
	secrets redact.Set
	queue   atomic.Pointer[jsonl.Writer[entry]] // nil while nothing is recorded

	mu      sync.Mutex
	numbers map[string]int // of connections so far, by server
	err     error          // of the newest Close
}

// Create creates a trace file that only the user can read. It replaces an older trace; any other
// file at path is an error. When the file reaches 128 MiB it is renamed to path.1, in place of
// the one before, and a new file begins at path. So the newest lines are kept, in two files at
// most.
func Create(path string) (*Recorder, error) { return create(path, fileCap) }

func create(path string, most int64) (*Recorder, error) {
	r := Standby()
	if err := r.start(path, most); err != nil {
		return nil, err
	}
	return r, nil
}

// Standby returns a recorder that records nothing until [Recorder.Start]. It knows of secrets all the
// same.
func Standby() *Recorder { return &Recorder{numbers: make(map[string]int)} }

// NewRecorder returns a recorder that writes to w, without a limit, and closes w.
func NewRecorder(w io.WriteCloser) *Recorder {
	r := Standby()
	r.record(newWriter(w))
	return r
}

// ErrStarted is the error of [Recorder.Start] while a file is written.
var ErrStarted = errors.New("a trace is written already")

// Start begins to record into a file, see [Create], until Close. Connections that there are already are
// in the file from now on, without their beginning.
func (r *Recorder) Start(path string) error { return r.start(path, fileCap) }

func (r *Recorder) start(path string, most int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.queue.Load() != nil {
		return ErrStarted
	}
	file, err := newRotatingFile(path, most)
	if err != nil {
		return err
	}
	w := newWriter(file)
	w.file, w.room = file, most
	r.err = nil
	r.record(w)
	return nil
}

func (r *Recorder) record(w *writer) {
	w.secrets = &r.secrets
	queue := new(jsonl.Writer[entry])
	queue.Start(w)
	r.queue.Store(queue)
}

// Close writes what is left and closes the file. It discards what is recorded later, until another
// Start. An error says that the file is not complete.
func (r *Recorder) Close() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if queue := r.queue.Swap(nil); queue != nil {
		r.err = queue.Close()
	}
	return r.err
}

// Flush waits until what was recorded so far is in the file, or until ctx is done. It
// is for programs that exit without Close.
func (r *Recorder) Flush(ctx context.Context) {
	if r == nil {
		return
	}
	if queue := r.queue.Load(); queue != nil {
		queue.Flush(ctx)
	}
}

// Secrets returns the texts that the recorder leaves out. A host adds those of its
// servers. It is nil for a nil Recorder.
func (r *Recorder) Secrets() *redact.Set {
	if r == nil {
		return nil
	}
	return &r.secrets
}

// Connect records that a connection to a server begins, over the transport of that
// name. A nil Recorder returns a nil Connection.
func (r *Recorder) Connect(server, transport string) *Connection {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.numbers[server]++
	c := &Connection{recorder: r, server: server, transport: transport, number: r.numbers[server]}
	r.add(entry{connection: c, kind: Opened}, nil)
	return c
}

// Connection records one connection. A nil Connection records nothing. Its methods
// never block, and may be called from any goroutine.
type Connection struct {
	recorder  *Recorder
	server    string
	transport string
	number    int
	closing   atomic.Bool
	ended     atomic.Bool

	pending pendingRequests // used by the writer only
}

// Message records a message. version is the protocol revision that is settled when it
// passes, or "". msg is copied.
func (c *Connection) Message(sent bool, version string, msg []byte) {
	if c != nil {
		c.recorder.add(entry{connection: c, sent: sent, version: version}, msg)
	}
}

// Dropped records a received message that the host discarded, and why. msg is copied.
func (c *Connection) Dropped(version string, why error, msg []byte) {
	if c != nil {
		c.recorder.add(entry{connection: c, kind: Dropped, version: version, why: why}, msg)
	}
}

// Closing says that the host is about to close the connection, so that its end is
// recorded as Closed and not as Lost.
func (c *Connection) Closing() {
	if c != nil {
		c.closing.Store(true)
	}
}

// Ended records the end of the connection, and why. Only the first call counts.
func (c *Connection) Ended(why error) {
	switch {
	case c == nil || c.ended.Swap(true):
	case c.closing.Load():
		c.recorder.add(entry{connection: c, kind: Closed}, nil)
	default:
		c.recorder.add(entry{connection: c, kind: Lost, why: why}, nil)
	}
}
