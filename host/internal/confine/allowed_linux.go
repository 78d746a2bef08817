//go:build amd64 || arm64

package confine

import "golang.org/x/sys/unix"

// call is a system call that is allowed if each of its arguments that is named here has an
// allowed value.
type call struct {
	number uint32
	args   []argument
}

// argument says what an argument of a call has to be: one of some values, without regard to the
// bits outside of mask. Its upper half has to be zero: no value here needs it, and a call that
// takes 64 bits would see bits that the filter does not check.
type argument struct {
	index  uint32
	mask   uint32
	values []uint32
}

// oneOf returns an argument that has to be one of some values.
func oneOf(index uint32, values ...uint32) argument { return argument{index, ^uint32(0), values} }

// within returns an argument that has to have all bits of needed, and may have those of free.
func within(index, free, needed uint32) argument { return argument{index, ^free, []uint32{needed}} }

// mapDroppable is a type of mapping that the randomness of the vDSO asks for (mmap(2), Linux 6.11).
// mapKind has the bits of mmap's flags that are checked.
const (
	mapDroppable = 0x8
	mapKind      = unix.MAP_TYPE | unix.MAP_GROWSDOWN | unix.MAP_HUGETLB
)

// Operations of futex(2) and advice of madvise(2) that x/sys has no names for.
const (
	futexWait, futexWake, futexRequeue, futexCmpRequeue, futexWakeOp, futexWaitBits, futexWakeBits = 0, 1, 3, 4, 5, 9, 10
	futexPrivate, futexRealtime                                                                    = 128, 256
)

// allowed returns the system calls of a Go program that computes, and reads and writes what it
// has open, as process pid; those of the C library are among them where a program is linked
// with it. All others fail as not permitted: calls that open a file, a socket or another
// process, calls that start a program, and calls that nothing here mentions. The forms that
// are left out are as important:
//
//   - tgkill for another process can end any process of the user; tkill, kill and
//     rt_sigqueueinfo are missing, and so is all of fcntl, whose F_SETOWN, F_SETSIG
//     and O_ASYNC have the kernel send a signal to any process;
//   - memory that is shared, grows like a stack or is huge does not count for
//     RLIMIT_DATA, and executable memory would be new code;
//   - clocks are numbers that may name another process, or a file;
//   - some advice about memory is for administrators (it takes a page out of use),
//     and some lets timing reveal what other processes have in theirs;
//   - a thread takes memory of the kernel that no limit of a process counts, so none is
//     started at all;
//   - the futexes that lend priority have had more faults than the others together.
func allowed(pid uint32) []call {
	calls := []call{
		{unix.SYS_FUTEX, []argument{{1, ^uint32(futexPrivate | futexRealtime), []uint32{
			futexWait, futexWake, futexRequeue, futexCmpRequeue, futexWakeOp, futexWaitBits, futexWakeBits,
		}}}},
		{unix.SYS_TGKILL, []argument{oneOf(0, pid)}},
		{unix.SYS_MMAP, []argument{
			within(2, unix.PROT_READ|unix.PROT_WRITE, 0),
			{3, mapKind, []uint32{unix.MAP_PRIVATE, mapDroppable}},
		}},
		{unix.SYS_MPROTECT, []argument{within(2, unix.PROT_READ|unix.PROT_WRITE, 0)}},
		{unix.SYS_MADVISE, []argument{oneOf(2, unix.MADV_DONTNEED, unix.MADV_FREE, unix.MADV_HUGEPAGE, unix.MADV_NOHUGEPAGE, unix.MADV_COLLAPSE)}},
		{unix.SYS_SCHED_GETAFFINITY, []argument{oneOf(0, 0)}},
		{unix.SYS_CLOCK_GETTIME, []argument{oneOf(0, unix.CLOCK_REALTIME, unix.CLOCK_MONOTONIC, unix.CLOCK_PROCESS_CPUTIME_ID, unix.CLOCK_THREAD_CPUTIME_ID,
			unix.CLOCK_MONOTONIC_RAW, unix.CLOCK_REALTIME_COARSE, unix.CLOCK_MONOTONIC_COARSE, unix.CLOCK_BOOTTIME)}},
		{unix.SYS_CLOCK_NANOSLEEP, []argument{oneOf(0, unix.CLOCK_REALTIME, unix.CLOCK_MONOTONIC)}},
	}
	for _, number := range harmless {
		calls = append(calls, call{number: number})
	}
	return calls
}

// harmless holds the calls that can name nothing but the process's own memory, descriptors and
// threads, whatever their arguments are.
var harmless = []uint32{
	unix.SYS_READ, unix.SYS_WRITE, unix.SYS_READV, unix.SYS_WRITEV, unix.SYS_PREAD64, unix.SYS_CLOSE, unix.SYS_FSTAT, unix.SYS_LSEEK,
	unix.SYS_MUNMAP, unix.SYS_MREMAP, unix.SYS_BRK,
	unix.SYS_SCHED_YIELD, unix.SYS_NANOSLEEP, unix.SYS_GETTIMEOFDAY, unix.SYS_RESTART_SYSCALL,
	unix.SYS_SET_ROBUST_LIST, unix.SYS_RSEQ, unix.SYS_GETPID, unix.SYS_GETTID, unix.SYS_GETRANDOM,
	unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK,
	unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT, unix.SYS_EVENTFD2,
	unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
}
