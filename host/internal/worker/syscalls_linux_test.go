//go:build amd64 || arm64

package worker

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/wharf-mcp/wharf/host/internal/guest"
)

func init() { workers["split"] = split }

// split is a worker of which a thread cannot be sealed: it has a filter of its own.
func split() error {
	laid := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		pass := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}
		program := unix.SockFprog{Len: 1, Filter: &pass}
		if _, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program))); e != 0 {
			err = e
		}
		laid <- err
		select {}
	}()
	if err := <-laid; err != nil {
		return fmt.Errorf("lay a filter: %w", err)
	}
	return Serve(os.Stdin, os.Stdout)
}

// Where there is a seal, nothing runs without.
func TestWithoutASealNothingRuns(t *testing.T) {
	_, err := start(program(t, read(t, smallFile), "split"))
	if !errors.As(err, new(*Refusal)) || !strings.Contains(err.Error(), "could not be sealed, so the plugin was not run: seccomp: thread ") {
		t.Errorf("started with %v", err)
	}
	if left := children(t); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
}

// A worker that computes between two events is ended, as soon as somebody looks.
func TestAWorkerThatSpins(t *testing.T) {
	lost := make(chan error, 1)
	berth := guest.Callbacks{MemoryPages: 256, Stderr: io.Discard, Lost: func(err error) { lost <- err }}
	started, err := program(t, nil, "spins").Start(t.Context(), berth)
	if err != nil {
		t.Fatal(err)
	}
	defer started.Close()
	m := started.(*machine)
	m.idle.spare = 0
	for m.killed.Load() == nil {
		m.idle.look()
		runtime.Gosched()
	}
	if err := <-lost; !strings.Contains(err.Error(), "of processor time, and had work for") {
		t.Errorf("it was lost because %v", err)
	}
}
