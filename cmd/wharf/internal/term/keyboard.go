package term

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// The errors for keys that a person can press at a prompt instead of answering.
var (
	ErrCancelled   = errors.New("cancelled")   // Esc: not now
	ErrDeclined    = errors.New("declined")    // Ctrl-D: no
	ErrBack        = errors.New("back")        // Shift-Tab: the question before
	errInterrupted = errors.New("interrupted") // Ctrl-C: the whole program
)

// The bytes that those keys send while a line is edited.
const (
	keyInterrupt = 0x03
	keyRefuse    = 0x04
	keyEscape    = 0x1b
	keysBack     = "\x1b[Z"
)

// escapeDelay is how long the rest of an arrow key may take to follow its first byte:
// over a slow connection they are read apart.
const escapeDelay = 50 * time.Millisecond

// maxTyped is how much is read of a stdin that is not a terminal, in bytes.
const maxTyped = 1 << 20

// keyboard reads the answers of a person: with a line editor on a terminal, and else as lines of
// stdin. One goroutine at a time may ask, see [Terminal.Dialog]. It reads input only while a
// question is asked.
type keyboard struct {
	in        io.Reader
	mode      *Mode // nil: stdin is not a terminal
	screen    *Console
	blind     bool   // stderr is not the screen: the terminal itself shows what is typed
	interrupt func() // for Ctrl-C, which is a key while a line is edited

	pending chan chunk // a read under way whose result has not been used
	left    []byte     // read, and not used yet
	lines   *bufio.Reader
	asking  context.Context // of the question under way
	back    bool            // that question has one before it
}

// chunk is what one read of stdin gave.
type chunk struct {
	text []byte
	err  error
}

// Question is a question that a person answers on one line.
type Question struct {
	Above    string // whole rows of our own, which stand right above the line: who asks, and for what
	Prompt   string
	Proposed string // what the line begins with
	Secret   bool   // what is typed is not shown
	Consent  bool   // what was typed before does not count: one consents to what one has read
	Back     bool   // there is a question before this one, to which ErrBack leads

	History *History // lines that the arrow keys bring back; nil keeps none: an answer to one server is not for another to see

	// Complete is called at a Tab, with the line up to the cursor. It returns where the last
	// word begins, and the words that may replace it. nil completes nothing.
	Complete func(line string) (begins int, words []string)
}

// nextLine reads a line from a stdin that is not a terminal. The last line need not end in a line
// break.
func (k *keyboard) nextLine() (string, error) {
	if k.lines == nil {
		k.lines = bufio.NewReader(io.LimitReader(k, maxTyped))
	}
	text, err := k.lines.ReadString('\n')
	return strings.TrimRight(text, "\r\n"), err
}

// Read gives the editor what is typed for the question under way.
func (k *keyboard) Read(p []byte) (int, error) {
	if len(k.left) == 0 {
		text, err := k.next(k.asking)
		if err == nil && k.mode != nil {
			text, err = k.special(text)
		}
		if err != nil {
			return 0, err
		}
		k.left = text
	}
	n := copy(p, firstLine(k.left))
	k.left = k.left[n:]
	return n, nil
}

// readText reads input that is no answer to a question.
func (k *keyboard) readText(ctx context.Context, p []byte) (n int, err error) {
	if len(k.left) == 0 {
		if k.left, err = k.next(ctx); err != nil {
			return 0, err
		}
	}
	n = copy(p, k.left)
	k.left = k.left[n:]
	return n, nil
}

// firstLine returns text up to the end of its first line. The rest is for the next question.
func firstLine(text []byte) []byte {
	end := bytes.IndexAny(text, "\r\n")
	if end < 0 {
		return text
	}
	if bytes.HasPrefix(text[end:], []byte("\r\n")) {
		end++
	}
	return text[:end+1]
}

// flush drops what was typed ahead, or pasted with the command.
func (k *keyboard) flush() {
	if k.mode != nil {
		k.mode.flush()
	}
	k.left = nil
	select {
	case <-k.pending: // never, if it is nil
		k.pending = nil
	default:
	}
}

// special finds the keys that are not text. Esc counts only if nothing follows it, because the
// first byte of an arrow key looks the same.
func (k *keyboard) special(text []byte) ([]byte, error) {
	if text[len(text)-1] == keyEscape {
		soon, cancel := context.WithTimeout(k.asking, escapeDelay)
		defer cancel()
		more, err := k.next(soon)
		if err != nil {
			return nil, ErrCancelled
		}
		text = append(text, more...)
	}
	switch {
	case bytes.IndexByte(text, keyInterrupt) >= 0:
		k.interrupt()
		<-k.asking.Done() // or the answer to the question would be on its way first
		return nil, errInterrupted
	case bytes.IndexByte(text, keyRefuse) >= 0:
		return nil, ErrDeclined
	case k.back && bytes.Contains(text, []byte(keysBack)):
		return nil, ErrBack
	}
	return text, nil
}

// next returns the result of the next read of stdin. A read that is stuck when ctx ends goes on,
// and the next call gets its result, unless flush has dropped it.
func (k *keyboard) next(ctx context.Context) ([]byte, error) {
	if k.pending == nil {
		pending := make(chan chunk, 1)
		go func() {
			text := make([]byte, 4096)
			n, err := k.in.Read(text)
			if n > 0 {
				err = nil // it comes again with the next read
			}
			pending <- chunk{text[:n], err}
		}()
		k.pending = pending
	}
	select {
	case c := <-k.pending:
		k.pending = nil
		return c.text, c.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// dialogs lets one caller at a time ask the person at the keyboard.
type dialogs struct {
	once     sync.Once
	open     chan struct{} // holds a token while a dialog is open; see turn
	keyboard keyboard

	interrupt atomic.Pointer[context.CancelCauseFunc] // ends the open dialog; nil = none is open
}

// turn returns the channel that the holder of the dialog has put a token into.
func (d *dialogs) turn() chan struct{} {
	d.once.Do(func() { d.open = make(chan struct{}, 1) })
	return d.open
}
