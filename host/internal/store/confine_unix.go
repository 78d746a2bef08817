//go:build unix && !linux

package store

import (
	"errors"
	"syscall"
)

func confine() error {
	return errors.Join(limit(syscall.RLIMIT_CPU, confinedCPU), limit(syscall.RLIMIT_CORE, 0))
}
