package trace

import (
	"time"

	"github.com/wharf-mcp/wharf/host/internal/jsonl"
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

func (b *batch) Empty() bool { return len(b.notes) == 0 && b.missing == 0 }

// Reset empties the batch for another use. What one burst took is given back.
func (b *batch) Reset() {
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
	jsonl.Backlog[batch, *batch]
}

// add takes a note, and copies msg.
func (q *queue) add(n note, msg []byte) {
	b := q.Hold()
	if b == nil {
		return
	}
	defer q.Release()
	full := len(b.text)+min(len(msg), messageCap)+noteCost*len(b.notes) > queueCap
	if full || b.missing > 0 {
		b.missing++
		return
	}
	n.at = time.Now() // under the lock, so that times are in the order of the lines
	b.add(n, msg)
}
