package capability

import (
	"os/exec"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/windows"
)

// systemOpeners are what shows a page here. It is not start, which belongs to
// cmd.exe and reads more into a URL than is in it.
func systemOpeners() [][]string {
	dir, err := windows.GetSystemDirectory()
	if err != nil {
		return nil
	}
	return [][]string{{filepath.Join(dir, "rundll32.exe"), "url.dll,FileProtocolHandler"}}
}

// detach keeps a program from our console and its signals.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.DETACHED_PROCESS | windows.CREATE_NEW_PROCESS_GROUP}
}
