package localsocket

import (
	"net"

	"golang.org/x/sys/unix"
)

// maxSocketPath is how many bytes the path of a socket may have, without the zero behind it.
const maxSocketPath = len(unix.RawSockaddrUnix{}.Path) - 1

// peerUser returns the user of the program that connected.
func peerUser(c *net.UnixConn) (uid int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	failed := raw.Control(func(fd uintptr) {
		var cred *unix.Ucred
		if cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			uid = int(cred.Uid)
		}
	})
	if failed != nil {
		return 0, failed
	}
	return uid, err
}
