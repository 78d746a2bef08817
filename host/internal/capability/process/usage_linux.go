package process

import (
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// usageOf reads the processor clock of a process and its status file. The number of that clock has
// the pid in its upper bits and the kind of clock in the lower (clock_getcpuclockid(3)).
func usageOf(pid int) (u Usage, known bool) {
	const scheduled = 2
	var t unix.Timespec
	if unix.ClockGettime(int32(^pid<<3|scheduled), &t) != nil {
		return Usage{}, false
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if _, tables, found := strings.Cut(string(status), "\nVmPTE:"); found {
		_, err = fmt.Sscan(tables, &u.PageTables)
	}
	return Usage{time.Duration(t.Nano()), u.PageTables << 10}, err == nil
}
