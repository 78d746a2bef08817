//go:build amd64 || arm64

package confine

import (
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

func syscalls() error { return install(filter(allowed(uint32(os.Getpid())), unix.EPERM)) }

// install has the kernel look at every system call of every thread. A filter cannot
// be taken off, and who is under one that forbids programs gains nothing by any.
func install(code []unix.SockFilter) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	program := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	thread, _, failed := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	switch {
	case failed != 0:
		return fmt.Errorf("seccomp: %w", failed)
	case thread != 0: // the kernel's way to say which one it could not bind (seccomp(2))
		return fmt.Errorf("seccomp: thread %d has a filter of its own", thread)
	}
	return nil
}
