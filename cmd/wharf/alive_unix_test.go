//go:build unix

package main

import "syscall"

// alive is true while there is a process of that id.
func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }
