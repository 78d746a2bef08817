package stream

import (
	"io"
	"syscall"
	"time"
)

// FDConn is the common part of a pipe's end and a socket.
type FDConn interface {
	io.ReadWriteCloser
	SetReadDeadline(time.Time) error
	SyscallConn() (rawConn, error)
}

// rawConn reaches the descriptor of an FDConn.
type rawConn = syscall.RawConn

// PipeMax is the size, in bytes, to which a pipe is grown, and the most that it can still hold when
// all its writers are dead.
const PipeMax = 1 << 20
