package replay

import "github.com/wharf-mcp/wharf/host/internal/jsonl"

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
	notes  []note
	weight int
}

func (b *batch) Empty() bool { return len(b.notes) == 0 }

func (b *batch) Reset() {
	clear(b.notes)
	*b = batch{notes: b.notes[:0]}
}

const (
	queueCap = 64 << 20 // bytes that wait to be written
	stepCap  = 32 << 20 // bytes of one event and all that belongs to it
)

// queue hands notes to the writer. Whoever adds one never waits.
type queue struct {
	jsonl.Backlog[batch, *batch]
}

// add takes a note. Where there is no room for it, it leaves the word that there is
// nothing more of the connection, and reports false.
func (q *queue) add(n note, weight int) bool {
	b := q.Hold()
	if b == nil {
		return false
	}
	defer q.Release()
	full := b.weight+weight > queueCap
	if full {
		n = note{connection: n.connection, cut: "events came faster than they could be written"}
	}
	b.notes = append(b.notes, n)
	b.weight += weight
	return !full
}
