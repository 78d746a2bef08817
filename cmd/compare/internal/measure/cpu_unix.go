//go:build unix

package measure

import (
	"syscall"
	"time"
)

// processorTime returns the user and system time of this process alone: that
// of its server is not in it.
func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
