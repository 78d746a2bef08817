//go:build amd64 || arm64

package worker

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/wharf-mcp/wharf/host/internal/confine"
	"github.com/wharf-mcp/wharf/host/internal/guest"
)

func init() {
	workers["split"] = split
	workers["reserves"] = func() error { return afterSealing(reserve) }
	workers["starts threads"] = func() error { return afterSealing(startThreads) }
	workers["scatters"] = func() error {
		in := reader(os.Stdin)
		in.next()
		return afterSealing(func() error {
			os.Stdout.Write((&eventEnd{pages: 2}).append(nil))
			if err := scatter(); err != nil {
				return err
			}
			_, err := io.Copy(io.Discard, in.in)
			return err
		})
	}
}

// afterSealing attacks from a process that has the limits and the seal of a worker which
// runs a plugin.
func afterSealing(attack func() error) error {
	if err := confine.Resources(compiling); err != nil {
		return err
	}
	if err := restrict(); err != nil {
		return err
	}
	return attack()
}

// reserve reads one page of each 2 MiB of a mapping of 64 GiB: each read costs the kernel
// a page table of 4 KiB.
func reserve() error {
	const size, stride = 64 << 30, 2 << 20
	mapped, err := unix.MmapPtr(-1, 0, nil, size, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		fmt.Print(err)
		return nil
	}
	for at := 0; at < size; at += stride {
		_ = *(*byte)(unsafe.Add(mapped, at))
	}
	fmt.Print("mapped 64 GiB")
	return nil
}

// startThreads has the runtime start 100 threads that live at the same time.
func startThreads() error {
	const many = 100
	var waiting sync.WaitGroup
	waiting.Add(many)
	for range many {
		go func() {
			runtime.LockOSThread()
			waiting.Done()
			waiting.Wait()
			select {}
		}()
	}
	waiting.Wait()
	fmt.Print("started ", many)
	return nil
}

// scatter keeps single pages that lie far from each other, so that each has page tables
// of its own.
func scatter() error {
	const size, page = 512 << 20, 4096
	for range 8000 {
		mapped, err := unix.MmapPtr(-1, 0, nil, size, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
		if err != nil {
			return err
		}
		_ = *(*byte)(mapped)
		if err := unix.MunmapPtr(unsafe.Add(mapped, page), size-page); err != nil {
			return err
		}
	}
	return nil
}

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
	if !errors.As(err, new(*RefusedError)) || !strings.Contains(err.Error(), "could not be sealed, so the plugin was not run: seccomp: thread ") {
		t.Errorf("started with %v", err)
	}
	if left := children(t); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
}

// What is broken out of a sealed worker cannot have the kernel keep much for it.
func TestASealedWorkerIsBounded(t *testing.T) {
	for kind, says := range map[string][]string{
		"reserves":       {"cannot allocate memory"},
		"starts threads": {"failed to create new OS thread", "pthread_create failed: Operation not permitted"}, // without cgo, and with it
	} {
		p := program(t, nil, kind)
		out, err := exec.Command(p.Command[0], p.Command[1:]...).CombinedOutput()
		if !slices.ContainsFunc(says, func(word string) bool { return strings.Contains(string(out), word) }) {
			t.Errorf("one that %s: %.300s, %v; want one of %q", kind, out, err, says)
		}
	}
}

// A worker that lets the kernel make page tables without end is ended at the next look.
func TestAWorkerThatScatters(t *testing.T) {
	lost := make(chan error, 1)
	callbacks := guest.Callbacks{MemoryPages: 256, Stderr: io.Discard, Lost: func(err error) { lost <- err }}
	started, err := program(t, nil, "scatters").Start(t.Context(), callbacks)
	if err != nil {
		t.Fatal(err)
	}
	defer started.Close()
	m := started.(*executor)
	for m.usage.look() {
		runtime.Gosched()
	}
	if err := <-lost; !strings.Contains(err.Error(), "MB of page tables, where 16 are the most, so it was killed") {
		t.Errorf("it was lost because %v", err)
	}
}

// A worker that computes between two events is ended at the next look.
func TestAWorkerThatSpins(t *testing.T) {
	lost := make(chan error, 1)
	berth := guest.Callbacks{MemoryPages: 256, Stderr: io.Discard, Lost: func(err error) { lost <- err }}
	started, err := program(t, nil, "spins").Start(t.Context(), berth)
	if err != nil {
		t.Fatal(err)
	}
	defer started.Close()
	m := started.(*executor)
	m.usage.spare = 0
	for m.usage.look() {
		runtime.Gosched()
	}
	if err := <-lost; !strings.Contains(err.Error(), "of processor time, and had work for") {
		t.Errorf("it was lost because %v", err)
	}
}
