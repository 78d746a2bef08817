//go:build unix && !linux

package process

import (
	"os/exec"
	"syscall"
)

// watch sees the end of a process. Here that reaps it, so the kill of its group
// comes a moment after its number was given back; numbers go round slowly.
type watch struct{}

func (watch) prepare(*syscall.SysProcAttr) {}

func (watch) whenOver(cmd *exec.Cmd, f func()) {
	go func() {
		cmd.Wait()
		f()
	}()
}

func (watch) close() {}
