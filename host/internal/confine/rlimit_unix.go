//go:build unix

package confine

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// resourcesAlways sets the limits that every system of this family has.
func resourcesAlways(l Limits) error {
	errs := []error{limit(syscall.RLIMIT_CORE, 0), limit(syscall.RLIMIT_FSIZE, l.File)}
	errs = append(errs, closeInherited())
	if l.CPU > 0 {
		errs = append(errs, limit(syscall.RLIMIT_CPU, l.CPU))
	}
	if l.Open > 0 {
		errs = append(errs, limit(syscall.RLIMIT_NOFILE, l.Open))
	}
	return errors.Join(errs...)
}

// closeInherited closes the descriptors that the process inherited, except the three streams. Its
// parent may not know of them. Go marks all descriptors that it opens to be closed by the start of
// a program, so a descriptor without the mark was inherited.
func closeInherited() error {
	folder := "/dev/fd"
	if runtime.GOOS == "linux" {
		folder = "/proc/self/fd"
	}
	open, err := os.ReadDir(folder)
	for _, entry := range open {
		fd, err := strconv.Atoi(entry.Name())
		if err != nil || fd <= 2 {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			_ = unix.Close(fd)
		}
	}
	return err
}

// limit lowers a limit for good. A process that reaches the limit is killed: an earlier warning
// would be of no use, because Go's runtime takes the signal and goes on.
func limit(resource int, to uint64) error {
	var l syscall.Rlimit
	err := syscall.Getrlimit(resource, &l)
	if err == nil {
		to = min(to, uint64(l.Max))
		set(&l.Cur, to)
		set(&l.Max, to)
		err = syscall.Setrlimit(resource, &l)
	}
	if err != nil {
		return fmt.Errorf("limit %d: %w", resource, err)
	}
	return nil
}

// set sets a field of a structure whose type differs between systems.
func set[T int64 | uint64](field *T, to uint64) { *field = T(to) }
