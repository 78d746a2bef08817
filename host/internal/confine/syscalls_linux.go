//go:build amd64 || arm64

package confine

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A sealed process computes on a few processors. Beside a thread for each of them, the
// runtime has one for each goroutine that is in a system call, and some for itself.
const (
	processors   = 4
	spareThreads = 8
)

// addressSpare is how many bytes the address space of a sealed process may grow by. Each
// 2 MiB of it that are read cost the kernel a page table of 4 KiB, which counts for no
// other limit.
const addressSpare = 1 << 30

func syscalls() error {
	runtime.GOMAXPROCS(min(runtime.GOMAXPROCS(0), processors)) // the runtime does not adapt it after this
	if err := startThreads(processors + spareThreads); err != nil {
		return err
	}
	address, _, err := memory() // with the stacks of the threads, and what the C library reserves for each
	if err == nil {
		err = limit(unix.RLIMIT_AS, address+addressSpare)
	}
	if err != nil {
		return err
	}
	return install(filter(allowed(uint32(os.Getpid())), unix.EPERM))
}

// startThreads leaves n threads to the runtime, which keeps them for when it needs some. When
// it returns, the runtime is not starting another thread either: if the filter stopped a
// thread that is being started, the process would end.
func startThreads(n int) error {
	least, err := missingThreads()
	if err != nil {
		return err
	}
	var started, done sync.WaitGroup
	started.Add(n)
	for range n {
		done.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			started.Done()
			started.Wait() // each has a thread until all have one
		})
	}
	done.Wait()
	for calm := 0; calm < 5; calm++ {
		time.Sleep(50 * time.Microsecond)
		missing, err := missingThreads()
		if err != nil {
			return err
		}
		if missing != least {
			least, calm = min(least, missing), 0
		}
	}
	return nil
}

// missingThreads returns how many threads the runtime knows and the kernel does not: those
// that are being started, and a number that stays the same in a process (with cgo, one).
func missingThreads() (int, error) {
	threads, err := os.ReadDir("/proc/self/task")
	known, _ := runtime.ThreadCreateProfile(nil)
	return known - len(threads), err
}

// install makes the kernel check every system call of every thread. A filter cannot be
// removed, and a program that is started inherits it without gaining privileges.
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
