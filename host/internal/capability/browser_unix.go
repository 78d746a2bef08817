//go:build unix

package capability

import (
	"os/exec"
	"runtime"
	"syscall"
)

// systemOpeners are what shows a page here. wslview is what there is for a Linux
// within Windows.
func systemOpeners() [][]string {
	if runtime.GOOS == "darwin" {
		return [][]string{{"/usr/bin/open"}}
	}
	return [][]string{{"xdg-open"}, {"wslview"}, {"x-www-browser"}}
}

// detach keeps a program from our terminal and its signals.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
