package process

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// watch sees the end of a process without reaping it, and without a thread that
// waits in the kernel for each: through a pidfd, which the runtime polls like a
// socket.
type watch struct {
	fd   int
	file *os.File
}

func (w *watch) prepare(attr *syscall.SysProcAttr) {
	w.fd = -1
	attr.PidFD = &w.fd
}

func (w *watch) adopt() {
	if w.fd < 0 {
		return // a kernel without
	}
	unix.SetNonblock(w.fd, true)
	w.file = os.NewFile(uintptr(w.fd), "pidfd")
}

// await returns when the process is over. The os package holds a copy of the pidfd,
// nonblocking with this one: its own Wait must not be called before the process is over.
func (w *watch) await(cmd *exec.Cmd) {
	over := false
	if w.file != nil {
		if raw, err := w.file.SyscallConn(); err == nil {
			outer := raw.Read(func(fd uintptr) bool {
				over, err = waitid(unix.P_PIDFD, int(fd), unix.WNOHANG)
				return over || err != nil
			})
			over = over && outer == nil && err == nil
		}
	}
	if !over {
		waitid(unix.P_PID, cmd.Process.Pid, 0)
	}
}

// waitid reports whether the process is over, and leaves it unreaped. Without
// WNOHANG it waits for that.
func waitid(kind, id, flags int) (over bool, err error) {
	var info unix.Siginfo
	for {
		err = unix.Waitid(kind, id, &info, unix.WEXITED|unix.WNOWAIT|flags, nil)
		if err != unix.EINTR {
			return info.Signo != 0, err
		}
	}
}

func (w *watch) close() {
	if w.file != nil {
		w.file.Close()
	}
}
