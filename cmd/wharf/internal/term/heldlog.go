package term

import (
	"bytes"
	"io"
	"sync"
)

// HeldLog passes on to stderr what servers print on theirs, in whole lines. While a server
// starts, its lines are held: if it fails at once, the error quotes the last of them, and
// printing them twice would hide the error. It is safe for concurrent use.
type HeldLog struct {
	to    io.Writer
	clean func(string) string // for a terminal, which servers must not steer; nil: stderr is not a terminal

	mu   sync.Mutex
	held []byte
	live bool
	hush bool // nothing is passed on any more
}

// heldLines is how many bytes are held: the newest.
const heldLines = 64 << 10

// NewHeldLog returns a log that holds its lines until Release.
func (t *Terminal) NewHeldLog() *HeldLog {
	l := &HeldLog{to: t.Err}
	if t.ErrTTY {
		l.clean = t.Fold
	}
	return l
}

func (l *HeldLog) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.hush {
		return len(text), nil
	}
	l.held = append(l.held, text...)
	if l.live {
		return len(text), l.flush()
	}
	if over := len(l.held) - heldLines; over > 0 {
		whole := bytes.IndexByte(l.held[over:], '\n') + 1
		l.held = append(l.held[:0], l.held[over+whole:]...)
	}
	return len(text), nil
}

// Release passes on what is held, and everything from now on.
func (l *HeldLog) Release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.live = true
	l.flush() // an error cannot be reported: stderr is where it would go
}

// Hush drops what is held, and everything from now on.
func (l *HeldLog) Hush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hush, l.held = true, nil
}

// flush writes what is held. The caller holds mu.
func (l *HeldLog) flush() error {
	text := l.held
	l.held = nil
	if l.clean != nil {
		text = []byte(l.clean(string(text)))
	}
	_, err := l.to.Write(text)
	return err
}
