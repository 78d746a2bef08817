//go:build unix

package wasm

import (
	"io/fs"
	"os"
	"syscall"
)

// ownedAlone reports whether a folder belongs to this user and no other may write to it.
func ownedAlone(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Geteuid() && info.Mode().Perm()&0o022 == 0
}
