//go:build unix

package daemon

import (
	"io"
	"net"
	"syscall"
)

// detached has a process live on without the terminal of the program that starts it.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// peek returns the next byte of a connection, which stays there to be read.
func peek(conn *net.UnixConn) (byte, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var one [1]byte
	var n int
	if failed := raw.Read(func(fd uintptr) bool {
		for {
			n, _, err = syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK)
			if err != syscall.EINTR {
				return err != syscall.EAGAIN
			}
		}
	}); failed != nil {
		return 0, failed
	}
	if err == nil && n == 0 {
		err = io.EOF
	}
	return one[0], err
}
