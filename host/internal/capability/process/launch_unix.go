//go:build unix

package process

import (
	"os/exec"
	"syscall"
)

// detach keeps a program from our terminal and its signals.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
