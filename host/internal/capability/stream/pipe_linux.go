package stream

import "golang.org/x/sys/unix"

// heldBy returns how many bytes wait in a pipe, at its write end too.
func heldBy(raw rawConn) (n int, known bool) {
	raw.Control(func(fd uintptr) { // not called for a closed pipe
		var err error
		n, err = unix.IoctlGetInt(int(fd), unix.TIOCINQ)
		known = err == nil
	})
	return n, known
}

// growPipe makes a pipe hold 1 MiB and reports whether it does. A large message then takes a few
// switches between the processes and not dozens. The system may refuse, since it rations the pages
// of pipes for each user, and it refuses for a socket. Both work without it, too.
func growPipe(raw rawConn) (grown bool) {
	raw.Control(func(fd uintptr) { // not called for a closed pipe
		_, err := unix.FcntlInt(fd, unix.F_SETPIPE_SZ, PipeMax)
		grown = err == nil
	})
	return grown
}
