package trace

import (
	"time"

	"github.com/wharf-mcp/wharf/host/internal/jsonl"
)

// entry is one message, or the beginning or end of a connection, as the message path hands it to
// the writer. It holds no more than the writer needs to make a line of it.
type entry struct {
	connection *Connection
	kind       Kind // "" for a message that the writer has not classified yet
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

const (
	messageCap = 64 << 10 // bytes of a message that the file keeps
	tailCap    = 256      // bytes at the end of a longer message that are kept too: they may have its id
	queueCap   = 16 << 20 // bytes that wait to be written
	entryCost  = 256      // bytes that an entry counts as, besides its message
)

type batch = jsonl.Batch[entry]

// add adds an entry and copies msg, or its two ends. It never waits for the file. Once the batch is
// full, add drops entries and counts them, until the writer has taken the batch.
func (r *Recorder) add(e entry, msg []byte) {
	queue := r.queue.Load()
	if queue == nil {
		return
	}
	b := queue.Acquire()
	if b == nil { // it was closed just now
		return
	}
	defer queue.Release()
	text := msg[:min(len(msg), messageCap)]
	if b.Missing > 0 || len(b.Text)+len(text)+entryCost*len(b.Entries) > queueCap {
		b.Missing++
		return
	}
	e.at = time.Now() // under the lock of the queue, so that lines are in the order of time
	e.size = len(msg)
	e.text = keep(b, text)
	if rest := msg[len(text):]; len(rest) > 0 {
		e.tail = keep(b, rest[max(0, len(rest)-tailCap):])
	}
	b.Entries = append(b.Entries, e)
}

// keep appends text to the text of a batch, and returns where it lies there.
func keep(b *batch, text []byte) span {
	from := len(b.Text)
	b.Text = append(b.Text, text...)
	return span{from, len(b.Text)}
}

func (s span) of(b *batch) []byte { return b.Text[s.from:s.to] }
