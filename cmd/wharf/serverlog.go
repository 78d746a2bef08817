package main

import (
	"io"
	"sync"
)

// serverLog passes on what servers print on stderr, whole lines in each write.
// While a server starts, its lines are held: one that goes wrong at once has
// the end of them in the error, and saying them twice would hide it. Safe for
// concurrent use.
type serverLog struct {
	to    io.Writer
	plain func(string) string // for a terminal, which strangers must not steer; nil: it is none

	mu   sync.Mutex
	held []byte
	live bool
}

// heldLines is how many bytes are held before they are passed on all the same.
const heldLines = 64 << 10

func (a *app) newServerLog() *serverLog {
	l := &serverLog{to: a.err}
	if a.errTTY {
		l.plain = a.folded
	}
	return l
}

func (l *serverLog) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = append(l.held, text...)
	if !l.live && len(l.held) < heldLines {
		return len(text), nil
	}
	return len(text), l.flush()
}

// release passes on what is held, and everything from now on.
func (l *serverLog) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.live = true
	l.flush() // where stderr cannot be written to, there is no one to tell
}

// flush writes what is held. The caller holds mu.
func (l *serverLog) flush() error {
	text := l.held
	l.held = nil
	if l.plain != nil {
		text = []byte(l.plain(string(text)))
	}
	_, err := l.to.Write(text)
	return err
}
