package process

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// detach keeps a program from our console and its signals.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.DETACHED_PROCESS | windows.CREATE_NEW_PROCESS_GROUP}
}
