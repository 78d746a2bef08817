package store

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// confine limits what the process may write to: other than the address space,
// which Go reserves generously, that is what it really takes.
func confine() error {
	has, err := writable()
	if err != nil {
		return err
	}
	return errors.Join(
		limit(syscall.RLIMIT_DATA, has+confinedMemory), limit(syscall.RLIMIT_CPU, confinedCPU),
		limit(syscall.RLIMIT_CORE, 0), limit(syscall.RLIMIT_FSIZE, confinedFile),
	)
}

// writable returns how much of its memory the process may write to, in bytes.
func writable() (uint64, error) {
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
