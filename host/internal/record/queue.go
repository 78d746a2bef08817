package record

import "sync"

// note is what the message path leaves for the writer: one of the four.
type note struct {
	connection int
	opening    *opening
	step       *step
	cut        string // why
	ended      string // why
}

// batch is notes in their order, and about how much memory they take.
type batch struct {
	notes   []note
	weight  int
	flushed []chan struct{} // to be closed when all of it is in the file
}

func (b *batch) reset() {
	clear(b.notes)
	*b = batch{notes: b.notes[:0]}
}

const (
	queueCap = 64 << 20 // bytes that wait to be written
	stepCap  = 32 << 20 // bytes of one event and all that belongs to it
)

// queue hands notes to the writer. Whoever adds one never waits.
type queue struct {
	mu      sync.Mutex
	more    sync.Cond // on mu: there is something to take
	batch   batch
	stopped bool
}

// add takes a note. Where there is no room for it, it leaves the word that there is
// nothing more of the connection, and reports false.
func (q *queue) add(n note, weight int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.stopped {
		return false
	}
	full := q.batch.weight+weight > queueCap
	if full {
		n = note{connection: n.connection, cut: "events came faster than they could be written"}
	}
	q.batch.notes = append(q.batch.notes, n)
	q.batch.weight += weight
	q.more.Signal()
	return !full
}

// take swaps what there is for the batch that was written, and waits for it. It
// reports false when the queue is stopped and there will be nothing more.
func (q *queue) take(written *batch) bool {
	written.reset()
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.batch.notes) == 0 && len(q.batch.flushed) == 0 {
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
