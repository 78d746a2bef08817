package process

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime is the clock of a process: its number in the upper bits, and in the
// lower the kind (clock_getcpuclockid(3)).
func cpuTime(pid int) (time.Duration, bool) {
	const scheduled = 2
	var t unix.Timespec
	err := unix.ClockGettime(int32(^pid<<3|scheduled), &t)
	return time.Duration(t.Nano()), err == nil
}
