package host

import (
	"bytes"
	"fmt"
	"io"
	"sync"

	"github.com/wharf-mcp/wharf/host/internal/redact"
)

// mouth is the one writer that the words of all servers go to, a line at a time.
type mouth struct {
	mu sync.Mutex
	to io.Writer
}

func (m *mouth) say(prefix string, line []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, err := fmt.Fprintf(m.to, "%s%s\n", prefix, bytes.TrimRight(bytes.TrimSuffix(line, []byte("\n")), "\r"))
	return err
}

// prefixer writes whole lines with a prefix, so that one can tell whose words
// they are, and without secrets. One goroutine writes to it, and nobody any more when flush comes.
type prefixer struct {
	to     *mouth
	prefix string
	text   *redact.Stream // all that is written
	line   []byte         // what has come of a line so far
}

func newPrefixer(to *mouth, server string, text *redact.Stream) *prefixer {
	return &prefixer{to: to, prefix: "[" + server + "] ", text: text}
}

// lineCap is where a long line is broken, in bytes.
const lineCap = 4 << 10

func (p *prefixer) Write(data []byte) (int, error) {
	p.line = append(p.line, data...)
	rest := p.line
	defer func() { p.line = append(p.line[:0], rest...) }()
	for {
		n := bytes.IndexByte(rest[:min(len(rest), lineCap+1)], '\n')
		next := n + 1
		if n < 0 {
			if len(rest) <= lineCap {
				return len(data), nil
			}
			next = lineCap
		}
		line := p.text.Cover(rest[:next])
		rest = rest[next:]
		if err := p.to.say(p.prefix, line); err != nil {
			return 0, err
		}
	}
}

// flush writes the last line, where it has no end. p may be nil.
func (p *prefixer) flush() {
	if p == nil || len(p.line) == 0 {
		return
	}
	p.to.say(p.prefix, p.text.Cover(p.line)) // whoever reads it has what there is
	p.line = nil
}
