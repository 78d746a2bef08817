package process

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/wharf-mcp/wharf/host/internal/capability/stream"
)

// watch sees the end of a process without reaping it, and without a waiting thread or goroutine:
// through a pidfd, which is watched together with the pipes.
type watch struct {
	fd    int               // -1 for none
	ready *stream.Readiness // nil if a goroutine waits
}

func (w *watch) prepare(attr *syscall.SysProcAttr) {
	w.fd = -1
	attr.PidFD = &w.fd
}

// whenOver calls f once when the process has ended. f must not wait.
func (w *watch) whenOver(cmd *exec.Cmd, f func()) {
	if w.fd >= 0 {
		var err error
		if w.ready, err = stream.WhenReadable(w.fd, f); err == nil {
			return
		}
	}
	go func() { // on a kernel without pidfds
		waitForEnd(cmd.Process.Pid)
		f()
	}()
}

// waitForEnd returns when the process has ended, and leaves it unreaped.
func waitForEnd(pid int) {
	var info unix.Siginfo
	for unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
}

func (w *watch) close() {
	if w.ready != nil {
		w.ready.Forget()
	}
	if w.fd >= 0 {
		unix.Close(w.fd)
	}
}
