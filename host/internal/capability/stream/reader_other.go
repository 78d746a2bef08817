//go:build !linux && !darwin

package stream

import (
	"io"

	"github.com/wharf-mcp/wharf/host/internal/capability"
)

// poll has nothing to keep: these systems read into a buffer that is there when
// they begin to wait.
type poll struct{}

func (*poll) await(from FDConn, _ rawConn) (buf *capability.Chunk, n int, err error) {
	buf = capability.GetChunk()
	n, err = from.Read(buf[:])
	return buf, n, err
}

// readNow has no way to read without waiting here.
func readNow(rawConn, []byte) (int, error) { return 0, io.EOF }
