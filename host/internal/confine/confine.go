// Package confine restricts the calling process for good. Limits bound what it may use, and a
// filter of its system calls bounds what it may ask of the operating system. It is for processes
// that run untrusted code.
package confine

import "runtime/debug"

// Resources limits what the process may use. Afterwards it leaves no core file, and has only its
// three streams open of what it inherited. A program that it starts, if it can, has no more rights
// than it has. Limits can be lowered again, but never raised.
func Resources(l Limits) error {
	if l.Memory > 0 {
		debug.SetMemoryLimit(int64(l.Memory / 2)) // so that garbage goes before the limit is met
	}
	return resources(l)
}

// Lacks says, for people, what a process can still do on an operating system and a processor after
// Resources and Syscalls, as the rest of a sentence: "it can …". It returns "" if there is a
// filter, on Linux.
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

// Syscalls seals the process by a filter of its system calls: it can open no file and no
// connection, start no process, no program and no thread, and map no new code. From now on it
// computes on a few processors, and reads and writes what it has open. It can send a signal only to
// itself. Its address space grows by 1 GiB at most. The filter holds for every goroutine, and
// nothing undoes it. An error is ErrNoFilter, or says why the filter does not hold for every
// thread.
//
// The threads that the runtime will need are started before. So the process dies if many
// goroutines block in system calls at a time, or end while they are locked to their
// threads, afterwards.
func Syscalls() error { return syscalls() }
