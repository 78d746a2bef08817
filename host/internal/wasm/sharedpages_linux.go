package wasm

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

const canSharePages = true

// writePages writes the chosen pages of memory to a file of the same size, and seals the file, so
// that it can never change.
func writePages(memory []byte, chosen []bool) (*os.File, error) {
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate("wharf-guest", flags|unix.MFD_NOEXEC_SEAL)
	if err == unix.EINVAL { // Linux before 6.3 does not know NOEXEC
		fd, err = unix.MemfdCreate("wharf-guest", flags)
	}
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), "memory of guests")
	err = file.Truncate(int64(len(memory)))
	for i, yes := range chosen {
		if yes && err == nil {
			_, err = file.WriteAt(page(memory, i), int64(i*sharePage))
		}
	}
	if err == nil {
		_, err = unix.FcntlInt(file.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_WRITE|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// mapFile maps the beginning of a file for reading.
func mapFile(file *os.File, size int) ([]byte, error) {
	return unix.Mmap(int(file.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
}

func unmapFile(view []byte) { _ = unix.Munmap(view) }

// overlay maps file over the beginning of memory, privately, and puts back the
// pages that are not alike. That is one mapping, however many pages differ: a process
// may have 65,530 of them.
func overlay(memory []byte, file *os.File, alike []bool) error {
	size := len(alike) * sharePage
	kept := make([]byte, 0, size-count(alike)*sharePage)
	for i, same := range alike {
		if !same {
			kept = append(kept, page(memory, i)...)
		}
	}
	_, err := unix.MmapPtr(int(file.Fd()), 0, unsafe.Pointer(&memory[0]), uintptr(size),
		unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_FIXED|unix.MAP_NORESERVE)
	if err != nil {
		return fmt.Errorf("share memory with other instances: %w", err)
	}
	for i, same := range alike {
		if !same {
			kept = kept[copy(page(memory, i), kept):]
		}
	}
	return nil
}
