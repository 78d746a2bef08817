package trace

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
)

// Recorder writes what passes between a host and its servers to a file, one JSON
// object per line: a [Record]. Secrets are left out. A nil Recorder records
// nothing. It may be used from any goroutine, and must be closed.
//
// The message path pays for a copy of the message, of which a file has no more
// than 64 KiB. All else is done by one goroutine, which the path never waits for:
// where a disk cannot keep up with 16 MiB waiting, messages are left out, and the
// file says how many, and where.
type Recorder struct {
	veil  veil
	queue queue

	mu      sync.Mutex
	numbers map[string]int // connections there have been, by server
}

// Create makes a trace file that nobody but the user can read. A trace of before
// is replaced by it; anything else that is there stays, and is an error. At 128 MiB
// it is put aside as path.1, in the place of what was put aside before, and another
// goes on at path.
func Create(path string) (*Recorder, error) { return create(path, fileCap) }

func create(path string, most int64) (*Recorder, error) {
	file, err := newRoll(path, most)
	if err != nil {
		return nil, err
	}
	return newRecorder(func(v *veil) *scribe { return rolling(file, v) }), nil
}

// NewRecorder makes a recorder that writes to w, without end, and closes it.
func NewRecorder(w io.WriteCloser) *Recorder {
	return newRecorder(func(v *veil) *scribe { return newScribe(w, v) })
}

func newRecorder(scribe func(*veil) *scribe) *Recorder {
	r := &Recorder{numbers: make(map[string]int)}
	r.queue.Start(scribe(&r.veil))
	return r
}

// Close writes what is left and closes the file. What is recorded after it is
// gone. An error says that the file is not complete.
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
		r.veil.Hide(texts...)
	}
}

// HideNamed is [Recorder.Hide] for texts that are called secrets: 4 bytes are enough.
func (r *Recorder) HideNamed(texts ...string) {
	if r != nil && len(texts) > 0 {
		r.veil.HideNamed(texts...)
	}
}

// HideRecent is [Recorder.Hide] for what a sign-in has given: others take its
// place in time, and only the newest hundreds are remembered.
func (r *Recorder) HideRecent(texts ...string) {
	if r != nil && len(texts) > 0 {
		r.veil.HideRecent(texts...)
	}
}

// Connect records that a connection with a server is being made, by the plugin
// of that name. A nil Recorder returns a nil Wire.
func (r *Recorder) Connect(server, transport string) *Wire {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.numbers[server]++
	w := &Wire{recorder: r, server: server, transport: transport, number: r.numbers[server]}
	r.queue.add(note{wire: w, kind: Opened}, nil)
	return w
}

// Wire records one connection. A nil Wire records nothing. Its methods never
// wait.
type Wire struct {
	recorder  *Recorder
	server    string
	transport string
	number    int
	closing   atomic.Bool
	over      atomic.Bool

	asked asked // the writer's alone
}

// Message records a message, with the revision of the protocol that is settled
// when it passes, "" before that. msg is copied.
func (w *Wire) Message(sent bool, version string, msg []byte) {
	if w != nil {
		w.recorder.queue.add(note{wire: w, sent: sent, version: version}, msg)
	}
}

// Dropped records that a message that was received came to nothing.
func (w *Wire) Dropped(version string, why error, msg []byte) {
	if w != nil {
		w.recorder.queue.add(note{wire: w, kind: Dropped, version: version, why: why}, msg)
	}
}

// Closing says that the end that comes now is wanted.
func (w *Wire) Closing() {
	if w != nil {
		w.closing.Store(true)
	}
}

// Ended records the end of the connection, and why. Only the first counts.
func (w *Wire) Ended(why error) {
	switch {
	case w == nil || w.over.Swap(true):
	case w.closing.Load():
		w.recorder.queue.add(note{wire: w, kind: Closed}, nil)
	default:
		w.recorder.queue.add(note{wire: w, kind: Lost, why: why}, nil)
	}
}
