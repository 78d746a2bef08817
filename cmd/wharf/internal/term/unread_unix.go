//go:build unix

package term

import (
	"os"

	"golang.org/x/sys/unix"
)

// unread reports whether the reader of a pipe or socket went away. It does not wait.
func unread(out *os.File) (gone bool) {
	raw, err := out.SyscallConn()
	if err != nil {
		return false
	}
	raw.Control(func(fd uintptr) {
		ends := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}} // macOS tells nothing to who asks for no event
		n, err := unix.Poll(ends, 0)
		gone = n > 0 && err == nil && ends[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
	})
	return gone
}
