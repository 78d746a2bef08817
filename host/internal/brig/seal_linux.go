//go:build amd64 || arm64

package brig

import (
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// needed are the system calls of a Go program that computes, and reads and writes
// what it has open. All others answer that they are not permitted: what opens a
// file, a socket or another process, what starts a program, and what nobody has
// thought of.
var needed = []uint32{
	unix.SYS_READ, unix.SYS_WRITE, unix.SYS_READV, unix.SYS_WRITEV, unix.SYS_PREAD64, unix.SYS_CLOSE, unix.SYS_FCNTL, unix.SYS_FSTAT, unix.SYS_LSEEK,
	unix.SYS_MMAP, unix.SYS_MUNMAP, unix.SYS_MPROTECT, unix.SYS_MADVISE, unix.SYS_MREMAP, unix.SYS_BRK, unix.SYS_MINCORE,
	unix.SYS_FUTEX, unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY, unix.SYS_MEMBARRIER,
	unix.SYS_SET_ROBUST_LIST, unix.SYS_RSEQ, unix.SYS_SET_TID_ADDRESS,
	unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK, unix.SYS_TGKILL, unix.SYS_RESTART_SYSCALL,
	unix.SYS_GETPID, unix.SYS_GETTID, unix.SYS_GETRANDOM, unix.SYS_GETRUSAGE,
	unix.SYS_CLOCK_GETTIME, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_NANOSLEEP, unix.SYS_GETTIMEOFDAY,
	unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT, unix.SYS_EVENTFD2, unix.SYS_PPOLL,
	unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
}

// Where in what a filter looks at its parts are.
const (
	atCall     = 0
	atArch     = 4
	atFirstLow = 16 // the low half of the first argument
)

// seal has the kernel look at every system call of every thread. A filter cannot
// be taken off, and who is under one that forbids programs gains nothing by any.
func seal() bool {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != nil {
		return false
	}
	code := filter(slices.Concat(needed, older))
	program := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	_, _, failed := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	return failed == 0
}

// filter is the program that the kernel runs. A thread may be started, where a
// process may not; what starts either in one call whose arguments a filter cannot
// see is said to be missing, and the runtime uses the one of before. Numbers of
// another processor's calls are not understood, and not permitted.
func filter(allowed []uint32) []unix.SockFilter {
	const (
		load  = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		bits  = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
		give  = unix.BPF_RET | unix.BPF_K
	)
	deny := unix.SockFilter{Code: give, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)}
	allow := unix.SockFilter{Code: give, K: unix.SECCOMP_RET_ALLOW}
	code := []unix.SockFilter{
		{Code: load, K: atArch},
		{Code: equal, K: auditArch, Jt: 1}, deny,
		{Code: load, K: atCall},
		{Code: equal, K: unix.SYS_CLONE3, Jf: 1}, {Code: give, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
	}
	for _, call := range allowed {
		code = append(code, unix.SockFilter{Code: equal, K: call, Jf: 1}, allow)
	}
	return append(code,
		unix.SockFilter{Code: equal, K: unix.SYS_CLONE, Jt: 1}, deny,
		unix.SockFilter{Code: load, K: atFirstLow},
		unix.SockFilter{Code: bits, K: unix.CLONE_THREAD, Jt: 1}, deny, allow)
}
