package confine

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// resources limits what the process may write to: other than the address space,
// which Go reserves generously, that is what it really takes.
func resources(l Limits) error {
	errs := []error{resourcesAlways(l)}
	if l.Memory > 0 {
		has, err := writableMemory()
		if err == nil {
			err = limit(syscall.RLIMIT_DATA, has+l.Memory)
		}
		errs = append(errs, err)
	}
	// It is a property of each thread, and inherited by those that it starts: this
	// is for kernels that cannot seal, where it is better than nothing.
	_ = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	return errors.Join(errs...)
}

// writableMemory returns how much of its memory the process may write to, in bytes.
func writableMemory() (uint64, error) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	var total, resident, shared, code, library, data uint64
	if _, err := fmt.Sscan(string(text), &total, &resident, &shared, &code, &library, &data); err != nil {
		return 0, fmt.Errorf("/proc/self/statm: %w", err)
	}
	return data * uint64(os.Getpagesize()), nil
}
