//go:build unix

package process

import (
	"os"
	"os/exec"
	"syscall"
)

// group is the process group of a child. All its descendants belong to it unless they leave it on
// purpose.
type group struct {
	id    int
	watch watch
}

// prepare sets up the command before its process starts. adopt takes the process after its start.
func (g *group) prepare(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	g.watch.prepare(cmd.SysProcAttr)
}

func (g *group) adopt(cmd *exec.Cmd) error {
	g.id = cmd.Process.Pid
	return nil
}

// whenOver calls f once when the process has ended. f must not wait.
func (g *group) whenOver(cmd *exec.Cmd, f func()) { g.watch.whenOver(cmd, f) }

// terminate sends SIGTERM to the whole group. It reports whether this system can ask processes to
// end.
func (g *group) terminate() bool {
	return syscall.Kill(-g.id, syscall.SIGTERM) == nil
}

// kill ends the whole group. Once reap was called, the number of the group
// may belong to another group.
func (g *group) kill() { syscall.Kill(-g.id, syscall.SIGKILL) }

// leftByItself reports whether a process certainly ended before kill was called. It is false for a
// process that a SIGKILL ended, and for one that was reaped outside of this package (nil).
func leftByItself(state *os.ProcessState) bool {
	if state == nil {
		return false
	}
	status, ok := state.Sys().(syscall.WaitStatus)
	return ok && !(status.Signaled() && status.Signal() == syscall.SIGKILL)
}

// reap collects the process, which must have ended.
func (g *group) reap(cmd *exec.Cmd) *os.ProcessState {
	if cmd.ProcessState == nil {
		cmd.Wait()
	}
	g.watch.close()
	return cmd.ProcessState
}
