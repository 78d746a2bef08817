package trace

import (
	"sync"
	"time"
)

// note is what the message path leaves for the writer: the least that it takes to
// make a line of it later.
type note struct {
	wire    *Wire
	kind    Kind // "" is a message that is yet to be looked at
	sent    bool
	at      time.Time
	version string // the revision that is settled
	why     error
	size    int // of the message
	text    span
	tail    span // of one that is cut: its end
}

// span is a part of the text of a batch.
type span struct{ from, to int }

// batch is notes in their order, the bytes that they are about, and how many
// there was no room for behind them.
type batch struct {
	notes   []note
	text    []byte
	missing int
	flushed []chan struct{} // to be closed when all of it is in the file
}

func (b *batch) of(s span) []byte { return b.text[s.from:s.to] }

// add copies msg, or its two ends.
func (b *batch) add(n note, msg []byte) {
	n.size = len(msg)
	keep := msg[:min(len(msg), messageCap)]
	n.text = b.keep(keep)
	if rest := msg[len(keep):]; len(rest) > 0 {
		n.tail = b.keep(rest[max(0, len(rest)-tailCap):])
	}
	b.notes = append(b.notes, n)
}

func (b *batch) keep(text []byte) span {
	from := len(b.text)
	b.text = append(b.text, text...)
	return span{from, len(b.text)}
}

// reset empties the batch for another use. What one burst took is given back.
func (b *batch) reset() {
	clear(b.notes)
	*b = batch{notes: b.notes[:0], text: b.text[:0]}
	if cap(b.text) > 1<<20 {
		b.notes, b.text = nil, nil
	}
}

const (
	messageCap = 64 << 10 // bytes that a file has of a message
	tailCap    = 256      // and where a longer one is looked at for its id
	queueCap   = 16 << 20 // bytes that wait to be written
	noteCost   = 256      // that each message counts for beside its own
)

// queue hands notes to the writer. Whoever adds one never waits: when the writer
// falls behind by more than a queue full, notes are counted and dropped, until it
// has taken what there is.
type queue struct {
	mu      sync.Mutex
	more    sync.Cond // on mu: there is something to take
	batch   batch
	stopped bool
}

func (q *queue) init() { q.more.L = &q.mu }

// add takes a note, and copies msg.
func (q *queue) add(n note, msg []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	b := &q.batch
	full := len(b.text)+min(len(msg), messageCap)+noteCost*len(b.notes) > queueCap
	switch {
	case q.stopped:
		return
	case full || b.missing > 0:
		b.missing++
		return
	}
	n.at = time.Now() // under the lock, so that times are in the order of the lines
	b.add(n, msg)
	q.more.Signal()
}

// take swaps what there is for the batch that was written, and waits for it. It
// reports false when the queue is stopped and there will be nothing more.
func (q *queue) take(written *batch) bool {
	written.reset()
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.batch.notes) == 0 && q.batch.missing == 0 && len(q.batch.flushed) == 0 {
		if q.stopped {
			return false
		}
		q.more.Wait()
	}
	q.batch, *written = *written, q.batch
	return true
}

// flush returns what is closed when all that was added so far has been written, or
// nil where there is nothing to wait for.
func (q *queue) flush() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.stopped {
		return nil
	}
	done := make(chan struct{})
	q.batch.flushed = append(q.batch.flushed, done)
	q.more.Signal()
	return done
}

// stop lets the writer take what there is, and no more be added.
func (q *queue) stop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stopped = true
	q.more.Signal()
}
