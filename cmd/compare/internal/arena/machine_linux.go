package arena

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// CanPin says whether processes can be pinned here.
const CanPin = true

// startOn starts a command, pinned to one processor if pinned is set. The
// command inherits the set of the thread that starts it, so its runtime sees one
// processor from the beginning, and so does the server that it starts.
func startOn(command *exec.Cmd, pinned bool) error {
	if !pinned {
		return command.Start()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return fmt.Errorf("read the processor set: %w", err)
	}
	one := lastOf(all)
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		return fmt.Errorf("pin to one processor: %w", err)
	}
	defer unix.SchedSetaffinity(0, &all)
	return command.Start()
}

// lastOf picks the last processor: the first serves most interrupts.
func lastOf(all unix.CPUSet) unix.CPUSet {
	var one unix.CPUSet
	for cpu := len(all)*64 - 1; cpu >= 0; cpu-- {
		if all.IsSet(cpu) {
			one.Set(cpu)
			break
		}
	}
	return one
}

// tick is the unit of /proc/stat, which is the same on every architecture.
const tick = 10 * time.Millisecond

// busyTime returns how long the processors were busy since the machine started.
func busyTime() time.Duration {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	line, _, _ := bytes.Cut(stat, []byte("\n"))
	var ticks int64
	for i, field := range bytes.Fields(line) {
		// cpu user nice system idle iowait irq softirq steal; the numbers after these are
		// part of user and nice.
		if i == 0 || i == 4 || i == 5 || i > 8 {
			continue
		}
		n, _ := strconv.ParseInt(string(field), 10, 64)
		ticks += n
	}
	return time.Duration(ticks) * tick
}
