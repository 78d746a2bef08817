package confine

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// resources limits the memory that the process may write to. A limit of the address space would
// say little: Go reserves far more of it than it uses.
func resources(l Limits) error {
	errs := []error{resourcesAlways(l)}
	if l.Memory > 0 {
		_, writable, err := memory()
		if err == nil {
			err = limit(syscall.RLIMIT_DATA, writable+l.Memory)
		}
		errs = append(errs, err)
	}
	// It is a property of each thread, and inherited by those that it starts: this
	// is for kernels that cannot seal, and better than nothing there.
	_ = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	return errors.Join(errs...)
}

// memory returns how large the address space of the process is, and how much of it the
// process may write to, in bytes.
func memory() (address, writable uint64, err error) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, 0, err
	}
	var resident, shared, code, library uint64
	if _, err := fmt.Sscan(string(text), &address, &resident, &shared, &code, &library, &writable); err != nil {
		return 0, 0, fmt.Errorf("/proc/self/statm: %w", err)
	}
	page := uint64(os.Getpagesize())
	return address * page, writable * page, nil
}
