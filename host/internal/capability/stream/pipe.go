package stream

import (
	"io"
	"syscall"
	"time"
)

// FDConn is what an end of a pipe and a socket have in common.
type FDConn interface {
	io.ReadWriteCloser
	SetReadDeadline(time.Time) error
	SyscallConn() (rawConn, error)
}

// rawConn reaches the descriptor of an FDConn.
type rawConn = syscall.RawConn

// PipeMax is what a pipe is grown to, and the most that one can still hold
// when all its writers are dead.
const PipeMax = 1 << 20
