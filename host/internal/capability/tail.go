package capability

import (
	"fmt"
	"io"
	"sync"
)

// tailSize is how many bytes of a child's stderr are kept.
const tailSize = 64 << 10

// Tail keeps the last bytes that were written to it. Writing never waits, so a
// child can flood its stderr without stopping itself or us.
type Tail struct {
	mu     sync.Mutex
	more   sync.Cond // a writer wrote, or the tail was closed
	ring   []byte    // allocated by the first write
	total  int64     // bytes ever written; the next goes to ring[total%tailSize]
	closed bool
}

// NewTail returns an empty tail.
func NewTail() *Tail {
	t := &Tail{}
	t.more.L = &t.mu
	return t
}

// Write implements io.Writer and never fails.
func (t *Tail) Write(p []byte) (int, error) {
	n := len(p)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ring == nil {
		t.ring = make([]byte, tailSize)
	}
	if over := n - tailSize; over > 0 {
		p = p[over:]
		t.total += int64(over)
	}
	at := int(t.total % tailSize)
	copy(t.ring, p[copy(t.ring[at:], p):])
	t.total += int64(len(p))
	t.more.Broadcast()
	return n, nil
}

// Bytes returns a copy of the kept bytes, oldest first.
func (t *Tail) Bytes() []byte {
	_, kept := t.Since(0)
	return kept
}

// Since returns a copy of the kept bytes, oldest first, in two pieces: before has those among the
// first written bytes, and since those after them.
func (t *Tail) Since(written int64) (before, since []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept, lost := t.since(0)
	at := max(0, written-lost)
	return kept[:at], kept[at:]
}

// Written returns how many bytes were written.
func (t *Tail) Written() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.total
}

// since returns a copy of what was written from position pos on, and how much
// of it is no longer kept. The caller holds t.mu.
func (t *Tail) since(pos int64) (kept []byte, lost int64) {
	lost = max(0, t.total-tailSize-pos)
	for from := pos + lost; from < t.total; {
		at := from % tailSize
		piece := t.ring[at:min(tailSize, at+t.total-from)]
		kept = append(kept, piece...)
		from += int64(len(piece))
	}
	return kept, lost
}

// follow copies to w what is written to the tail, until the tail is closed. If w is slower than the
// child, w gets a line that says how many bytes it missed.
func (t *Tail) follow(w io.Writer) {
	for pos := int64(0); ; {
		t.mu.Lock()
		for t.total == pos && !t.closed {
			t.more.Wait()
		}
		kept, lost := t.since(pos)
		t.mu.Unlock()
		if len(kept) == 0 {
			return
		}
		pos += lost + int64(len(kept))
		if lost > 0 {
			fmt.Fprintf(w, "\n[%d bytes of stderr left out]\n", lost)
		}
		w.Write(kept)
	}
}

// Close ends follow.
func (t *Tail) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	t.more.Broadcast()
}
