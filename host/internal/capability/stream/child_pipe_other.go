//go:build !linux

package stream

import (
	"errors"
	"io"
	"os"

	"github.com/wharf-mcp/wharf/host/internal/capability"
	"github.com/wharf-mcp/wharf/host/internal/hostio"
)

// ChildPipe has a goroutine that reads it while it is followed.
type ChildPipe struct{ *Reader }

// OpenChildPipe makes a pipe. The write end blocks, as programs expect.
func OpenChildPipe() (in *ChildPipe, out *os.File, err error) {
	ours, out, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	r, err := NewReader(ours)
	if err != nil {
		return nil, nil, errors.Join(err, ours.Close(), out.Close())
	}
	return &ChildPipe{r}, out, nil
}

// Follow reads as described at [ChildPipe].
func (in *ChildPipe) Follow(hear func(p []byte), ended func(err error)) {
	go func() {
		for {
			buf, n, err := in.next()
			if n > 0 {
				hear(buf[:n])
			}
			capability.PutChunk(buf)
			if errors.Is(err, io.EOF) {
				ended(nil)
				return
			}
			if err != nil {
				ended(err)
				return
			}
		}
	}()
}

// ReadFor leaves the reading to the goroutine of Follow.
func (in *ChildPipe) ReadFor(hostio.Waiter) {}
