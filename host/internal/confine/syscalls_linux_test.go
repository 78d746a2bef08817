//go:build amd64 || arm64

package confine

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// refusal is what the tested filter fails with in place of EPERM: no call gives it by
// itself, so what fails with it was refused by the filter.
const refusal = unix.ENOTNAM

// x32 is the bit of the numbers of the x32 ABI, which is the same processor to a filter.
const x32 = 1 << 30

// above is beyond the number of any system call.
const above = 1024

// free are the calls that pass with any arguments, written down a second time. Those
// of enders never return.
var (
	free = []uint32{
		unix.SYS_READ, unix.SYS_WRITE, unix.SYS_READV, unix.SYS_WRITEV, unix.SYS_PREAD64, unix.SYS_CLOSE, unix.SYS_FSTAT, unix.SYS_LSEEK,
		unix.SYS_MUNMAP, unix.SYS_MREMAP, unix.SYS_BRK, unix.SYS_SCHED_YIELD, unix.SYS_NANOSLEEP, unix.SYS_GETTIMEOFDAY, unix.SYS_RESTART_SYSCALL,
		unix.SYS_SET_ROBUST_LIST, unix.SYS_RSEQ, unix.SYS_GETPID, unix.SYS_GETTID, unix.SYS_GETRANDOM,
		unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_SIGALTSTACK,
		unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT, unix.SYS_EVENTFD2,
	}
	enders = []uint32{unix.SYS_EXIT, unix.SYS_EXIT_GROUP, unix.SYS_RT_SIGRETURN}
)

// form is a call with arguments, and whether it passes.
type form struct {
	name   string
	number uint32
	args   [6]uint64
	passes bool
}

// threadShares is what a thread shares with the process that it is started in (clone(2)).
const threadShares = unix.CLONE_VM | unix.CLONE_FS | unix.CLONE_FILES | unix.CLONE_SIGHAND | unix.CLONE_THREAD | unix.CLONE_SYSVSEM

const high = 1 << 32 // a bit that a filter only sees in the upper half

// forms are the ways to call what depends on its arguments. What passes does no harm
// to the process that tries it: it fails by itself, or asks for little.
func forms(pid, parent, tid, page uint64) []form {
	const private, anonymous = unix.MAP_PRIVATE | unix.MAP_ANON, unix.MAP_ANON
	const readWrite = unix.PROT_READ | unix.PROT_WRITE
	all := []form{
		{"a signal to itself", unix.SYS_TGKILL, [6]uint64{pid, tid, 0}, true},
		{"a signal to the parent", unix.SYS_TGKILL, [6]uint64{parent, parent, 0}, false},
		{"a signal to process 0", unix.SYS_TGKILL, [6]uint64{0, tid, 0}, false},
		{"a signal to init", unix.SYS_TGKILL, [6]uint64{1, 1, 0}, false},
		{"a signal to itself by 64 bits", unix.SYS_TGKILL, [6]uint64{pid | high, tid, 0}, false},
		{"a signal to the parent by 64 bits", unix.SYS_TGKILL, [6]uint64{parent | pid<<32, parent, 0}, false},
		{"tkill of itself", unix.SYS_TKILL, [6]uint64{tid, 0}, false},
		{"kill of itself", unix.SYS_KILL, [6]uint64{pid, 0}, false},
		{"kill of its group", unix.SYS_KILL, [6]uint64{0, 0}, false},
		{"kill of all", unix.SYS_KILL, [6]uint64{1<<64 - 1, 0}, false},
		{"rt_sigqueueinfo", unix.SYS_RT_SIGQUEUEINFO, [6]uint64{pid, 0, page}, false},
		{"rt_tgsigqueueinfo", unix.SYS_RT_TGSIGQUEUEINFO, [6]uint64{pid, tid, 0, page}, false},
		{"pidfd_open", unix.SYS_PIDFD_OPEN, [6]uint64{pid}, false},
		{"pidfd_send_signal", unix.SYS_PIDFD_SEND_SIGNAL, [6]uint64{0, 0}, false},
		{"prlimit of the parent", unix.SYS_PRLIMIT64, [6]uint64{parent, unix.RLIMIT_NOFILE}, false},
		{"prlimit of itself", unix.SYS_PRLIMIT64, [6]uint64{0, unix.RLIMIT_CPU}, false},
		{"priority of the user", unix.SYS_SETPRIORITY, [6]uint64{unix.PRIO_USER, 0, 19}, false},
		{"scheduling of the parent", unix.SYS_SCHED_SETAFFINITY, [6]uint64{parent, 8, page}, false},
		{"where the parent runs", unix.SYS_SCHED_GETAFFINITY, [6]uint64{parent, 128, page}, false},
		{"where it runs", unix.SYS_SCHED_GETAFFINITY, [6]uint64{0, 128, page}, true},
		{"advice for another", unix.SYS_PROCESS_MADVISE, [6]uint64{0, page, 1, unix.MADV_COLD}, false},
		{"a dump of another's memory", unix.SYS_PROCESS_VM_READV, [6]uint64{parent, page, 1, page, 1}, false},
		{"prctl", unix.SYS_PRCTL, [6]uint64{unix.PR_GET_DUMPABLE}, false},
		{"ioctl: signals of a descriptor", unix.SYS_IOCTL, [6]uint64{0, 0x5452}, false},
		{"ioctl: their owner", unix.SYS_IOCTL, [6]uint64{0, 0x8901, page}, false},
		{"ioctl: input of a terminal", unix.SYS_IOCTL, [6]uint64{0, unix.TIOCSTI, page}, false},
		{"another filter", unix.SYS_SECCOMP, [6]uint64{unix.SECCOMP_SET_MODE_FILTER, 0, page}, false},

		{"memory", unix.SYS_MMAP, [6]uint64{0, 4096, readWrite, private, 1<<64 - 1}, true},
		{"an address range", unix.SYS_MMAP, [6]uint64{0, 4096, unix.PROT_NONE, private | unix.MAP_NORESERVE, 1<<64 - 1}, true},
		{"memory for the vDSO", unix.SYS_MMAP, [6]uint64{0, 4096, readWrite, anonymous | mapDroppable, 1<<64 - 1}, true},
		{"code", unix.SYS_MMAP, [6]uint64{0, 4096, unix.PROT_READ | unix.PROT_EXEC, private, 1<<64 - 1}, false},
		{"code that can be written", unix.SYS_MMAP, [6]uint64{0, 4096, readWrite | unix.PROT_EXEC, private, 1<<64 - 1}, false},
		{"code by 64 bits", unix.SYS_MMAP, [6]uint64{0, 4096, readWrite | high, private, 1<<64 - 1}, false},
		{"shared memory", unix.SYS_MMAP, [6]uint64{0, 4096, readWrite, anonymous | unix.MAP_SHARED, 1<<64 - 1}, false},
		{"shared memory, checked", unix.SYS_MMAP, [6]uint64{0, 4096, readWrite, anonymous | unix.MAP_SHARED_VALIDATE, 1<<64 - 1}, false},
		{"a stack", unix.SYS_MMAP, [6]uint64{0, 4096, readWrite, private | unix.MAP_GROWSDOWN, 1<<64 - 1}, false},
		{"huge pages", unix.SYS_MMAP, [6]uint64{0, 2 << 20, readWrite, private | unix.MAP_HUGETLB, 1<<64 - 1}, false},
		{"flags by 64 bits", unix.SYS_MMAP, [6]uint64{0, 4096, readWrite, private | high, 1<<64 - 1}, false},
		{"protection", unix.SYS_MPROTECT, [6]uint64{page, 4096, readWrite}, true},
		{"code, later", unix.SYS_MPROTECT, [6]uint64{page, 4096, unix.PROT_READ | unix.PROT_EXEC}, false},
		{"a stack, later", unix.SYS_MPROTECT, [6]uint64{page, 4096, readWrite | unix.PROT_GROWSDOWN}, false},
		{"protection by 64 bits", unix.SYS_MPROTECT, [6]uint64{page, 4096, readWrite | high}, false},
		{"code with a key", unix.SYS_PKEY_MPROTECT, [6]uint64{page, 4096, unix.PROT_EXEC, 0}, false},

		{"futex: wait", unix.SYS_FUTEX, [6]uint64{page, futexPrivate, 1}, true},
		{"futex: wake", unix.SYS_FUTEX, [6]uint64{page, futexWake | futexPrivate, 1}, true},
		{"futex: wait by the clock", unix.SYS_FUTEX, [6]uint64{page, futexWaitBits | futexPrivate | futexRealtime, 1, 0, 0, 1}, true},
		{"futex by 64 bits", unix.SYS_FUTEX, [6]uint64{page, futexWake | high, 1}, false},

		{"a thread", unix.SYS_CLONE, [6]uint64{threadShares}, false},
		{"a thread as the C library starts it", unix.SYS_CLONE, [6]uint64{threadShares | unix.CLONE_SETTLS | unix.CLONE_PARENT_SETTID | unix.CLONE_CHILD_CLEARTID}, false},
		{"a process", unix.SYS_CLONE, [6]uint64{uint64(unix.SIGCHLD)}, false},
		{"a process like vfork", unix.SYS_CLONE, [6]uint64{unix.CLONE_VM | unix.CLONE_VFORK | uint64(unix.SIGCHLD)}, false},
		{"a brother", unix.SYS_CLONE, [6]uint64{unix.CLONE_PARENT | uint64(unix.SIGCHLD)}, false},
		{"a thread with files of its own", unix.SYS_CLONE, [6]uint64{threadShares &^ unix.CLONE_FILES}, false},
		{"a thread with a folder of its own", unix.SYS_CLONE, [6]uint64{threadShares &^ unix.CLONE_FS}, false},
		{"a thread in another network", unix.SYS_CLONE, [6]uint64{threadShares | unix.CLONE_NEWNET}, false},
		{"a thread of another user", unix.SYS_CLONE, [6]uint64{threadShares | unix.CLONE_NEWUSER}, false},
		{"a thread that is traced", unix.SYS_CLONE, [6]uint64{threadShares | unix.CLONE_PTRACE}, false},
		{"a thread by 64 bits", unix.SYS_CLONE, [6]uint64{threadShares | high}, false},

		{"the clock of the parent", unix.SYS_CLOCK_GETTIME, [6]uint64{uint64(uint32(^parent<<3 | 2)), page}, false},
		{"the clock of the parent, sign extended", unix.SYS_CLOCK_GETTIME, [6]uint64{^parent<<3 | 2, page}, false},
		{"the clock of a file", unix.SYS_CLOCK_GETTIME, [6]uint64{0xfffffffb, page}, false},
		{"the clock of leap seconds", unix.SYS_CLOCK_GETTIME, [6]uint64{unix.CLOCK_TAI, page}, false},
		{"a sleep by the parent's clock", unix.SYS_CLOCK_NANOSLEEP, [6]uint64{uint64(uint32(^parent<<3 | 2)), 0, page}, false},
		{"a sleep", unix.SYS_CLOCK_NANOSLEEP, [6]uint64{unix.CLOCK_MONOTONIC, 0, page}, true},
	}
	for _, command := range []uint64{unix.F_DUPFD, unix.F_GETFD, unix.F_SETFD, unix.F_GETFL, unix.F_SETFL, unix.F_GETLK, unix.F_SETLK, unix.F_SETLKW,
		unix.F_SETOWN, unix.F_GETOWN, 10 /* F_SETSIG */, 11, unix.F_SETOWN_EX, unix.F_GETOWN_EX, unix.F_OFD_SETLK, unix.F_OFD_SETLKW, unix.F_SETLEASE, unix.F_NOTIFY,
		unix.F_DUPFD_CLOEXEC, unix.F_SETPIPE_SZ, unix.F_ADD_SEALS, unix.F_SET_RW_HINT} {
		all = append(all, form{fmt.Sprint("fcntl ", command), unix.SYS_FCNTL, [6]uint64{0, command, unix.O_ASYNC}, false})
	}
	passing := []uint64{unix.MADV_DONTNEED, unix.MADV_FREE, unix.MADV_HUGEPAGE, unix.MADV_NOHUGEPAGE, unix.MADV_COLLAPSE}
	for advice := range uint64(128) {
		all = append(all, form{fmt.Sprint("advice ", advice), unix.SYS_MADVISE, [6]uint64{page, 4096, advice}, slices.Contains(passing, advice)})
	}
	for operation := range uint64(128) {
		if plain := operation < 11 && operation != 2 && (operation < 6 || operation > 8); !plain {
			all = append(all, form{fmt.Sprint("futex ", operation), unix.SYS_FUTEX, [6]uint64{page, operation, 1}, false})
		}
	}
	for clock := range uint64(8) {
		all = append(all, form{fmt.Sprint("clock ", clock), unix.SYS_CLOCK_GETTIME, [6]uint64{clock, page}, true})
	}
	return all
}

// calls are all numbers that there are, and those of x32, with arguments that make
// what passes fail. None of them ends the process that tries it.
func calls() (all []form) {
	for n := range uint32(above) {
		if slices.Contains(enders, n) {
			continue
		}
		for _, number := range []uint32{n, n | x32} {
			f := form{fmt.Sprint("call ", n), number, [6]uint64{}, slices.Contains(free, number)}
			for i := range f.args {
				f.args[i] = 1<<64 - 1
			}
			all = append(all, f)
		}
	}
	return all
}

// try makes the calls from inside of a seal and returns what came otherwise than it
// should: a call that the filter let pass, or refused.
func try(all []form) (wrong []string) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, f := range all {
		if runtime.GOARCH == "amd64" && (f.number&^x32 == 335 || f.number&^x32 == 336) {
			continue // uretprobe and uprobe: the kernel asks no filter, and kills who calls them (Linux 6.13)
		}
		_, _, e := syscall.RawSyscall6(uintptr(f.number), uintptr(f.args[0]), uintptr(f.args[1]), uintptr(f.args[2]), uintptr(f.args[3]), uintptr(f.args[4]), uintptr(f.args[5]))
		if (e != refusal) != f.passes {
			wrong = append(wrong, fmt.Sprintf("%s (%d): %d", f.name, f.number, e))
		}
	}
	return wrong
}

func sealedForms() []form {
	page, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		panic(err)
	}
	return forms(uint64(os.Getpid()), uint64(os.Getppid()), uint64(unix.Gettid()), uint64(uintptr(unsafe.Pointer(&page[0]))))
}

func init() {
	inside := func(all func() []form) func() error {
		return func() error {
			runtime.LockOSThread() // which the forms name
			tries := all()
			if err := startThreads(spareThreads); err != nil { // the collector and others of the runtime want some
				return err
			}
			if err := install(filter(allowed(uint32(os.Getpid())), refusal)); err != nil {
				return err
			}
			if wrong := try(tries); len(wrong) > 0 {
				return fmt.Errorf("%s", strings.Join(wrong, "\n"))
			}
			fmt.Print("tried ", len(tries))
			return nil
		}
	}
	bursts["every call"] = inside(calls)
	bursts["every form"] = inside(sealedForms)
	bursts["busy"] = busy
	bursts["victim"] = func() error {
		fmt.Println("ready")
		_, err := io.Copy(io.Discard, os.Stdin)
		return err
	}
	bursts["tgkill"] = func() error { return murder(tgkill) }
	bursts["signal by a pipe"] = func() error { return murder(signalByPipe) }
	bursts["another filter"] = diverge
}

// TestSealFromInside seals a process, which then tries every number and every form.
func TestSealFromInside(t *testing.T) {
	for _, how := range []string{"every call", "every form"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			out, err := mode(how).CombinedOutput()
			if err != nil || !strings.HasPrefix(string(out), "tried ") {
				t.Errorf("%v:\n%s", err, out)
			}
		})
	}
}

func mode(how string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), modeEnv+"="+how)
	return cmd
}

// busy does what needs the calls that a process does not come back from, or cannot
// make by itself: threads sleep and wake up, the runtime interrupts them by signals,
// timers run, and the process ends. It starts no thread: it takes those that there are.
func busy() error {
	if err := Syscalls(); err != nil {
		return err
	}
	var all sync.WaitGroup
	for n := range 16 {
		all.Go(func() {
			if n < spareThreads/2 {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread() // otherwise its thread would end with it
			}
			for range 1000 {
				spin.Add(int64(len(make([]byte, 1<<10))))
			}
			runtime.GC()
		})
	}
	all.Wait()
	return nil
}

func TestASealedProcessWorks(t *testing.T) {
	t.Parallel()
	if out, err := mode("busy").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// murder has a sealed process send a signal to the process that it reads about.
func murder(by func(pid int)) error {
	line, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		return err
	}
	if err := Syscalls(); err != nil {
		return err
	}
	by(pid)
	return nil
}

func tgkill(pid int) { _ = unix.Tgkill(pid, pid, syscall.SIGKILL) }

// signalByPipe has the kernel send a signal to the owner of a pipe when something
// comes in: what is written to stdout comes back on stdin.
func signalByPipe(pid int) {
	const setSig = 10
	for _, c := range [][2]int{{unix.F_SETOWN, pid}, {setSig, int(syscall.SIGTERM)}, {unix.F_SETFL, unix.O_ASYNC}} {
		_, _, _ = syscall.Syscall(unix.SYS_FCNTL, 0, uintptr(c[0]), uintptr(c[1]))
	}
	_, _ = syscall.Write(1, []byte("x"))
	_, _ = syscall.Read(0, make([]byte, 1))
}

// TestASealedProcessSignalsNoOther has sealed processes try to end another one.
func TestASealedProcessSignalsNoOther(t *testing.T) {
	for _, how := range []string{"tgkill", "signal by a pipe"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			victim := mode("victim")
			stop, err := victim.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			ready, err := victim.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := victim.Start(); err != nil {
				t.Fatal(err)
			}
			if _, err := bufio.NewReader(ready).ReadString('\n'); err != nil {
				t.Fatal(err)
			}
			attack(t, how, victim.Process.Pid)
			stop.Close()
			if err := victim.Wait(); err != nil {
				t.Errorf("the victim: %v", err)
			}
		})
	}
}

// attack runs a murderer, and gives back to it what it says.
func attack(t *testing.T, how string, pid int) {
	t.Helper()
	cmd := mode(how)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(stdin, pid)
	_, _ = io.Copy(stdin, stdout) // until it ends
	if err := cmd.Wait(); err != nil {
		t.Errorf("the attack: %v", err)
	}
}

// diverge gives one thread a filter of its own, under which no common one can be
// laid, and seals the process all the same.
func diverge() error {
	split, done := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		pass := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}
		program := unix.SockFprog{Len: 1, Filter: &pass}
		if _, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program))); e != 0 {
			err = e
		}
		split <- err
		<-done
	}()
	if err := <-split; err != nil {
		return err
	}
	err := Syscalls()
	if err == nil {
		if f, open := os.Open("/etc/hostname"); open == nil {
			f.Close()
			return fmt.Errorf("it says that it is sealed, and opens files")
		}
		return fmt.Errorf("it says that it is sealed")
	}
	fmt.Print(err)
	close(done)
	return nil
}

func TestASealThatDoesNotHoldIsAnError(t *testing.T) {
	t.Parallel()
	out, err := mode("another filter").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "has a filter of its own") {
		t.Errorf("%v: %s", err, out)
	}
}

// run is what the kernel does with a filter (seccomp(2)), for the instructions that
// it has.
func run(t *testing.T, code []unix.SockFilter, arch, number uint32, args [6]uint64) (verdict uint32) {
	t.Helper()
	data := binary.LittleEndian.AppendUint32(nil, number)
	data = binary.LittleEndian.AppendUint32(data, arch)
	data = binary.LittleEndian.AppendUint64(data, 0) // where it was called from
	for _, a := range args {
		data = binary.LittleEndian.AppendUint64(data, a)
	}
	var acc uint32
	for pc := 0; pc < len(code); pc++ {
		switch in := code[pc]; in.Code {
		case load:
			acc = binary.LittleEndian.Uint32(data[in.K:])
		case and:
			acc &= in.K
		case equal:
			if acc == in.K {
				pc += int(in.Jt)
			} else {
				pc += int(in.Jf)
			}
		case give:
			return in.K
		default:
			t.Fatalf("instruction %d is %#v", pc, in)
		}
	}
	t.Fatal("the filter has no end")
	return 0
}

// TestFilter runs the filter of this processor without a kernel.
func TestFilter(t *testing.T) {
	const pid, parent, tid, page = 4711, 4710, 4712, 1 << 20
	code := filter(allowed(pid), refusal)
	for _, f := range slices.Concat(calls(), forms(pid, parent, tid, page)) {
		want := unix.SECCOMP_RET_ERRNO | uint32(refusal)
		if f.passes {
			want = unix.SECCOMP_RET_ALLOW
		}
		if got := run(t, code, auditArch, f.number, f.args); got != want {
			t.Errorf("%s (%d): %#x, want %#x", f.name, f.number, got, want)
		}
		if got := run(t, code, auditArch^1, f.number, f.args); got != unix.SECCOMP_RET_ERRNO|uint32(refusal) {
			t.Errorf("%s of another processor: %#x", f.name, got)
		}
	}
	for range 100_000 { // a signal to any other process, whatever the two halves are
		other := rand.Uint64()
		if other == pid {
			continue
		}
		if got := run(t, code, auditArch, unix.SYS_TGKILL, [6]uint64{other, tid, 9}); got == unix.SECCOMP_RET_ALLOW {
			t.Fatalf("a signal to %#x passes", other)
		}
	}
	for _, number := range enders {
		if got := run(t, code, auditArch, number, [6]uint64{}); got != unix.SECCOMP_RET_ALLOW {
			t.Errorf("call %d: %#x", number, got)
		}
	}
}
