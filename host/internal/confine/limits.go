package confine

import (
	"errors"
	"runtime"
)

// Limits bound what a process may use. If the operating system has no such limits, the parent of
// the process has to end it.
type Limits struct {
	CPU    uint64 // seconds, of all processors; 0 is no limit
	Memory uint64 // bytes more than it has now, on Linux; in all, on Windows; no limit elsewhere; 0 is no limit
	File   uint64 // bytes of each file that it writes; not on Windows
	Open   uint64 // descriptors; 0 is no limit; not on Windows
}

// ErrNoFilter says that this package has no filter for this operating system or
// processor. The process runs as it is.
var ErrNoFilter = errors.New("there is no system call filter for " + runtime.GOOS + " on " + runtime.GOARCH)
