//go:build unix

package wasm

import (
	"io/fs"
	"os"
	"syscall"
)

// private reports whether a folder is ours and writable by nobody else.
func private(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Geteuid() && info.Mode().Perm()&0o022 == 0
}
