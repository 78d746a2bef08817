package host

import (
	"bytes"
	"fmt"
	"io"
)

// prefixer writes whole lines with a prefix, so that one can tell whose words
// they are. One goroutine writes to it.
type prefixer struct {
	to     io.Writer
	prefix string
	line   []byte // what has come of a line so far
}

// lineCap is where a line without an end is broken, in bytes.
const lineCap = 4 << 10

func (p *prefixer) Write(data []byte) (int, error) {
	p.line = append(p.line, data...)
	for {
		n := bytes.IndexByte(p.line, '\n')
		rest := n + 1
		if n < 0 {
			if len(p.line) < lineCap {
				return len(data), nil
			}
			n, rest = lineCap, lineCap
		}
		if _, err := fmt.Fprintf(p.to, "%s%s\n", p.prefix, bytes.TrimRight(p.line[:n], "\r")); err != nil {
			return 0, err
		}
		p.line = append(p.line[:0], p.line[rest:]...)
	}
}
