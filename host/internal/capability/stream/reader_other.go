//go:build !linux && !darwin

package stream

import (
	"io"

	"github.com/wharf-mcp/wharf/host/internal/capability"
)

// poll is empty: on these systems a buffer has to exist before the wait begins.
type poll struct{}

func (*poll) await(from FDConn, _ rawConn) (buf *capability.Chunk, n int, err error) {
	buf = capability.GetChunk()
	n, err = from.Read(buf[:])
	return buf, n, err
}

// readNow returns io.EOF: these systems cannot read without waiting.
func readNow(rawConn, []byte) (int, error) { return 0, io.EOF }
