package main

import (
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// pinSelf begins the program anew on one processor, where all that it starts stays.
func pinSelf() error {
	const done = "GATEWAYS_PINNED"
	if os.Getenv(done) != "" {
		return nil
	}
	runtime.LockOSThread()
	var all, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return err
	}
	for cpu := len(all)*64 - 1; cpu >= 0; cpu-- { // the first one serves most interrupts
		if all.IsSet(cpu) {
			one.Set(cpu)
			break
		}
	}
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return syscall.Exec(self, os.Args, append(os.Environ(), done+"=1"))
}
