//go:build unix

package measure

import (
	"syscall"
	"time"
)

// processorTime returns the user and system time of this process alone, without that of its
// server.
func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// descriptors returns how many files this process may have open. Go's start has
// raised the soft limit to the hard one.
func descriptors() uint64 {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil {
		return 0
	}
	return uint64(l.Cur)
}
