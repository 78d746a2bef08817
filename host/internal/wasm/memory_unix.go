//go:build linux || darwin

package wasm

import "golang.org/x/sys/unix"

// reserve maps size bytes that cost nothing until they are touched.
func reserve(size uint64) ([]byte, bool) {
	if size == 0 {
		return nil, false
	}
	buf, err := unix.Mmap(-1, 0, int(size), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	return buf, err == nil
}

func commit([]byte) bool { return true }

func release(buf []byte) { _ = unix.Munmap(buf) }
