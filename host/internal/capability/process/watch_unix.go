//go:build unix && !linux

package process

import (
	"os/exec"
	"syscall"
)

// watch sees the end of a process. On these systems that reaps the process, so the kill of its
// group comes a moment after its number became free. Systems do not give a number out again soon.
type watch struct{}

func (watch) prepare(*syscall.SysProcAttr) {}

func (watch) whenOver(cmd *exec.Cmd, f func()) {
	go func() {
		cmd.Wait()
		f()
	}()
}

func (watch) close() {}
