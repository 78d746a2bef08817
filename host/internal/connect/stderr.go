package connect

import (
	"bytes"
	"fmt"
	"io"
	"sync"

	"github.com/wharf-mcp/wharf/host/internal/redact"
)

// stderrLog writes the stderr of all servers to one writer, a line at a time.
type stderrLog struct {
	mu sync.Mutex
	to io.Writer
}

func (l *stderrLog) line(prefix string, text []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := fmt.Fprintf(l.to, "%s%s\n", prefix, bytes.TrimRight(bytes.TrimSuffix(text, []byte("\n")), "\r"))
	return err
}

// stderrWriter writes the stderr of one server: whole lines, without secrets, each after the name
// of the server. It belongs to one goroutine at a time.
type stderrWriter struct {
	log    *stderrLog
	prefix string
	text   *redact.Stream // everything that is written
	rest   []byte         // the beginning of a line
}

func newStderrWriter(to *stderrLog, server string, text *redact.Stream) *stderrWriter {
	return &stderrWriter{log: to, prefix: "[" + server + "] ", text: text}
}

// lineCap is the length in bytes at which a long line is broken.
const lineCap = 4 << 10

func (w *stderrWriter) Write(data []byte) (int, error) {
	w.rest = append(w.rest, data...)
	rest := w.rest
	defer func() { w.rest = append(w.rest[:0], rest...) }()
	for {
		n := bytes.IndexByte(rest[:min(len(rest), lineCap+1)], '\n')
		next := n + 1
		if n < 0 {
			if len(rest) <= lineCap {
				return len(data), nil
			}
			next = lineCap
		}
		line := w.text.Redact(rest[:next])
		rest = rest[next:]
		if err := w.log.line(w.prefix, line); err != nil {
			return 0, err
		}
	}
}

// flush writes the last line if it has no line break. Nothing may be written after it. w may be
// nil.
func (w *stderrWriter) flush() {
	if w == nil || len(w.rest) == 0 {
		return
	}
	_ = w.log.line(w.prefix, w.text.Redact(w.rest)) // the connection is over: no caller would get the error
	w.rest = nil
}
