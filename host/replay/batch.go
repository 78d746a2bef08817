package replay

import "github.com/wharf-mcp/wharf/host/internal/jsonl"

// entry is what a connection leaves for the writer. One of the last four is set.
type entry struct {
	connection int
	opening    *opening
	step       *step
	cut        string // why nothing more is recorded
	ended      string // why the guest is gone
}

// batch is entries in order, and roughly how much memory they take.
type batch struct {
	entries []entry
	weight  int
}

func (b *batch) Empty() bool { return len(b.entries) == 0 }

func (b *batch) Reset() {
	clear(b.entries)
	*b = batch{entries: b.entries[:0]}
}

const (
	queueCap = 64 << 20 // bytes that wait to be written
	stepCap  = 32 << 20 // bytes of one event and everything that belongs to it
)

type queue struct {
	jsonl.Writer[batch, *batch]
}

// add adds an entry of that many bytes, and never waits for the file. If there is no room
// it adds a cut of the connection in its place, and returns false.
func (q *queue) add(e entry, weight int) bool {
	b := q.Acquire()
	if b == nil {
		return false
	}
	defer q.Release()
	full := b.weight+weight > queueCap
	if full {
		e = entry{connection: e.connection, cut: "events came faster than they could be written"}
	}
	b.entries = append(b.entries, e)
	b.weight += weight
	return !full
}
