package trace

import (
	"time"

	"github.com/wharf-mcp/wharf/host/internal/jsonl"
)

// entry is what the message path leaves for the writer: as little as a line can be made
// from later.
type entry struct {
	connection *Connection
	kind       Kind // "" for a message that the writer has yet to look at
	sent       bool
	at         time.Time
	version    string // the protocol revision that is settled
	why        error
	size       int // of the message
	text       span
	tail       span // the end of a message that was cut
}

// span is a part of the text of a batch.
type span struct{ from, to int }

// batch is entries in order, the bytes of their messages, and how many entries came
// after them that there was no room for.
type batch struct {
	entries []entry
	text    []byte
	missing int
}

const (
	messageCap = 64 << 10 // bytes of a message that a file has
	tailCap    = 256      // bytes at the end of a longer message, which may have its id
	queueCap   = 16 << 20 // bytes that wait to be written
	entryCost  = 256      // bytes that each entry counts for beside its message
)

// add adds an entry and copies msg, or its two ends. Once the batch is full, entries
// are only counted until the writer has taken it.
func (b *batch) add(e entry, msg []byte) {
	text := msg[:min(len(msg), messageCap)]
	if b.missing > 0 || len(b.text)+len(text)+entryCost*len(b.entries) > queueCap {
		b.missing++
		return
	}
	e.at = time.Now() // under the lock of the queue, so that lines are in the order of time
	e.size = len(msg)
	e.text = b.keep(text)
	if rest := msg[len(text):]; len(rest) > 0 {
		e.tail = b.keep(rest[max(0, len(rest)-tailCap):])
	}
	b.entries = append(b.entries, e)
}

func (b *batch) keep(text []byte) span {
	from := len(b.text)
	b.text = append(b.text, text...)
	return span{from, len(b.text)}
}

func (b *batch) of(s span) []byte { return b.text[s.from:s.to] }

func (b *batch) Empty() bool { return len(b.entries) == 0 && b.missing == 0 }

// Reset empties the batch for another use. It frees what a burst has allocated.
func (b *batch) Reset() {
	clear(b.entries)
	*b = batch{entries: b.entries[:0], text: b.text[:0]}
	if cap(b.text) > 1<<20 {
		b.entries, b.text = nil, nil
	}
}

type queue struct {
	jsonl.Writer[batch, *batch]
}

// add adds an entry, and copies msg. It never waits for the file.
func (q *queue) add(e entry, msg []byte) {
	if b := q.Acquire(); b != nil {
		b.add(e, msg)
		q.Release()
	}
}
