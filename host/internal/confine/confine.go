// Package brig takes from a process what it does not need, for good: it is for
// processes that run what nobody trusts, and is called by them.
package confine

import (
	"errors"
	"runtime"
	"runtime/debug"
)

// Limits are what a process may take. Where the operating system has no such
// limits, whoever waits for the process has to end it.
type Limits struct {
	CPU    uint64 // seconds, of all processors; 0 is no limit
	Memory uint64 // bytes more than it has now, on Linux; in all, on Windows; no limit elsewhere
	File   uint64 // bytes of each file that it writes; not on Windows
	Open   uint64 // descriptors; 0 is no limit; not on Windows
}

// Resources limits the process. It leaves no core behind, has nothing open that it
// inherited but its three streams, and what it starts, if anything, has no rights
// that it has not. Limits can be lowered again, and never be raised.
func Resources(l Limits) error {
	if l.Memory > 0 {
		debug.SetMemoryLimit(int64(l.Memory / 2)) // so that garbage goes before the limit is met
	}
	return resources(l)
}

// ErrNoFilter says that this operating system, or this processor, has no seal that
// this package knows. The process runs as it is.
var ErrNoFilter = errors.New("there is no seal for " + runtime.GOOS + " on " + runtime.GOARCH)

// Lacks says, for people, what Seal and Confine do not take from a process of an
// operating system and a processor, as the object of a sentence: "it can …". It is
// empty where there is a seal, on Linux.
func Lacks(system, processor string) string {
	can := "open files and connections, start programs, send signals to others of the user, and compute without end between calls"
	switch {
	case system == "linux" && (processor == "amd64" || processor == "arm64"):
		return ""
	case system == "windows":
		can += "; the size of its files is not limited"
	case system != "linux":
		can += "; its memory is not limited"
	}
	return can
}

// Syscalls takes all files, all connections, all processes and all programs from the
// process, and new code: from now on it computes, and reads and writes what it has
// open. A signal it can send to itself alone. No goroutine is exempt, and nothing
// undoes it. An error is ErrNoSeal, or says why there is a seal and it did not hold
// for every thread; the process is then as free as before.
func Syscalls() error { return syscalls() }
