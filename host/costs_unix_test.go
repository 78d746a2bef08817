//go:build unix

package host_test

import "syscall"

// busyMicros is the time that processors have spent on this process, in microseconds.
func busyMicros() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1000
}
